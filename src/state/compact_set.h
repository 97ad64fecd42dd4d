// A set of slot numbers, small if it has few of them: most values of metadata are had by a handful of
// resources, and an empty bitmap alone is larger than these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <roaring/roaring.hh>

namespace ctrlplane {

class CompactSet {
 public:
  void add(uint32_t n) {
    if (many_) return many_->add(n);
    auto it = std::lower_bound(few_.begin(), few_.end(), n);
    if (it != few_.end() && *it == n) return;
    few_.insert(it, n);
    if (few_.size() <= kFew) return;
    many_ = std::make_unique<Roaring>(few_.size(), few_.data());
    few_ = {};
  }

  void remove(uint32_t n) {
    if (!many_) {
      auto it = std::lower_bound(few_.begin(), few_.end(), n);
      if (it != few_.end() && *it == n) few_.erase(it);
      return;
    }
    many_->remove(n);
    if (size_t left = many_->cardinality(); left <= kFew / 2) {  // half: not to and fro at the border
      few_.resize(left);
      many_->toUint32Array(few_.data());
      many_.reset();
    }
  }

  size_t size() const { return many_ ? many_->cardinality() : few_.size(); }
  uint32_t first() const { return many_ ? many_->minimum() : few_.front(); }

  void add_to(Roaring& out) const {
    if (many_)
      out |= *many_;
    else
      out.addMany(few_.size(), few_.data());
  }

 private:
  static constexpr size_t kFew = 32;
  std::vector<uint32_t> few_;  // ascending
  std::unique_ptr<Roaring> many_;
};

}  // namespace ctrlplane
