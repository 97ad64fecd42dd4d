// A JSON document as a CEL value without parsing it as a whole: an object or array is a place in the
// text, and a member is looked for when an expression asks for it. The text is a Json's (canonical and
// trusted) and must outlive the value.
#pragma once

#include <string_view>

#include "cel/value/value.h"

namespace ctrlplane {

// The document `text`. What has to be made for it (texts with escapes, views of objects) goes into the arena.
cel::Value json_view(std::string_view text, cel::Arena& arena);

}  // namespace ctrlplane
