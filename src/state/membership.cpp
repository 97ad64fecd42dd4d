// Which release targets exist. A target exists iff both selectors match the resource and some system
// holds both sides; `sync_target` is the one place that makes it so, and everything here only decides
// for which triples to call it.
#include <algorithm>

#include "state/bits.h"
#include "state/state.h"

namespace ctrlplane {
namespace {

bool selects(const MemberSet& m, const Resource& r) {
  return !m.leaving && m.selector && m.selector->match(r) == Match::kYes;
}

template <class T>
void drop(std::vector<T>& from, const T& what) {
  auto it = std::find(from.begin(), from.end(), what);
  if (it == from.end()) return;
  *it = from.back();
  from.pop_back();
}

}  // namespace

bool State::linked(DeploymentIx d, EnvironmentIx e) const {
  const auto& theirs = environments[e].members.systems;
  for (SystemIx s : deployments[d].members.systems)
    if (std::find(theirs.begin(), theirs.end(), s) != theirs.end()) return true;
  return false;
}

template <class Fn>
void State::each_environment_of(DeploymentIx d, Fn&& fn) const {
  for (SystemIx s : deployments[d].members.systems)
    for (EnvironmentIx e : systems[s].environments) fn(e);
}

template <class Fn>
void State::each_deployment_of(EnvironmentIx e, Fn&& fn) const {
  for (SystemIx s : environments[e].members.systems)
    for (DeploymentIx d : systems[s].deployments) fn(d);
}

bool State::target_exists(TargetIx t) const {
  const TargetSlot& slot = targets_[t.n];
  if (settled()) return slot.exists;
  const Resource& r = resources[slot.resource].row;
  return linked(slot.deployment, slot.environment) && selects(deployments[slot.deployment].members, r) &&
         selects(environments[slot.environment].members, r);
}

// ---- Targets ---------------------------------------------------------------------------------------

TargetIx State::add_target(const TargetIxKey& key) {
  uint32_t n;
  if (free_targets_.empty()) {
    n = static_cast<uint32_t>(targets_.size());
    targets_.emplace_back();
  } else {
    n = free_targets_.back();
    free_targets_.pop_back();
    targets_[n] = TargetSlot{};
  }
  TargetSlot& slot = targets_[n];
  slot.deployment = key.d;
  slot.environment = key.e;
  slot.resource = key.r;
  auto& list = deployments[key.d].targets;
  slot.at_in_deployment = static_cast<uint32_t>(list.size());
  list.push_back({n});
  resources[key.r].targets.push_back({n});
  CHECK(target_by_key_.add(key, n), "target added twice");
  if (!adrift_.empty()) {  // a deleted parent came back under its id: what still runs there still counts
    auto [from, to] = adrift_.equal_range(key_of({n}));
    for (auto it = from; it != to; ++it) stand_on({n}, it->second);
    adrift_.erase(from, to);
  }
  return {n};
}

void State::remove_target(TargetIx t) {
  TargetSlot& slot = targets_[t.n];
  if (slot.exists) {
    --target_count_;
    leave_pair(t);
  }
  mark_groups_dirty(slot.resource);
  leave_lines(t);
  std::vector<JobIx> left;
  for (JobIx j = slot.first_job; j; j = jobs[j].next_on_target) left.push_back(j);
  set_version_ref(slot.desired_version, {});
  set_version_ref(slot.current_version, {});
  set_version_ref(slot.last_version, {});
  for (PastVersionIx& p : slot.past) set_version_ref(p.version, {});
  for (VersionIx& v : slot.denied) set_version_ref(v, {});
  for (EndingIx& e : slot.endings) set_version_ref(e.version, {});

  auto& list = deployments[slot.deployment].targets;
  TargetIx moved = list.back();
  list[slot.at_in_deployment] = moved;
  targets_[moved.n].at_in_deployment = slot.at_in_deployment;
  list.pop_back();
  // A walk over the deployment's targets may already be past the place it moved to.
  if (moved != t) mark_dirty(moved);
  drop(resources[slot.resource].targets, t);
  target_by_key_.erase({slot.deployment, slot.environment, slot.resource});
  slot = TargetSlot{};
  free_targets_.push_back(t.n);
  for (JobIx j : left) {  // its running jobs go on to their end without it
    jobs[j].target = {};
    jobs[j].next_on_target = {};
    stand_on(target(jobs[j].row.target), j);
  }
}

void State::sync_target(DeploymentIx d, EnvironmentIx e, ResourceIx r) {
  const MemberSet& dm = deployments[d].members;
  const MemberSet& em = environments[e].members;
  bool want =
      !dm.leaving && !em.leaving && dm.resources.contains(r.n) && em.resources.contains(r.n) && linked(d, e);
  TargetIx t = target(d, e, r);
  if (want && !t) t = add_target({d, e, r});
  if (!t) return;
  TargetSlot& slot = targets_[t.n];
  if (slot.exists != want) {
    slot.exists = want;
    mark_groups_dirty(r);
    want ? ++target_count_ : --target_count_;
    want ? enter_pair(t) : leave_pair(t);
    mark_dirty(t);
  }
  // One with a row stays known: it may come back, and then it remembers.
  if (!want && !slot.has_row) remove_target(t);
}

// ---- One resource ----------------------------------------------------------------------------------

void State::resource_changed(ResourceIx r) {
  const Resource& row = resources[r].row;
  count_in_limits(r);
  std::vector<DeploymentIx> ds;
  std::vector<EnvironmentIx> es;
  auto changes = [&](MemberSet& m) {
    // What has not begun will find it among the candidates or the members: a load evaluates nothing twice.
    if (m.queued && !m.walked && !m.leaving) return false;
    return set_bit(m.resources, r.n, selects(m, row));
  };
  for (uint32_t n = 0; n < deployments.bound(); ++n)
    if (deployments.used({n}) && changes(deployments[{n}].members)) ds.push_back({n});
  for (uint32_t n = 0; n < environments.bound(); ++n)
    if (environments.used({n}) && changes(environments[{n}].members)) es.push_back({n});
  for (DeploymentIx d : ds) each_environment_of(d, [&](EnvironmentIx e) { sync_target(d, e, r); });
  for (EnvironmentIx e : es) each_deployment_of(e, [&](DeploymentIx d) { sync_target(d, e, r); });
  if (!resources[r].targets.empty()) ++membership_changes_;
  for (TargetIx t : resources[r].targets) {
    for (VersionIx v : deployments[targets_[t.n].deployment].scoped) rescope(v, t);
    targets_[t.n].policy_epoch = 0;  // other policies may match now, with other members
    recall_held(t);
    mark_dirty(t);
  }
}

void State::resource_leaves(ResourceIx r) {
  leave_limits(r);
  while (!resources[r].targets.empty()) remove_for_good(resources[r].targets.back());
  for (uint32_t n = 0; n < deployments.bound(); ++n) deployments[{n}].members.resources.remove(r.n);
  for (uint32_t n = 0; n < environments.bound(); ++n) environments[{n}].members.resources.remove(r.n);
  leave_groups(r);
}

// ---- Many resources: in slices -----------------------------------------------------------------------

void State::enqueue(Work work) {
  if (work.kind == Work::Kind::kDeployment || work.kind == Work::Kind::kEnvironment) {
    MemberSet& m = work.kind == Work::Kind::kDeployment ? deployments[work.deployment].members
                                                        : environments[work.environment].members;
    if (m.queued)  // start over: what the walk has done so far used the old selector
      std::erase_if(work_, [&](const Work& w) {
        return w.kind == work.kind && w.deployment == work.deployment && w.environment == work.environment;
      });
    m.queued = true;
    m.walked = false;
  }
  relinked_ |= work.kind != Work::Kind::kScope;
  work_.push_back(std::move(work));
}

void State::remove_targets_of(ResourceIx r, EnvironmentIx e) {
  std::vector<TargetIx> targets = resources[r].targets;
  for (TargetIx t : targets)
    if (targets_[t.n].environment == e) remove_for_good(t);
}

void State::remove_for_good(TargetIx t) {
  TargetKey key = key_of(t);
  bool had_row = targets_[t.n].has_row;
  remove_target(t);
  // A parent made again under the same id: the row may be that of the new target by now.
  TargetIx heir = target(key);
  if (had_row && !(heir && targets_[heir.n].has_row)) {
    orphans_.insert(key);
    relinked_ = true;
  }
}

// Chooses the resources to look at. Those that come or change from here on are looked at when they do.
void State::begin(Work& work) {
  ResourceWalk& walk = work.walk.emplace();
  if (work.kind == Work::Kind::kLimit) {
    Limit& limit = limits_.at(work.rule);
    limit.walked = true;
    if (limit.selector) walk.among = candidates(*limit.selector, Sought::kYesOrError);
    return;
  }
  if (work.kind == Work::Kind::kScope) {
    VersionScope& scope = *versions[counted_by(work)].scope;
    scope.walked = true;
    const Roaring& all = deployments[work.deployment].members.resources;
    auto some = scope.selector ? candidates(*scope.selector, Sought::kAllButNo) : std::nullopt;
    walk.among = some ? *some & all : all;
    return;
  }
  if (work.kind == Work::Kind::kLink) {
    const MemberSet& theirs = environments[work.environment].members;
    walk.among = deployments[work.deployment].members.resources & theirs.resources;
    each_target_in(work.deployment, work.environment,
                   [&](TargetIx t) { walk.among->add(targets_[t.n].resource.n); });
    return;
  }
  MemberSet& m = work.kind == Work::Kind::kDeployment ? deployments[work.deployment].members
                                                      : environments[work.environment].members;
  m.walked = true;
  // An environment that leaves takes targets along that no longer exist but have a row: any resource's.
  if (m.leaving) return;
  walk.among = m.selector ? candidates(*m.selector) : Roaring();
  if (walk.among) *walk.among |= m.resources;
}

void State::visit(const Work& work, ResourceIx r, size_t& budget) {
  auto spend = [&](size_t units) { budget -= std::min(budget, units); };
  const Resource& row = resources[r].row;
  switch (work.kind) {
    case Work::Kind::kDeployment: {
      DeploymentIx d = work.deployment;
      MemberSet& m = deployments[d].members;
      if (set_bit(m.resources, r.n, selects(m, row)))
        each_environment_of(d, [&](EnvironmentIx e) { spend(1), sync_target(d, e, r); });
      break;
    }
    case Work::Kind::kEnvironment: {
      EnvironmentIx e = work.environment;
      MemberSet& m = environments[e].members;
      if (m.leaving)
        spend(resources[r].targets.size()), remove_targets_of(r, e);
      else if (set_bit(m.resources, r.n, selects(m, row)))
        each_deployment_of(e, [&](DeploymentIx d) { spend(1), sync_target(d, e, r); });
      break;
    }
    case Work::Kind::kLink: sync_target(work.deployment, work.environment, r); break;
    case Work::Kind::kLimit: count_in_limit(limits_.at(work.rule), r); break;
    case Work::Kind::kScope: {
      const VersionIx v = counted_by(work);
      for (TargetIx t : resources[r].targets)
        if (targets_[t.n].deployment == work.deployment) rescope(v, t);
      break;
    }
  }
}

// One unit of the budget is a resource looked at or a target synchronised: with many deployments a single
// resource is many of those.
bool State::step(Work& work, size_t& budget) {
  if (work.kind == Work::Kind::kDeployment && deployments[work.deployment].members.leaving) {
    auto& targets = deployments[work.deployment].targets;
    for (; !targets.empty(); --budget) {
      if (budget == 0) return false;
      remove_for_good(targets.back());
    }
    return true;
  }
  if (work.kind == Work::Kind::kScope && !counted_by(work)) return true;
  if (!work.walk) begin(work);
  return walk(*work.walk, budget, [&](ResourceIx r) { visit(work, r, budget); });
}

void State::finish(const Work& work) {
  if (work.kind == Work::Kind::kDeployment) {
    DeploymentSlot& d = deployments[work.deployment];
    d.members.queued = false;
    if (!d.members.leaving) return;
    for (SystemIx s : d.members.systems) drop(systems[s].deployments, work.deployment);
    deployments.release(work.deployment);
  } else if (work.kind == Work::Kind::kLimit) {
    limits_.at(work.rule).counting = false;
  } else if (work.kind == Work::Kind::kScope) {
    if (VersionIx v = counted_by(work)) scope_counted(v);
  } else if (work.kind == Work::Kind::kEnvironment) {
    EnvironmentSlot& e = environments[work.environment];
    e.members.queued = false;
    if (!e.members.leaving) return;
    for (SystemIx s : e.members.systems) drop(systems[s].environments, work.environment);
    environments.release(work.environment);
  }
}

void State::derive() {
  size_t unlimited = SIZE_MAX;
  for (; !work_.empty(); work_.pop_front()) {
    step(work_.front(), unlimited);
    finish(work_.front());
  }
}

void State::advance(size_t budget, std::vector<TargetKey>& gone) {
  while (budget > 0 && !work_.empty()) {
    if (!step(work_.front(), budget)) return;
    Work done = std::move(work_.front());
    work_.pop_front();
    finish(done);
  }
  for (; budget > 0 && !orphans_.empty(); --budget)
    gone.push_back(orphans_.extract(orphans_.begin()).value());
}

}  // namespace ctrlplane
