// Memory for the values one evaluation makes. Values are plain 16-byte words that borrow from an
// Arena (or from the program, or from whoever bound the variables) and are never freed one by one.
//
// The first kInlineBytes live inside the object, so that an Arena on the stack costs no allocation
// until an evaluation really builds something. An Arena has a ceiling: allocate() returns null once
// it is reached, and the evaluation ends with a budget error. Not for use by two threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace ctrlplane::cel {

class Arena {
 public:
  static constexpr size_t kInlineBytes = 1024;
  static constexpr size_t kDefaultMaxBytes = 8u << 20;

  explicit Arena(size_t max_bytes = kDefaultMaxBytes) : max_bytes_(max_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Null when the ceiling is reached. Aligned to 8 bytes, not initialised.
  void* allocate(size_t bytes) {
    bytes = (bytes + 7) & ~size_t{7};
    if (bytes > static_cast<size_t>(end_ - next_)) return allocate_slow(bytes);
    void* p = next_;
    next_ += bytes;
    return p;
  }

  template <class T>
  T* allocate_array(size_t n) {
    static_assert(alignof(T) <= 8);
    if (n > max_bytes_ / sizeof(T)) return nullptr;
    return static_cast<T*>(allocate(n * sizeof(T)));
  }

  // A copy of the text, or an empty view with a null pointer at the ceiling.
  std::string_view copy(std::string_view text);

  // Forgets everything made so far: earlier values become dangling.
  void reset();

  size_t bytes_used() const { return full_bytes_ + static_cast<size_t>(next_ - begin_); }

 private:
  void* allocate_slow(size_t bytes);

  std::byte* begin_ = inline_;
  std::byte* next_ = inline_;
  std::byte* end_ = inline_ + kInlineBytes;
  size_t full_bytes_ = 0;
  size_t max_bytes_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  alignas(8) std::byte inline_[kInlineBytes];
};

}  // namespace ctrlplane::cel
