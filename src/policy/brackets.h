// Which bracket a target belongs to, and what there is of it in the state. Reading only: groups change in
// engine/brackets.
#pragma once

#include <tuple>
#include <vector>

#include "policy/rollout_rank.h"
#include "policy/rule.h"

namespace ctrlplane::policy {

// The bracket that the target belongs to: of several that select it the one of the highest policy priority,
// then the oldest rule. Null: none.
const BoundRule* bracket_of(const State& state, TargetIx target);

// Does the bracket select the deployment, as work or as a hook?
bool is_member(const BracketTerms& terms, const Deployment& deployment);

// The order in which brackets are asked who belongs to them.
inline auto bracket_order(const Policy& policy, const PolicyRule& rule) {
  return std::tuple(-policy.priority, rule.created_at, rule.id);
}

// What the rule calls the deployment. Without selectors for hooks everything is work here; which of it are
// hooks then follows from the order (engine/bracket_order.h).
MemberRole named_role(const BracketTerms& terms, const Deployment& deployment);

// The targets on the resource in the environment that belong to the bracket, by deployment id.
std::vector<TargetIx> bracket_targets(const State& state, RuleId rule, ResourceIx resource,
                                      EnvironmentIx environment);

// The groups of the rule on the resource that have not ended, oldest first.
std::vector<GroupIx> open_groups(const State& state, RuleId rule, ResourceIx resource);

// Has a person said that the bracket is not to stand in the way of the version on the target? Then it goes
// alone, without the others.
bool is_bracket_skipped(const State& state, Time now, TargetIx target, VersionIx version);
// Quick: is there any version of which that could be said?
bool any_bracket_skips(const State& state, TargetIx target);

// The group that has locked the version for the target; none.
GroupIx group_locking(const State& state, TargetIx target, VersionIx version);

// The group's place among the resources of the bracket in the environment; if all it brings are scoped
// versions: among those that one of them is for.
Rank bracket_rank(const State& state, RuleId rule, EnvironmentIx environment, const GroupSlot& group);

// A group's terms, as they were when its window closed: without selectors.
BracketTerms terms_of(const BracketGroup& group);

}  // namespace ctrlplane::policy
