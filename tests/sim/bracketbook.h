// What brackets and limits ask for, worked out from committed rows and from their description alone: slowly,
// from scratch, and without any of the code that decides.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/ledger.h"

namespace ctrlplane::sim {

// ---- Whom a rule concerns ------------------------------------------------------------------------------

struct BoundBracket {
  const Policy* policy;
  const PolicyRule* rule;
};
// The bracket that the target belongs to. The target must exist.
std::optional<BoundBracket> bracket_of(const Ledger& ledger, const TargetKey& target);
// The rule, if a policy has it, enabled or not.
std::optional<BoundBracket> rule_named(const Ledger& ledger, RuleId rule);
// Those that exist there and belong to it, by deployment.
std::vector<TargetKey> targets_of_bracket(const Ledger& ledger, RuleId rule, ResourceId resource,
                                          EnvironmentId environment);
bool names_hooks(std::string_view body);
MemberRole named_role(std::string_view body, const Deployment& d);
// Does a dependency rule concern the deployment?
bool applies_to(const PolicyRule& rule, const Deployment& d);

// ---- Limits --------------------------------------------------------------------------------------------

struct Capacity {
  int64_t total = 0, most = 0, held = 0, quarantined = 0;
  bool is_free() const { return held < most && quarantined < most; }
};
// Nothing: there is no such rule.
std::optional<Capacity> capacity_of(const Ledger& ledger, RuleId rule);
bool is_counted(const PolicyRule& limit, const Resource& r);
// The rules that limit the target's resource. The target must exist.
std::vector<RuleId> limits_over(const Ledger& ledger, const TargetKey& target);

// ---- Groups --------------------------------------------------------------------------------------------

inline bool takes_part(const BracketMember& m) { return m.participation != Participation::kSkipped; }
inline TargetKey target_of(const BracketGroup& g, const BracketMember& m) {
  return {g.resource, g.environment, m.deployment};
}
std::vector<const BracketMember*> members_of(const Ledger& ledger, GroupId group);

// By the rules in force now, among these members: who waits for whom.
using Edges = std::set<std::pair<RuleId, DeploymentId>>;
Edges edges_of(const Ledger& ledger, const BracketGroup& group, DeploymentId member,
               const std::vector<DeploymentId>& members);
// The same by what locked versions need of each other; these make no hooks.
Edges version_edges_of(const Ledger& ledger, const BracketGroup& group, DeploymentId member,
                       const std::vector<DeploymentId>& members);
Edges edges_of(const BracketMember& m);

// Hooks that nobody named.
struct InferredHooks {
  std::optional<DeploymentId> first, last;
};
InferredHooks inferred_hooks(const std::map<DeploymentId, Edges>& edges);
// Members that wait for each other.
bool has_cycle(const Ledger& ledger, const BracketGroup& group, Time now);

// Nothing of it is to come: "a skipped member is done when everything it depends on is done".
bool is_done(const Ledger& ledger, const BracketGroup& group, const BracketMember& m, Time now);
// Whom it has to wait for in its group, in words; empty: nobody.
std::string waits_for(const Ledger& ledger, const BracketGroup& group, const BracketMember& m, Time now);
std::string waits_to_go_back(const Ledger& ledger, const BracketGroup& group, const BracketMember& m);

// What its version needs of another deployment, which neither runs nor comes with the group; empty: nothing.
std::string missing_need(const Ledger& ledger, const BracketGroup& group, const BracketMember& m);
// What dependency rules want from outside the group and is not there; empty: nothing.
std::string missing_outside(const Ledger& ledger, const BracketGroup& group, const BracketMember& m,
                            Time now);

// Does the freeze let the whole group pass? `handed_over`: when an agent first had a job of it.
bool passes_as_group(const Ledger& ledger, const Freeze& f, const BracketGroup& group,
                     std::optional<Time> handed_over, Time now);

}  // namespace ctrlplane::sim
