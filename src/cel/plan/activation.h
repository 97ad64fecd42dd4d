// The variables of one evaluation.
#pragma once

#include <cstdint>
#include <span>

#include "cel/value/arena.h"
#include "cel/value/value.h"

namespace ctrlplane::cel {

// Variables made only when an expression reads them. The answer may borrow from the arena; an
// absent Value means the variable is not bound.
class LazyVariables {
 public:
  virtual ~LazyVariables() = default;
  virtual Value variable(uint32_t slot, Arena& arena) const = 0;
};

struct Activation {
  // By slot, in the order of declaration. An absent Value, or a slot past the end, is asked of
  // `lazy`.
  std::span<const Value> slots;
  const LazyVariables* lazy = nullptr;
  // About one per operation inside loops and per 32 bytes of text worked on.
  uint64_t max_steps = 1000000;
};

}  // namespace ctrlplane::cel
