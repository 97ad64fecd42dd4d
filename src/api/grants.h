// Permissions that are given beyond a role, to a member or to a key: `"grants":
// ["deployment_freeze.bypass"]`.
#pragma once

#include "api/body.h"
#include "model/json_writer.h"

namespace ctrlplane::api {

// As rows keep them: each once, in one order. kInvalid names the first that cannot be granted.
Result<std::string> grants_in(const Body& body);

std::vector<std::string_view> grants_of(std::string_view kept);

// "grants": [...], unless there are none.
void write_grants(JsonWriter& w, std::string_view kept);

}  // namespace ctrlplane::api
