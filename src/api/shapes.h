// The shapes of the API, in the notation of shape.h.
#pragma once

#include <string_view>

namespace ctrlplane::api {

extern const std::string_view kShapes;

}  // namespace ctrlplane::api
