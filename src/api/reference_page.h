// The browsable page of openapi.json: one file of HTML, no outside resources.
#pragma once

#include <string_view>

namespace ctrlplane::api {

extern const std::string_view kReferencePage;

}  // namespace ctrlplane::api
