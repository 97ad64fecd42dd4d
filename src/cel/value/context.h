// What a running evaluation carries: its memory, its remaining steps, and the makers of errors.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cel/value/arena.h"
#include "cel/value/value.h"

namespace ctrlplane::cel {

struct Context {
  Arena& arena;
  uint64_t steps_left;

  // False once the steps are used up; from then on every charge fails, so that an evaluation that
  // ran out cannot be kept alive by operators that absorb errors.
  bool charge(uint64_t steps) {
    if (steps >= steps_left) {
      steps_left = 0;
      return false;
    }
    steps_left -= steps;
    return true;
  }
  // Work proportional to a text's length, in steps of 32 bytes.
  bool charge_bytes(size_t bytes) { return charge(1 + bytes / 32); }
  bool exhausted() const { return steps_left == 0; }

  Value fault(Fault fault, std::string_view message) { return Value::error(arena, fault, message); }
  Value out_of_steps() const;
  Value out_of_memory() const;
  // "no such overload: size(int)"
  Value no_overload(std::string_view function, std::span<const Value> args);

  // A string or bytes value with its own copy of the text.
  Value make_string(std::string_view text);
  Value make_bytes(std::string_view text);
  Value make_some(const Value& inner);
};

}  // namespace ctrlplane::cel
