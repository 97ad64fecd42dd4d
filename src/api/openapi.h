// openapi.json, made from the routes and shapes.
#pragma once

#include <string>
#include <string_view>

#include "api/router.h"
#include "api/shape.h"

namespace ctrlplane::api {

std::string openapi_document(const Router& router, const Shapes& shapes, std::string_view version);

}  // namespace ctrlplane::api
