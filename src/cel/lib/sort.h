// Stable sorting of lists by keys of one ordered kind.
#pragma once

#include <span>

#include "cel/value/context.h"

namespace ctrlplane::cel {

// Serves `reverse`, which strings have too.
Value reverse_list(Context& ctx, const Value& list);

// A list of the items in the order of their keys, or an error if the keys have no order.
Value sort_by_keys(Context& ctx, std::span<const Value> items, std::span<const Value> keys);

}  // namespace ctrlplane::cel
