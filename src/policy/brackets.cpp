#include "policy/brackets.h"

#include <algorithm>

#include "policy/judge.h"
#include "policy/memo.h"
#include "policy/rule_body.h"
#include "policy/rules.h"
#include "policy/skips.h"

namespace ctrlplane::policy {
namespace {

bool matches(const std::shared_ptr<const Selector>& selector, const Deployment& d) {
  return selector && selector->match({.deployment = &d}) == Match::kYes;
}

constexpr size_t kMostRanks = 10'000;  // remembered: sets of versions come and go

uint64_t hash_of(const ResourceId& resource, const RuleId& rule) { return fnv1a(resource.str(), rule.str()); }

}  // namespace

bool is_member(const BracketTerms& terms, const Deployment& d) {
  return matches(terms.members, d) || matches(terms.pre_hooks, d) || matches(terms.post_hooks, d);
}

const BoundRule* bracket_of(const State& state, TargetIx target) {
  const RuleSet& set = rules_of(state, target);
  if (set.brackets.empty()) return nullptr;
  const DeploymentIx d = state.at(target).deployment;
  auto [it, is_new] = set.bracket_of.try_emplace(d, nullptr);
  if (!is_new) return it->second;
  for (const BoundRule* b : set.brackets)
    if (is_member(*b->rule->bracket(), state.deployments[d].row)) return it->second = b;
  return nullptr;
}

MemberRole named_role(const BracketTerms& terms, const Deployment& d) {
  if (matches(terms.pre_hooks, d)) return MemberRole::kPreHook;
  return matches(terms.post_hooks, d) ? MemberRole::kPostHook : MemberRole::kWork;
}

std::vector<TargetIx> bracket_targets(const State& state, RuleId rule, ResourceIx resource,
                                      EnvironmentIx environment) {
  std::vector<TargetIx> all;
  for (TargetIx t : state.resources[resource].targets) {
    if (!state.at(t).exists || state.at(t).environment != environment) continue;
    const BoundRule* b = bracket_of(state, t);
    if (b && b->row->id == rule) all.push_back(t);
  }
  auto id = [&](TargetIx t) { return state.deployments[state.at(t).deployment].row.id; };
  std::sort(all.begin(), all.end(), [&](TargetIx a, TargetIx b) { return id(a) < id(b); });
  return all;
}

std::vector<GroupIx> open_groups(const State& state, RuleId rule, ResourceIx resource) {
  std::vector<GroupIx> all;
  for (GroupIx g : state.resources[resource].groups)
    if (state.groups[g].row.rule == rule && !state.groups[g].row.ended()) all.push_back(g);
  auto age = [&](GroupIx g) { return std::pair(state.groups[g].row.created_at, state.groups[g].row.id); };
  std::sort(all.begin(), all.end(), [&](GroupIx a, GroupIx b) { return age(a) < age(b); });
  return all;
}

bool is_bracket_skipped(const State& state, Time now, TargetIx t, VersionIx v) {
  const BoundRule* own = bracket_of(state, t);
  return own && !state.skips_of(v).empty() &&
         skip_of({.state = state, .now = now, .target = t, .version = v}, own->row->id);
}

bool any_bracket_skips(const State& state, TargetIx t) {
  const BoundRule* own = bracket_of(state, t);
  const auto& versions = state.deployments[state.at(t).deployment].versions;
  return own && std::any_of(versions.begin(), versions.end(), [&](VersionIx v) {
           const auto& skips = state.skips_of(v);
           return std::any_of(skips.begin(), skips.end(),
                              [&](const PolicySkip& s) { return s.rule == own->row->id; });
         });
}

GroupIx group_locking(const State& state, TargetIx target, VersionIx version) {
  const TargetSlot& slot = state.at(target);
  const EnvironmentId environment = state.environments[slot.environment].row.id;
  const DeploymentId deployment = state.deployments[slot.deployment].row.id;
  for (GroupIx g : state.resources[slot.resource].groups) {
    const GroupSlot& group = state.groups[g];
    if (group.row.ended() || !group.row.ready_at || group.row.environment != environment) continue;
    const MemberSlot* m = group.member(deployment);
    if (m && m->version == version && m->row.participation != Participation::kSkipped) return g;
  }
  return {};
}

namespace {

// The versions that the group brings, if all of them are scoped.
std::vector<VersionIx> limiting_scopes(const State& state, const GroupSlot& group) {
  std::vector<VersionIx> scoped;
  for (const MemberSlot& m : group.members) {
    if (m.row.participation != Participation::kChanged || !m.version) continue;
    if (!state.versions[m.version].scope) return {};
    scoped.push_back(m.version);
  }
  std::sort(scoped.begin(), scoped.end());
  return scoped;
}

}  // namespace

Rank bracket_rank(const State& state, RuleId rule, EnvironmentIx environment, const GroupSlot& group) {
  const std::vector<VersionIx> scoped = limiting_scopes(state, group);
  auto& known = memo_of(state).bracket_ranks;
  if (known.size() > kMostRanks) known.clear();
  Memo::BracketRanks& ranks = known[{rule, environment, scoped}];
  if (ranks.epoch != state.membership_epoch() || ranks.policy_epoch != state.policy_epoch) {
    ranks = {state.membership_epoch(), state.policy_epoch, {}};
    std::vector<ResourceIx> resources;
    auto look_at = [&](TargetIx t) {
      if (const BoundRule* b = bracket_of(state, t); b && b->row->id == rule)
        resources.push_back(state.at(t).resource);
    };
    for (VersionIx v : scoped) state.each_target_in(state.versions[v].deployment, environment, v, look_at);
    if (scoped.empty())
      state.each_pair([&](DeploymentIx, EnvironmentIx e, const std::vector<TargetIx>& targets) {
        if (e == environment) std::for_each(targets.begin(), targets.end(), look_at);
      });
    std::sort(resources.begin(), resources.end());
    resources.erase(std::unique(resources.begin(), resources.end()), resources.end());
    for (ResourceIx r : resources) ranks.hashes.push_back(hash_of(state.resources[r].row.id, rule));
    std::sort(ranks.hashes.begin(), ranks.hashes.end());
  }
  auto at = std::lower_bound(ranks.hashes.begin(), ranks.hashes.end(), hash_of(group.row.resource, rule));
  return {static_cast<size_t>(at - ranks.hashes.begin()), ranks.hashes.size()};
}

}  // namespace ctrlplane::policy
