// What may be stored as text: valid UTF-8 without NUL. Both stores and every client agree on that much.
#pragma once

#include <string_view>

namespace ctrlplane {

bool is_storable_text(std::string_view text);

}  // namespace ctrlplane
