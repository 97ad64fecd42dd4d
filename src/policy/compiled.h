// A policy as it is evaluated: its selector and rules compiled. Made when it is first needed, kept with the
// policy's slot until its row changes.
#pragma once

#include "policy/rule.h"

namespace ctrlplane::policy {

struct CompiledRule {
  std::unique_ptr<Rule>
      rule;  // null: stored by a newer program, or damaged; then nothing may start (see judge)
  int cost = 0;
};
CompiledRule compile_rule(const PolicyRule& row);

struct Compiled final : CompiledPolicy {
  std::optional<Selector> selector;  // nullopt: matches everything, as far as it cannot be read
  std::vector<CompiledRule> rules;   // in the order of the row's
};

}  // namespace ctrlplane::policy
