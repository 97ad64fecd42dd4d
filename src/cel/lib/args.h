// Small helpers of the function families.
#pragma once

#include <initializer_list>
#include <span>

#include "cel/value/value.h"

namespace ctrlplane::cel {

// Whether there are exactly these kinds of argument.
inline bool kinds_are(std::span<const Value> args, std::initializer_list<Kind> kinds) {
  if (args.size() != kinds.size()) return false;
  size_t i = 0;
  for (Kind k : kinds)
    if (!args[i++].is(k)) return false;
  return true;
}

}  // namespace ctrlplane::cel
