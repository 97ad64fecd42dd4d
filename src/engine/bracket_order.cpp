#include "engine/bracket_order.h"

#include <algorithm>

#include <fmt/core.h>

#include "policy/judge.h"
#include "policy/rules.h"
#include "policy/skips.h"

namespace ctrlplane {
namespace {

using Outcome = MemberOutcome;

bool is_over(const MemberSlot& m) {
  switch (m.row.outcome) {
    case Outcome::kSucceeded: return !m.row.next_version;
    case Outcome::kSkipped:
    case Outcome::kAborted:
    case Outcome::kRolledBack: return true;
    default: return false;
  }
}

// A person may have said that the rule is not to stand in the way here.
bool is_waived(const State& state, Time now, const GroupSlot& group, const MemberSlot& m,
               const MemberEdge& e) {
  const TargetIx t = target_of(state, group, m);
  if (!t || !m.version) return false;
  return policy::skip_of({.state = state, .now = now, .target = t, .version = m.version}, e.rule) != nullptr;
}

class Doneness {
 public:
  Doneness(const State& state, Time now, const GroupSlot& group) : state_(state), now_(now), group_(group) {}

  bool of(const MemberSlot& m) {
    if (takes_part(m))
      return m.row.outcome == Outcome::kSkipped || (is_over(m) && m.row.outcome == Outcome::kSucceeded);
    if (m.row.outcome == Outcome::kSkipped) return true;
    if (std::find(path_.begin(), path_.end(), &m) != path_.end()) return false;  // a cycle never ends
    path_.push_back(&m);
    bool all = true;
    for (const MemberEdge& e : m.row.depends_on) {
      const MemberSlot* on = group_.member(e.on);
      if (on && !is_waived(state_, now_, group_, m, e)) all = all && of(*on);
    }
    path_.pop_back();
    return all;
  }

  // Nothing more is to come of it, however it went.
  bool is_past(const MemberSlot& m) {
    if (takes_part(m) || m.row.outcome == Outcome::kSkipped) return is_over(m);
    if (std::find(path_.begin(), path_.end(), &m) != path_.end()) return true;
    path_.push_back(&m);
    const bool all = std::all_of(m.row.depends_on.begin(), m.row.depends_on.end(), [&](const MemberEdge& e) {
      const MemberSlot* on = group_.member(e.on);
      return !on || is_past(*on);
    });
    path_.pop_back();
    return all;
  }

  // Does it depend on the other, directly or over others, as far as nobody has waived that?
  bool waits_behind(const MemberSlot& m, const MemberSlot& other) {
    std::vector<const MemberSlot*> seen = {&m};
    for (size_t i = 0; i < seen.size(); ++i)
      for (const MemberEdge& e : seen[i]->row.depends_on) {
        const MemberSlot* on = group_.member(e.on);
        if (!on || is_waived(state_, now_, group_, *seen[i], e)) continue;
        if (on == &other) return true;
        if (std::find(seen.begin(), seen.end(), on) == seen.end()) seen.push_back(on);
      }
    return false;
  }

 private:
  const State& state_;
  const Time now_;
  const GroupSlot& group_;
  std::vector<const MemberSlot*> path_;
};

std::string wait_text(const State& state, const MemberSlot& m) {
  return fmt::format("{} comes before it in its bracket group", name_of(state, m));
}

bool accepts(const VersionDependency& need, const Version& v) {
  // Compiled on each look: versions with dependencies are few.
  auto selector = Selector::compile(need.selector, Selector::Subject::kVersionOnly);
  return selector && selector->match({.version = &v}) == Match::kYes;
}

// What the member's own version needs of another deployment, in words if it is not there yet.
std::optional<std::string> missing_need(const State& state, const GroupSlot& group, const MemberSlot& m,
                                        const VersionDependency& need) {
  const MemberSlot* on = group.member(need.on);
  const bool comes = on && on != &m && takes_part(*on) && on->version && !is_over(*on);
  if (comes && accepts(need, state.versions[on->version].row))
    return group.row.started() ? std::optional(wait_text(state, *on)) : std::nullopt;
  const DeploymentIx d = state.deployments.find(need.on);
  for (TargetIx t : state.resources[group.resource].targets) {
    const TargetSlot& slot = state.at(t);
    if (d && slot.exists && slot.deployment == d && slot.current_version &&
        accepts(need, state.versions[slot.current_version].row))
      return std::nullopt;
  }
  return fmt::format("{} needs a version of {} that does not run on this resource yet", name_of(state, m),
                     d ? state.deployments[d].row.name : need.on.str());
}

std::optional<std::string> missing_need(const State& state, const GroupSlot& group, const MemberSlot& m) {
  if (!m.version || !group.resource) return std::nullopt;
  for (const VersionDependency& need : state.dependencies_of(m.version))
    if (auto missing = missing_need(state, group, m, need)) return missing;
  return std::nullopt;
}

bool reaches(const std::vector<DeploymentId>& ids, const std::vector<std::vector<MemberEdge>>& edges,
             size_t from, DeploymentId to, std::vector<bool>& seen) {
  if (seen[from]) return false;
  seen[from] = true;
  for (const MemberEdge& e : edges[from]) {
    if (e.on == to) return true;
    auto it = std::find(ids.begin(), ids.end(), e.on);
    if (it != ids.end() && reaches(ids, edges, static_cast<size_t>(it - ids.begin()), to, seen)) return true;
  }
  return false;
}

// Hooks come first and last, whatever else is said of them.
bool comes_before(const MemberSlot& o, const MemberSlot& m) {
  if (&o == &m || !takes_part(o) || !takes_part(m)) return false;
  if (o.row.role == MemberRole::kPreHook) return m.row.role != MemberRole::kPreHook;
  return o.row.role == MemberRole::kWork && m.row.role == MemberRole::kPostHook;
}

// Looks for members that wait for each other.
class Circle {
 public:
  Circle(const State& state, Time now, const GroupSlot& group) : state_(state), now_(now), group_(group) {}

  bool through(const MemberSlot& m) {
    if (std::find(finished_.begin(), finished_.end(), &m) != finished_.end()) return false;
    if (is_over(m)) return false;  // nobody waits for it
    const auto again = static_cast<size_t>(std::find(path_.begin(), path_.end(), &m) - path_.begin());
    path_.push_back(&m);
    if (again < path_.size() - 1) {
      for (size_t i = again; i < path_.size(); ++i)
        text += (i == again ? "" : " → ") + name_of(state_, *path_[i]);
      return true;
    }
    for (const MemberEdge& e : m.row.depends_on)
      if (const MemberSlot* on = group_.member(e.on);
          on && !is_waived(state_, now_, group_, m, e) && through(*on))
        return true;
    for (const MemberSlot& o : group_.members)
      if (comes_before(o, m) && through(o)) return true;
    path_.pop_back();
    finished_.push_back(&m);
    return false;
  }

  std::string text;

 private:
  const State& state_;
  const Time now_;
  const GroupSlot& group_;
  std::vector<const MemberSlot*> path_, finished_;
};

}  // namespace

GroupIx active_group_of(const State& state, TargetIx t) {
  const TargetSlot& slot = state.at(t);
  for (GroupIx g : state.resources[slot.resource].groups) {
    const GroupSlot& group = state.groups[g];
    if (group.row.active() && group.row.environment == state.environments[slot.environment].row.id &&
        group.member(state.deployments[slot.deployment].row.id))
      return g;
  }
  return {};
}

TargetIx target_of(const State& state, const GroupSlot& group, const MemberSlot& m) {
  const TargetIx t = state.target({group.row.resource, group.row.environment, m.row.deployment});
  return t && state.target_exists(t) ? t : TargetIx{};
}

bool is_running(const State& state, const GroupSlot& group, const MemberSlot& m) {
  const TargetIx t = state.target({group.row.resource, group.row.environment, m.row.deployment});
  const JobIx j = t ? state.at(t).first_job : JobIx{};
  if (j) return state.jobs[j].row.group == group.row.id;
  if (t || !m.row.last_job) return false;
  return static_cast<bool>(state.jobs.find(*m.row.last_job));  // its target is gone, its job goes on
}

std::string name_of(const State& state, const MemberSlot& m) {
  const DeploymentIx d = state.deployments.find(m.row.deployment);
  return d ? state.deployments[d].row.name : m.row.deployment.str();
}

bool is_done(const State& state, Time now, const GroupSlot& group, const MemberSlot& m) {
  return Doneness(state, now, group).of(m);
}

std::optional<std::string> must_wait(const State& state, Time now, const GroupSlot& group,
                                     const MemberSlot& m) {
  Doneness done(state, now, group);
  for (const MemberSlot& o : group.members)
    if (comes_before(o, m) && !is_over(o)) return wait_text(state, o);
  for (const MemberEdge& e : m.row.depends_on) {
    const MemberSlot* on = group.member(e.on);
    if (!on || is_waived(state, now, group, m, e)) continue;
    // Behind everything it only matters that nothing more is to come.
    const bool passed = done.of(*on) || (m.row.role == MemberRole::kPostHook && done.is_past(*on));
    if (!passed) return wait_text(state, *on);
  }
  // Whom a merge brought in late may find those at work that come after it.
  for (const MemberSlot& o : group.members)
    if (m.row.outcome == Outcome::kWaiting && o.row.outcome == Outcome::kRunning && done.waits_behind(o, m))
      return fmt::format("{}, which depends on it, is at work", name_of(state, o));
  return missing_need(state, group, m);
}

std::optional<std::string> must_wait_to_go_back(const State& state, const GroupSlot& group,
                                                const MemberSlot& m) {
  for (const MemberSlot& o : group.members) {
    if (&o == &m || !depends_on(group, o, m.row.deployment)) continue;
    const bool failed_to = o.row.outcome == Outcome::kFailed && !is_hook(o);
    if (o.row.outcome == Outcome::kRollingBack || failed_to || is_running(state, group, o))
      return fmt::format("{} goes back before it", name_of(state, o));
  }
  return std::nullopt;
}

bool depends_on(const GroupSlot& group, const MemberSlot& m, DeploymentId other) {
  std::vector<DeploymentId> ids;
  std::vector<std::vector<MemberEdge>> edges;
  size_t from = 0;
  for (const MemberSlot& o : group.members) {
    if (&o == &m) from = ids.size();
    ids.push_back(o.row.deployment);
    edges.push_back(o.row.depends_on);
  }
  std::vector<bool> seen(ids.size());
  return reaches(ids, edges, from, other, seen);
}

std::optional<std::string> cycle_of(const State& state, Time now, const GroupSlot& group) {
  Circle circle(state, now, group);
  for (const MemberSlot& m : group.members)
    if (circle.through(m)) return std::move(circle.text);
  return std::nullopt;
}

std::vector<std::vector<MemberEdge>> edges_among(const State& state, const std::vector<MemberView>& members) {
  std::vector<std::vector<MemberEdge>> all(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    const Deployment& own = state.deployments[state.at(members[i].target).deployment].row;
    for (const policy::BoundRule& b : policy::rules_of(state, members[i].target).rules) {
      const policy::DependencyTerms* terms = b.rule ? b.rule->dependency() : nullptr;
      if (!terms || !terms->applies(own)) continue;
      for (size_t j = 0; j < members.size(); ++j) {
        if (i == j) continue;
        const Deployment& other = state.deployments[state.at(members[j].target).deployment].row;
        const Version* version = members[j].version ? &state.versions[members[j].version].row : nullptr;
        if (terms->selects(other, version)) all[i].push_back({b.row->id, other.id});
      }
    }
  }
  return all;
}

void add_version_edges(const State& state, const std::vector<MemberView>& members,
                       std::vector<std::vector<MemberEdge>>& edges) {
  for (size_t i = 0; i < members.size(); ++i) {
    if (!members[i].version) continue;
    for (const VersionDependency& need : state.dependencies_of(members[i].version))
      for (size_t j = 0; j < members.size(); ++j) {
        const DeploymentId other = state.deployments[state.at(members[j].target).deployment].row.id;
        if (i == j || other != need.on || !members[j].version) continue;
        if (accepts(need, state.versions[members[j].version].row)) edges[i].push_back({RuleId{}, other});
      }
  }
}

std::vector<MemberRole> inferred_roles(const std::vector<DeploymentId>& members,
                                       const std::vector<std::vector<MemberEdge>>& edges) {
  std::vector<MemberRole> roles(members.size(), MemberRole::kWork);
  auto reaches_all = [&](size_t from) {
    for (size_t j = 0; j < members.size(); ++j) {
      std::vector<bool> seen(members.size());
      if (j != from && !reaches(members, edges, from, members[j], seen)) return false;
    }
    return true;
  };
  auto reached_by_all = [&](size_t to) {
    for (size_t j = 0; j < members.size(); ++j) {
      std::vector<bool> seen(members.size());
      if (j != to && !reaches(members, edges, j, members[to], seen)) return false;
    }
    return true;
  };
  auto reached_by_none = [&](size_t to) {
    return std::none_of(edges.begin(), edges.end(), [&](const auto& of) {
      return std::any_of(of.begin(), of.end(), [&](const MemberEdge& e) { return e.on == members[to]; });
    });
  };
  std::optional<size_t> first, last;
  for (size_t i = 0; i < members.size(); ++i) {
    if (edges[i].empty() && reached_by_all(i)) first = i;
    if (reached_by_none(i) && reaches_all(i)) last = i;
  }
  if (!first || !last || first == last || members.size() < 3) return roles;
  roles[*first] = MemberRole::kPreHook;
  roles[*last] = MemberRole::kPostHook;
  return roles;
}

std::optional<std::string> missing_outside(const State& state, Time now, const GroupSlot& group,
                                           const MemberSlot& m) {
  const TargetIx t = target_of(state, group, m);
  if (!t || !m.version) return std::nullopt;
  const TargetSlot& slot = state.at(t);
  const Deployment& own = state.deployments[slot.deployment].row;
  policy::Question q{.state = state, .now = now, .target = t, .version = m.version};
  for (const policy::BoundRule& b : policy::rules_of(state, t).rules) {
    const policy::DependencyTerms* terms = b.rule ? b.rule->dependency() : nullptr;
    if (!terms || !terms->applies(own) || policy::skip_of(q, b.row->id)) continue;
    bool any = std::any_of(m.row.depends_on.begin(), m.row.depends_on.end(),
                           [&](const MemberEdge& e) { return e.rule == b.row->id; });
    for (TargetIx o : state.resources[slot.resource].targets) {
      const TargetSlot& other = state.at(o);
      if (!other.exists || other.deployment == slot.deployment) continue;
      const Deployment& row = state.deployments[other.deployment].row;
      if (group.member(row.id) && other.environment == slot.environment) continue;
      const Version* version = other.current_version ? &state.versions[other.current_version].row : nullptr;
      if (!terms->selects(row, version)) continue;
      any = true;
      if (!version)
        return fmt::format("{} needs {}, which does not run on this resource yet", own.name, row.name);
    }
    if (!any) return fmt::format("no deployment on this resource is what {} depends on", own.name);
  }
  return missing_need(state, group, m);
}

}  // namespace ctrlplane
