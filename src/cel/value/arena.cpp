#include "cel/value/arena.h"

#include <algorithm>
#include <cstring>

namespace ctrlplane::cel {

void* Arena::allocate_slow(size_t bytes) {
  size_t used = bytes_used();
  if (bytes > max_bytes_ || used > max_bytes_ - bytes) return nullptr;
  // Doubling keeps the number of blocks logarithmic; an outsized request gets a block of its own.
  size_t block = std::max(bytes, std::min<size_t>(std::max<size_t>(used, 4096), 1u << 20));
  blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(block));
  full_bytes_ = used;
  begin_ = next_ = blocks_.back().get();
  end_ = begin_ + block;
  next_ += bytes;
  return begin_;
}

std::string_view Arena::copy(std::string_view text) {
  char* p = allocate_array<char>(text.size());
  if (p == nullptr) return {};
  if (!text.empty()) std::memcpy(p, text.data(), text.size());
  return {p, text.size()};
}

void Arena::reset() {
  blocks_.clear();
  full_bytes_ = 0;
  begin_ = next_ = inline_;
  end_ = inline_ + kInlineBytes;
}

}  // namespace ctrlplane::cel
