// Rules of policies in few words: `needs 2 approvals`, `rollout linear 60s`. docs/scenarios.md lists them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/commands.h"

namespace ctrlplane::scenario {

// `needs 1 approval, cooldown 1h`. What is in none of the spellings is `<type> {json}`.
Result<std::vector<UpsertPolicy::RuleInput>> read_rules(const std::string& text);

// Where the text parts at `separator`, outside of quotes and brackets.
std::vector<std::string> split_outside(const std::string& text, std::string_view separator);

}  // namespace ctrlplane::scenario
