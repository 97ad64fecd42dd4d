// The kinds of rules. A new one is a unit in this folder and a line in registry.cpp.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/policy.h"

namespace ctrlplane::policy {

// Is `body` a good rule of this type? kInvalid names the member, below `path`. A type that is known to
// clients but not enforced here is refused too: nothing is stored that would be silently ignored.
Status validate_rule(std::string_view path, std::string_view type, const Json& body);

std::vector<std::string_view> rule_types();

}  // namespace ctrlplane::policy
