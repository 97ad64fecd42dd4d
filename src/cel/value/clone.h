// Deep copies between arenas.
#pragma once

#include "cel/value/arena.h"
#include "cel/value/value.h"

namespace ctrlplane::cel {

// A copy that borrows from nothing but the arena. False if it would take more than max_bytes or the
// arena's room, and for errors, which are not copied.
bool clone(Arena& arena, const Value& v, size_t max_bytes, Value& out);

}  // namespace ctrlplane::cel
