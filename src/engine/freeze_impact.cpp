#include "engine/freeze_impact.h"

#include <algorithm>

#include "engine/bracket_order.h"

namespace ctrlplane {
namespace {

Match match_of(const State& state, const Selector& selector, TargetIx t, VersionIx v) {
  const TargetSlot& target = state.at(t);
  SelectorInput input{.resource = &state.resources[target.resource].row,
                      .deployment = &state.deployments[target.deployment].row,
                      .environment = &state.environments[target.environment].row};
  if (v) input.version = &state.versions[v].row;
  return selector.match(input);
}

bool in_scope(const State& state, const Freeze& f, TargetIx t) {
  return state.in_scope(f, state.at(t).deployment, state.at(t).environment);
}

void count_target(const State& state, const FreezeOutline& freeze, TargetIx t, uint64_t weight,
                  FreezeCount& count) {
  if (!in_scope(state, freeze.row, t)) return;
  if (!freeze.selector) {
    count.targets += weight;
    return;
  }
  const Match m = match_of(state, *freeze.selector, t, state.newest_for(t));
  if (m == Match::kYes || m == Match::kError) count.targets += weight;
  if (m == Match::kError || freeze.selector->uses("version")) count.undetermined += weight;
}

// What no resource can change is asked once for all targets of a deployment in an environment.
void count_pairs(const State& state, const FreezeOutline& freeze, FreezeCount& count) {
  state.each_pair([&](DeploymentIx, EnvironmentIx, const std::vector<TargetIx>& targets) {
    if (!targets.empty()) count_target(state, freeze, targets.front(), targets.size(), count);
  });
}

// Does the scope name it? A system does not: that depends on links. So a job whose target is gone is under
// no freeze of a system.
bool names(const Freeze& f, const TargetKey& key) {
  switch (f.scope) {
    case FreezeScope::kWorkspace: return true;
    case FreezeScope::kDeployment: return key.deployment.uuid == *f.scope_entity;
    case FreezeScope::kEnvironment: return key.environment.uuid == *f.scope_entity;
    case FreezeScope::kSystem: return false;
  }
  return false;
}

bool is_left(const MemberSlot& m) {
  switch (m.row.outcome) {
    case MemberOutcome::kWaiting:
    case MemberOutcome::kRunning:
    case MemberOutcome::kFailed:
    case MemberOutcome::kRollingBack: return takes_part(m);
    default: return takes_part(m) && m.row.next_version.has_value();
  }
}

}  // namespace

Result<FreezeOutline> FreezeOutline::of(Freeze row) {
  FreezeOutline outline{.row = std::move(row), .selector = {}};
  if (outline.row.selector)
    outline.selector = TRY(Selector::compile(*outline.row.selector, Selector::Subject::kVersion));
  return outline;
}

bool FreezeOutline::covers(const State& state, TargetIx t, VersionIx v) const {
  if (!in_scope(state, row, t)) return false;
  if (!selector) return true;
  const Match m = match_of(state, *selector, t, v);
  return m == Match::kYes || m == Match::kError;
}

std::vector<JobIx> jobs_in_flight_under(const State& state, const FreezeOutline& freeze) {
  std::vector<JobIx> found;
  const bool by_system = freeze.row.scope == FreezeScope::kSystem;
  for (uint32_t n : state.in_flight()) {
    const JobSlot& job = state.jobs[{n}];
    if (!by_system && !names(freeze.row, job.row.target)) continue;
    const bool asks = by_system || freeze.selector;  // the target itself is read only where it has to be
    if (!asks || !job.target ? !by_system : freeze.covers(state, job.target, job.version))
      found.push_back({n});
  }
  std::sort(found.begin(), found.end(),
            [&](JobIx a, JobIx b) { return state.jobs[a].row.id < state.jobs[b].row.id; });
  return found;
}

std::vector<OpenBracket> open_brackets_under(const State& state, const FreezeOutline& freeze) {
  std::vector<OpenBracket> found;
  state.groups.each([&](GroupIx g, const GroupSlot& group) {
    if (!group.row.active()) return;
    OpenBracket open{.group = g};
    bool covered = false;
    for (const MemberSlot& m : group.members) {
      if (!is_left(m)) continue;
      ++open.members_left;
      const TargetIx t = target_of(state, group, m);
      covered = covered || (t && freeze.covers(state, t, m.version));
    }
    if (covered) found.push_back(open);
  });
  auto age = [&](const OpenBracket& o) {
    return std::pair(state.groups[o.group].row.created_at, state.groups[o.group].row.id);
  };
  std::sort(found.begin(), found.end(),
            [&](const OpenBracket& a, const OpenBracket& b) { return age(a) < age(b); });
  return found;
}

bool count_some(const State& state, const FreezeOutline& freeze, FreezeCount& count, size_t budget) {
  const bool by_pair = !freeze.selector || !freeze.selector->uses("resource");
  if (by_pair && !count.pairs_done) {
    count.pairs_done = true;
    count.next_target = state.target_bound();
    count_pairs(state, freeze, count);
  }
  for (; budget > 0 && count.next_target < state.target_bound(); ++count.next_target, --budget)
    if (TargetIx t{count.next_target}; state.at(t).exists) count_target(state, freeze, t, 1, count);
  for (; budget > 0 && count.next_job < state.jobs.bound(); ++count.next_job, --budget) {
    const JobIx j{count.next_job};
    if (!state.jobs.used(j) || state.jobs[j].row.status != JobStatus::kPending || !state.jobs[j].target)
      continue;
    if (freeze.covers(state, state.jobs[j].target, state.jobs[j].version)) ++count.held_jobs;
  }
  return count.next_target >= state.target_bound() && count.next_job >= state.jobs.bound();
}

}  // namespace ctrlplane
