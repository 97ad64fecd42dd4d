// Equality and order of values as CEL defines them: numbers compare across int, uint and double as on
// one number line (an int and a double to the double's precision), NaN equals nothing, values of
// different kinds are unequal. Beyond the language, a timestamp compares with its RFC 3339 text.
#pragma once

#include <compare>
#include <optional>

#include "cel/value/context.h"
#include "cel/value/value.h"

namespace ctrlplane::cel {

// Both must be numbers.
std::partial_ordering compare_numbers(const Value& a, const Value& b);

// Walks lists and maps, charging a step for each element: when ctx is exhausted afterwards the
// answer means nothing.
bool deep_equal(Context& ctx, const Value& a, const Value& b, int depth = 0);

// `a == b` as a value: a bool, or the budget error.
inline Value equal(Context& ctx, const Value& a, const Value& b) {
  if (a.is(Kind::kString) && b.is(Kind::kString)) return Value::boolean(a.as_text() == b.as_text());
  bool same = deep_equal(ctx, a, b);
  return ctx.exhausted() ? ctx.out_of_steps() : Value::boolean(same);
}

// Nothing when the two kinds have no order between them.
std::optional<std::partial_ordering> order(const Value& a, const Value& b);

// Hash of a map key; numbers that are equal hash alike. Only for bool, numbers and strings.
uint64_t hash_key(const Value& key);

}  // namespace ctrlplane::cel
