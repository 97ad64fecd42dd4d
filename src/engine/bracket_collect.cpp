#include "engine/bracket_collect.h"

#include <algorithm>

#include "engine/select.h"
#include "policy/freezes.h"

namespace ctrlplane {
namespace {

using policy::BracketTerms;

DeploymentId deployment_of(const State& state, TargetIx t) {
  return state.deployments[state.at(t).deployment].row.id;
}

// Has a group that has not ended this version for the deployment, now or in its next round?
bool is_taken(const State& state, RuleId rule, TargetIx t, VersionIx v) {
  for (GroupIx g : policy::open_groups(state, rule, state.at(t).resource)) {
    const GroupSlot& group = state.groups[g];
    if (!group.row.ready_at || group.row.environment != state.environments[state.at(t).environment].row.id)
      continue;
    const MemberSlot* m = group.member(deployment_of(state, t));
    if (m && takes_part(*m) && (m->version == v || m->next_version == v)) return true;
  }
  return false;
}

bool is_frozen(const State& state, Time now, const Wish& w) {
  return w.version && policy::frozen_by(state, now, w.target, w.version);
}

}  // namespace

bool may_run(const State& state, TargetIx t, VersionIx v) {
  return is_good_lock(state, t, v) && !is_denied(state.at(t), v);
}

std::vector<Wish> wishes(const State& state, Time now, const BracketTerms& terms, RuleId rule,
                         const std::vector<TargetIx>& targets) {
  std::vector<Wish> all;
  for (TargetIx t : targets) {
    const TargetSlot& slot = state.at(t);
    const Selection s = select_version(state, now, t, policy::Ask::kLock);
    Wish w{.target = t, .version = slot.current_version, .since = s.since, .next_at = s.next_at};
    w.role = policy::named_role(terms, state.deployments[slot.deployment].row);
    w.named_hook = w.role != MemberRole::kWork;
    if (s.kind == Selection::Kind::kVersion) {
      w.version = s.version;
      w.changes = s.version != slot.current_version && !is_taken(state, rule, t, s.version) &&
                  !policy::is_bracket_skipped(state, now, t, s.version);
    }
    all.push_back(w);
  }
  if (terms.names_hooks()) return all;
  std::vector<MemberView> views;
  std::vector<DeploymentId> ids;
  for (const Wish& w : all)
    views.push_back({w.target, w.version}), ids.push_back(deployment_of(state, w.target));
  const auto roles = inferred_roles(ids, edges_among(state, views));
  for (size_t i = 0; i < all.size(); ++i) all[i].role = roles[i];
  return all;
}

std::optional<Time> closes_at(const BracketTerms& terms, const BracketGroup& group, Time now,
                              bool all_changed) {
  if (terms.readiness == BracketTerms::Readiness::kImmediate || !group.closed_by.empty()) return std::nullopt;
  Time end = group.collection_started_at + terms.window;
  if (terms.readiness == BracketTerms::Readiness::kAll) {
    if (all_changed) return std::nullopt;
  } else if (terms.unchanged == BracketTerms::Unchanged::kRequireAll && now >= end && !all_changed) {
    end = end + terms.window;
  }
  return now >= end ? std::nullopt : std::optional(end);
}

std::vector<BracketMember> locked_members(const State& state, Time now, const BracketTerms& terms,
                                          const GroupSlot& group, const std::vector<Wish>& all) {
  // Under a freeze what is exempt from it goes alone: the rest would hold it.
  auto changes = [](const Wish& w) { return w.changes && !w.named_hook; };
  const bool some_exempt = std::any_of(
      all.begin(), all.end(), [&](const Wish& w) { return changes(w) && !is_frozen(state, now, w); });
  std::vector<BracketMember> members;
  std::vector<MemberView> views;
  bool any = false;
  for (const Wish& w : all) {
    const MemberSlot* known = group.member(deployment_of(state, w.target));
    if (!known) continue;  // it came after the group had opened
    const VersionIx current = state.at(w.target).current_version;
    BracketMember m{.group = group.row.id, .deployment = known->row.deployment, .role = w.role};
    VersionIx lock = w.version;
    const bool left_for_later = some_exempt && is_frozen(state, now, w);
    if (w.changes && w.role == MemberRole::kWork && !left_for_later)
      m.participation = Participation::kChanged;
    else if (w.role != MemberRole::kWork)
      m.participation = Participation::kHook;
    else if (terms.unchanged == BracketTerms::Unchanged::kRedeploy && may_run(state, w.target, current))
      m.participation = Participation::kRedeploy, lock = current;
    else
      lock = current;
    // A hook that nobody named opens a group with a new version of its own.
    any |= m.participation == Participation::kChanged || (changes(w) && !left_for_later);
    if (m.participation != Participation::kSkipped && lock) {
      m.version = state.versions[lock].row.id;
      m.locked_at = now;
    }
    if (current) m.previous = state.versions[current].row.id;
    members.push_back(std::move(m));
    views.push_back({w.target, lock});
  }
  if (!any) return {};
  auto edges = edges_among(state, views);
  add_version_edges(state, views, edges);
  for (size_t i = 0; i < members.size(); ++i) members[i].depends_on = edges[i];
  return members;
}

}  // namespace ctrlplane
