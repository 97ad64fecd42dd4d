// One bit of a set.
#pragma once

#include <cstdint>

#include <roaring/roaring.hh>

namespace ctrlplane {

// Returns whether it changed.
inline bool set_bit(Roaring& set, uint32_t n, bool on) {
  return on ? set.addChecked(n) : set.removeChecked(n);
}

}  // namespace ctrlplane
