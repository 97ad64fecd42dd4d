// Slots as rules see them: how many there are, who needs one, who is next.
#pragma once

#include <vector>

#include "policy/rule.h"

namespace ctrlplane::policy {

// The rules that limit the target's resource.
std::vector<RuleId> slots_needed(const State& state, TargetIx target);

// How many slots the rule has now; 0 if there is no such rule that can be read.
int64_t slots_of(const State& state, RuleId rule);

// How many resources of the rule are in quarantine.
int64_t quarantined_in(const State& state, RuleId rule);

// May the resource take one, from this place in line? A holder may always go on.
bool may_take(const State& state, RuleId rule, ResourceId resource, const LineKey& place);

// The target's place in the line for a start of the version; as a member, of the group.
LineKey place_in_line(const State& state, Time now, TargetIx target, VersionIx version, GroupIx group = {});

// `Concurrency limit reached: 2/2 resources active`
std::string limit_message(const State& state, RuleId rule);

}  // namespace ctrlplane::policy
