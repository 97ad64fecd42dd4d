#include "state/state.h"

#include <algorithm>

namespace ctrlplane {
namespace {

std::optional<Selector> compiled(const std::optional<std::string>& text, Selector::Subject subject) {
  if (!text || text->empty()) return std::nullopt;
  auto s = Selector::compile(*text, subject);
  if (!s) return std::nullopt;  // refused on write; a row edited by hand matches nothing
  return *std::move(s);
}

template <class Map>
auto find_named(const Map& map, std::string_view name) -> typename Map::mapped_type {
  auto it = map.find(std::string(name));
  return it == map.end() ? typename Map::mapped_type{} : it->second;
}

// Keeps a by-name index true when a row is new or renamed.
template <class Map, class IxType>
void rename(Map& map, const std::string& from, const std::string& to, IxType ix) {
  if (auto it = map.find(from); it != map.end() && it->second == ix) map.erase(it);
  map[to] = ix;
}

template <class Map, class IxType>
void unname(Map& map, const std::string& name, IxType ix) {
  if (auto it = map.find(name); it != map.end() && it->second == ix) map.erase(it);
}

template <class T>
bool add_once(std::vector<T>& to, const T& what) {
  if (std::find(to.begin(), to.end(), what) != to.end()) return false;
  to.push_back(what);
  return true;
}

bool awaits_hand_over(const Job& j) { return j.status == JobStatus::kPending && !j.handed_over_at; }

}  // namespace

void State::apply(const Change& change) {
  ++rows_epoch_;
  if (change.op == Change::Op::kPut)
    std::visit([&](const auto& row) { put(row); }, change.entity);
  else
    std::visit([&](const auto& row) { erase(row); }, change.entity);
}

// ---- Systems and links -------------------------------------------------------------------------------

void State::put(const System& row) {
  SystemIx s = systems.find(row.id);
  if (!s) s = systems.add(row.id);
  systems[s].row = row;
}

void State::erase(const System& row) {
  SystemIx s = systems.find(row.id);
  if (!s) return;
  SystemSlot gone = systems[s];
  for (DeploymentIx d : gone.deployments) erase(SystemDeployment{row.id, deployments[d].row.id});
  for (EnvironmentIx e : gone.environments) erase(SystemEnvironment{row.id, environments[e].row.id});
  systems.remove(row.id);
}

void State::put(const SystemDeployment& row) {
  SystemIx s = systems.find(row.system);
  DeploymentIx d = deployments.find(row.deployment);
  if (!s || !d || !add_once(systems[s].deployments, d)) return;
  deployments[d].members.systems.push_back(s);
  for (EnvironmentIx e : systems[s].environments) enqueue({Work::Kind::kLink, d, e});
}

void State::put(const SystemEnvironment& row) {
  SystemIx s = systems.find(row.system);
  EnvironmentIx e = environments.find(row.environment);
  if (!s || !e || !add_once(systems[s].environments, e)) return;
  environments[e].members.systems.push_back(s);
  for (DeploymentIx d : systems[s].deployments) enqueue({Work::Kind::kLink, d, e});
}

void State::erase(const SystemDeployment& row) {
  SystemIx s = systems.find(row.system);
  DeploymentIx d = deployments.find(row.deployment);
  if (!s || !d) return;
  std::erase(systems[s].deployments, d);
  std::erase(deployments[d].members.systems, s);
  for (EnvironmentIx e : systems[s].environments) enqueue({Work::Kind::kLink, d, e});
}

void State::erase(const SystemEnvironment& row) {
  SystemIx s = systems.find(row.system);
  EnvironmentIx e = environments.find(row.environment);
  if (!s || !e) return;
  std::erase(systems[s].environments, e);
  std::erase(environments[e].members.systems, s);
  for (DeploymentIx d : systems[s].deployments) enqueue({Work::Kind::kLink, d, e});
}

// ---- Environments and deployments --------------------------------------------------------------------

void State::put(const Environment& row) {
  EnvironmentIx e = environments.find(row.id);
  bool is_new = !e;
  if (is_new) e = environments.add(row.id);
  EnvironmentSlot& slot = environments[e];
  rename(environment_by_name_, slot.row.name, row.name, e);
  bool reselect = is_new || slot.row.resource_selector != row.resource_selector;
  slot.row = row;
  shared_parts_.clear();
  new_policy_epoch();
  if (!is_new) recount_where("environment", {});
  if (!reselect) return;
  slot.members.selector = compiled(row.resource_selector, Selector::Subject::kResource);
  enqueue({Work::Kind::kEnvironment, {}, e});
}

void State::erase(const Environment& row) {
  EnvironmentIx e = environments.find(row.id);
  if (!e) return;
  unname(environment_by_name_, environments[e].row.name, e);
  environments[e].members.leaving = true;
  environments.forget(row.id);
  shared_parts_.clear();
  unheard_from_ = 0;
  enqueue({Work::Kind::kEnvironment, {}, e});
}

void State::put(const Deployment& row) {
  DeploymentIx d = deployments.find(row.id);
  bool is_new = !d;
  if (is_new) d = deployments.add(row.id);
  DeploymentSlot& slot = deployments[d];
  rename(deployment_by_name_, slot.row.name, row.name, d);
  bool reselect = is_new || slot.row.resource_selector != row.resource_selector;
  slot.row = row;
  slot.agent_selector = compiled(row.agent_selector, Selector::Subject::kAgent);
  shared_parts_.clear();
  new_policy_epoch();
  mark_deployment_dirty(d);
  recount_where("deployment", d);
  if (!reselect) return;
  slot.members.selector = compiled(row.resource_selector, Selector::Subject::kResource);
  enqueue({Work::Kind::kDeployment, d, {}});
}

void State::erase(const Deployment& row) {
  DeploymentIx d = deployments.find(row.id);
  if (!d) return;
  unname(deployment_by_name_, deployments[d].row.name, d);
  while (!deployments[d].versions.empty()) erase(Version{versions[deployments[d].versions.back()].row});
  deployments[d].members.leaving = true;
  deployments.forget(row.id);
  shared_parts_.clear();
  enqueue({Work::Kind::kDeployment, d, {}});
}

// ---- Versions ----------------------------------------------------------------------------------------

void State::index_version(VersionIx v) {
  const VersionSlot& slot = versions[v];
  auto& list = deployments[slot.deployment].versions;
  auto newer = [&](VersionIx a, VersionIx b) {
    const Version &x = versions[a].row, &y = versions[b].row;
    return std::tie(x.created_at, x.id) > std::tie(y.created_at, y.id);
  };
  list.insert(std::lower_bound(list.begin(), list.end(), v, newer), v);
  version_by_tag_[{slot.deployment, slot.row.tag}] = v;
}

void State::unindex_version(VersionIx v) {
  const VersionSlot& slot = versions[v];
  std::erase(deployments[slot.deployment].versions, v);
  auto it = version_by_tag_.find({slot.deployment, slot.row.tag});
  if (it != version_by_tag_.end() && it->second == v) version_by_tag_.erase(it);
}

void State::put(const Version& row) {
  VersionIx v = versions.find(row.id);
  if (row.retired) {
    if (v) erase(row);
    return;
  }
  DeploymentIx d = deployments.find(row.deployment);
  if (!d) return;
  if (v) {
    unindex_version(v);
    shared_parts_.clear();
  } else {
    v = versions.add(row.id);
    versions[v].deployment = d;
  }
  versions[v].row = row;
  index_version(v);
  if (row.target_selector && !versions[v].scope) make_scope(v);
  mark_wherever_it_runs(v);
}

// Another version will have its slot.
void State::release_version(VersionIx v) {
  std::erase_if(shared_parts_, [&](const auto& entry) { return entry.first.v == v; });
  const DeploymentIx d = versions[v].deployment;
  if (versions[v].scope && deployments.used(d)) std::erase(deployments[d].scoped, v);
  versions.release(v);
}

void State::erase(const Version& row) {
  VersionIx v = versions.find(row.id);
  if (!v) return;
  unindex_version(v);
  forget_what_was_said(v);
  versions.forget(row.id);
  if (!row.retired) mark_wherever_it_runs(v);
  if (versions[v].references == 0)
    release_version(v);
  else
    versions[v].erased = true;
}

void State::set_version_ref(VersionIx& slot, VersionIx to) {
  if (slot == to) return;
  if (to) ++versions[to].references;
  if (slot) {
    VersionSlot& old = versions[slot];
    CHECK(old.references > 0, "version references out of step");
    if (--old.references == 0 && old.erased) release_version(slot);
  }
  slot = to;
}

// ---- Resources, providers, agents ----------------------------------------------------------------------

void State::put(const Provider& row) {
  if (auto it = providers.find(row.id); it != providers.end()) provider_by_name_.erase(it->second.name);
  providers[row.id] = row;
  provider_by_name_[row.name] = row.id;
}

void State::erase(const Provider& row) {
  auto it = providers.find(row.id);
  if (it == providers.end()) return;
  provider_by_name_.erase(it->second.name);
  providers.erase(it);
}

void State::put(const Resource& row) {
  ResourceIx r = resources.find(row.id);
  bool is_new = !r;
  if (is_new) r = resources.add(row.id);
  ResourceSlot& slot = resources[r];
  resource_index_.put(r, is_new ? nullptr : &slot.row, row);
  rename(resource_by_identifier_, slot.row.identifier, row.identifier, r);
  if (slot.row.provider != row.provider) {
    if (slot.row.provider) resources_by_provider_[*slot.row.provider].remove(r.n);
    if (row.provider) resources_by_provider_[*row.provider].add(r.n);
  }
  slot.row = row;
  slot.part.reset();
  resource_changed(r);
}

void State::erase(const Resource& row) {
  ResourceIx r = resources.find(row.id);
  if (!r) return;
  const Resource& old = resources[r].row;
  unname(resource_by_identifier_, old.identifier, r);
  if (old.provider) resources_by_provider_[*old.provider].remove(r.n);
  resource_index_.erase(r, old);
  resource_leaves(r);
  resources.remove(row.id);
}

void State::put(const JobAgent& row) {
  AgentIx a = agents.find(row.id);
  if (!a) a = agents.add(row.id);
  rename(agent_by_name_, agents[a].row.name, row.name, a);
  agents[a].row = row;
  shared_parts_.clear();
  deployments.each([&](DeploymentIx d, const DeploymentSlot&) { mark_deployment_dirty(d); });
}

void State::erase(const JobAgent& row) {
  AgentIx a = agents.find(row.id);
  if (!a) return;
  unname(agent_by_name_, agents[a].row.name, a);
  agents.remove(row.id);
  shared_parts_.clear();
  stir_lines();  // who has no agent any more keeps no place
}

std::vector<AgentIx> State::agents_for(DeploymentIx d) const {
  std::vector<AgentIx> out;
  const auto& selector = deployments[d].agent_selector;
  if (!selector) return out;
  agents.each([&](AgentIx a, const AgentSlot& slot) {
    if (selector->match(slot.row) == Match::kYes) out.push_back(a);
  });
  std::sort(out.begin(), out.end(),
            [&](AgentIx a, AgentIx b) { return agents[a].row.id < agents[b].row.id; });
  return out;
}

// ---- Jobs --------------------------------------------------------------------------------------------

void State::put(const Job& row) {
  JobIx j = jobs.find(row.id);
  if (!row.live) {
    if (j) drop_job(j);
    return;
  }
  const bool is_new = !j;
  if (is_new) {
    j = jobs.add(row.id);
    jobs[j].row = row;
    jobs[j].row.handed_over_at.reset();
    set_version_ref(jobs[j].version, versions.find(row.version));
    use_slots(row, 1);
    stand_on(target(row.target), j);
  }
  JobSlot& slot = jobs[j];
  // One timer a hand-over, however many reports.
  bool handed_over = row.handed_over_at && slot.row.handed_over_at != row.handed_over_at;
  slot.row = row;
  index_at_agent(row);
  note_in_flight(j);
  if (row.timeout && handed_over && !is_terminal(row.status))
    timers.add(*row.handed_over_at + *row.timeout, TimerKind::kJobTimeout, row.id.uuid);
  // That somebody works on it changes nothing for its target; that it came, ended or waits again does.
  if (slot.target && (is_new || is_terminal(row.status) || row.status == JobStatus::kPending))
    mark_dirty(slot.target);
}

void State::index_at_agent(const Job& row) {
  AgentIx a = agents.find(row.agent);
  if (!a) return;
  agents[a].held.erase(row.id);
  if (awaits_hand_over(row))
    agents[a].pending.insert(row.id);
  else
    agents[a].pending.erase(row.id);
  if (row.holder.empty()) return;
  auto& claimed = agents[a].claimed;
  if (row.live && row.status == JobStatus::kQueued)
    claimed[row.holder].insert(row.id);
  else if (auto it = claimed.find(row.holder);
           it != claimed.end() && it->second.erase(row.id) && it->second.empty())
    claimed.erase(it);
}

void State::stand_on(TargetIx t, JobIx j) {
  JobSlot& slot = jobs[j];
  slot.target = t;
  if (t) {
    slot.next_on_target = targets_[t.n].first_job;
    targets_[t.n].first_job = j;
    mark_dirty(t);
  } else {
    adrift_.emplace(slot.row.target, j);
    stranded_.push_back(slot.row.id);
  }
}

std::optional<JobId> State::pop_stranded() {
  if (stranded_.empty()) return std::nullopt;
  JobId id = stranded_.front();
  stranded_.pop_front();
  return id;
}

std::vector<JobIx> State::adrift_from(const TargetKey& target) const {
  std::vector<JobIx> out;
  auto [from, to] = adrift_.equal_range(target);
  for (auto it = from; it != to; ++it) out.push_back(it->second);
  return out;
}

void State::drop_job(JobIx j) {
  JobSlot& slot = jobs[j];
  slot.row.live = false;
  slot.row.status = JobStatus::kCancelled;  // whatever it was: it awaits nothing any more
  index_at_agent(slot.row);
  note_in_flight(j);
  if (slot.target) {
    for (JobIx* link = &targets_[slot.target.n].first_job; *link; link = &jobs[*link].next_on_target)
      if (*link == j) {
        *link = slot.next_on_target;
        break;
      }
    mark_dirty(slot.target);
  } else {
    if (GroupIx g = slot.row.group ? groups.find(*slot.row.group) : GroupIx{}) mark_group_dirty(g);
    auto [from, to] = adrift_.equal_range(slot.row.target);
    auto it = std::find_if(from, to, [&](const auto& entry) { return entry.second == j; });
    if (it != to) adrift_.erase(it);
  }
  set_version_ref(slot.version, {});
  use_slots(slot.row, -1);
  jobs.remove(JobId{slot.row.id});
}

void State::erase(const Job& row) {
  if (JobIx j = jobs.find(row.id)) drop_job(j);
}

void State::set_lease(JobIx j, Duration until) {
  // One timer a job, however many heartbeats: the one in the heap is set again when it fires early.
  if (jobs[j].lease_until == kNoLease) lease_timers.add(until, TimerKind::kAgentLease, jobs[j].row.id.uuid);
  jobs[j].lease_until = until;
}

void State::renew_all_leases(Duration uptime, Duration lease) {
  std::vector<JobIx> held;
  jobs.each([&](JobIx j, const JobSlot& slot) {
    if (!slot.row.holder.empty() && !is_terminal(slot.row.status)) held.push_back(j);
  });
  for (JobIx j : held) set_lease(j, uptime + lease);
}

// ---- Targets -----------------------------------------------------------------------------------------

void State::put(const TargetState& row) {
  DeploymentIx d = deployments.find(row.key.deployment);
  EnvironmentIx e = environments.find(row.key.environment);
  ResourceIx r = resources.find(row.key.resource);
  if (!d || !e || !r) {
    orphans_.insert(row.key);
    return;
  }
  TargetIx t = target(d, e, r);
  if (!t) t = add_target({d, e, r});
  orphans_.erase(row.key);
  TargetSlot& slot = targets_[t.n];
  auto version = [&](const std::optional<VersionId>& id) { return id ? versions.find(*id) : VersionIx{}; };
  slot.has_row = true;
  slot.desired_release = row.desired_release.value_or(ReleaseId{});
  slot.current_release = row.current_release.value_or(ReleaseId{});
  slot.chain_release = row.chain_release.value_or(ReleaseId{});
  set_version_ref(slot.desired_version, version(row.desired_version));
  set_version_ref(slot.current_version, version(row.current_version));
  set_version_ref(slot.last_version, version(row.last_version));
  replace_denied(t, row.denied);
  slot.current_since = row.current_since.value_or(Time{});
  slot.attempts = static_cast<uint16_t>(std::min<int64_t>(row.attempts, UINT16_MAX));
  slot.last_job = row.last_job.value_or(JobId{});
  slot.last_status = row.last_status.value_or(JobStatus::kPending);
  slot.last_ended_at = row.last_ended_at.value_or(Time{});
  replace_past(t, row.past);
  replace_endings(t, row.endings);
  mark_dirty(t);
}

void State::erase(const TargetState& row) {
  orphans_.erase(row.key);
  TargetIx t = target(row.key);
  if (!t) return;
  if (targets_[t.n].has_row) put(TargetState{.key = row.key});  // what it knew goes with the row
  targets_[t.n].has_row = false;
  if (!targets_[t.n].exists) remove_target(t);
}

TargetIx State::target(DeploymentIx d, EnvironmentIx e, ResourceIx r) const {
  const uint32_t* n = target_by_key_.find({d, e, r});
  return n ? TargetIx{*n} : TargetIx{};
}

TargetIx State::target(const TargetKey& key) const {
  DeploymentIx d = deployments.find(key.deployment);
  EnvironmentIx e = environments.find(key.environment);
  ResourceIx r = resources.find(key.resource);
  return d && e && r ? target(d, e, r) : TargetIx{};
}

TargetKey State::key_of(TargetIx t) const {
  const TargetSlot& slot = targets_[t.n];
  return {resources[slot.resource].row.id, environments[slot.environment].row.id,
          deployments[slot.deployment].row.id};
}

TargetState State::row_of(TargetIx t) const {
  const TargetSlot& slot = targets_[t.n];
  TargetState row{.key = key_of(t)};
  auto id = [](const auto& value) { return value.is_nil() ? std::nullopt : std::optional(value); };
  auto version = [&](VersionIx v) { return v ? std::optional(versions[v].row.id) : std::nullopt; };
  row.desired_release = id(slot.desired_release);
  row.current_release = id(slot.current_release);
  row.chain_release = id(slot.chain_release);
  row.desired_version = version(slot.desired_version);
  row.current_version = version(slot.current_version);
  if (row.current_release) row.current_since = slot.current_since;
  row.attempts = slot.attempts;
  row.last_job = id(slot.last_job);
  if (row.last_job) {
    row.last_status = slot.last_status;
    row.last_ended_at = slot.last_ended_at;
  }
  for (const PastVersionIx& p : slot.past) row.past.push_back({versions[p.version].row.id, p.first_success});
  for (VersionIx v : slot.denied) row.denied.push_back(versions[v].row.id);
  row.last_version = version(slot.last_version);
  for (const EndingIx& e : slot.endings)
    row.endings.push_back({versions[e.version].row.id, e.status, e.first_at});
  return row;
}

// ---- Outbox, idempotency -----------------------------------------------------------------------------

void State::put(const OutboxItem& row) {
  if (row.status == OutboxStatus::kDelivered || row.status == OutboxStatus::kAbandoned) return erase(row);
  outbox[row.id] = row;
  if (row.job && row.kind == OutboxKind::kStart) outbox_by_job_[*row.job] = row.id;
}

void State::erase(const OutboxItem& row) {
  if (row.job) {
    auto it = outbox_by_job_.find(*row.job);
    if (it != outbox_by_job_.end() && it->second == row.id) outbox_by_job_.erase(it);
  }
  outbox.erase(row.id);
}

std::optional<OutboxId> State::outbox_of(JobId job) const {
  auto it = outbox_by_job_.find(job);
  return it == outbox_by_job_.end() ? std::nullopt : std::optional(it->second);
}

void State::put(const IdempotencyRecord& row) {
  idempotency[row.key] = {row.body, row.status, row.subject, row.reply, row.created_at};
  timers.add(row.created_at + hours(24), TimerKind::kIdempotencyExpiry, Uuid{row.key.bytes});
}

// ---- Dirty marks -------------------------------------------------------------------------------------

void State::mark_dirty(TargetIx t) {
  if (targets_[t.n].dirty) return;
  targets_[t.n].dirty = true;
  dirty_.push_back(t);
}

void State::mark_deployment_dirty(DeploymentIx d) {
  if (!deployments[d].targets.empty()) add_walk(d, {});
}

void State::mark_dirty_in(DeploymentIx d, EnvironmentIx e) {
  if (pair(d, e)) add_walk(d, e);
}

void State::add_walk(DeploymentIx d, EnvironmentIx e) {
  if (!dirty_walks_.empty()) {
    const DirtyWalk& last = dirty_walks_.back();
    if (last.deployment == d && last.environment == e && last.cursor == 0) return;
  }
  dirty_walks_.push_back({d, e});
}

const std::vector<TargetIx>* State::targets_of(const DirtyWalk& walk) const {
  if (walk.environment) {
    const Pair* p = pair(walk.deployment, walk.environment);
    return p ? &p->targets : nullptr;
  }
  return deployments.used(walk.deployment) ? &deployments[walk.deployment].targets : nullptr;
}

void State::mark_all_dirty() {
  dirty_walks_.clear();
  deployments.each([&](DeploymentIx d, const DeploymentSlot&) { mark_deployment_dirty(d); });
}

std::optional<TargetIx> State::pop_dirty() {
  while (!dirty_.empty()) {
    TargetIx t = dirty_.front();
    dirty_.pop_front();
    if (!targets_[t.n].dirty) continue;
    targets_[t.n].dirty = false;
    return t;
  }
  while (!dirty_walks_.empty()) {
    DirtyWalk& front = dirty_walks_.front();
    const std::vector<TargetIx>* targets = targets_of(front);
    if (targets && front.cursor < targets->size()) return (*targets)[front.cursor++];
    dirty_walks_.pop_front();
  }
  return std::nullopt;
}

void State::wake_at(TargetIx t, Time at) {
  TargetSlot& slot = targets_[t.n];
  if (at >= slot.wake_at) return;
  slot.wake_at = at;
  // The time is part of the subject: one that is not the slot's is of an earlier wish, or of a target that
  // had the slot before.
  timers.add(at, TimerKind::kTargetDue, Uuid::from_halves(t.n, static_cast<uint64_t>(at.us)));
}

void State::target_due(const Uuid& subject) {
  if (subject.high() >= targets_.size()) return;
  TargetIx t{static_cast<uint32_t>(subject.high())};
  TargetSlot& slot = targets_[t.n];
  if (slot.wake_at != Time{static_cast<int64_t>(subject.low())}) return;
  slot.wake_at = Time::never();
  mark_dirty(t);
}

// ---- Lookups -----------------------------------------------------------------------------------------

EnvironmentIx State::environment_named(std::string_view name) const {
  return find_named(environment_by_name_, name);
}
DeploymentIx State::deployment_named(std::string_view name) const {
  return find_named(deployment_by_name_, name);
}
ResourceIx State::resource_identified(std::string_view id) const {
  return find_named(resource_by_identifier_, id);
}
AgentIx State::agent_named(std::string_view name) const { return find_named(agent_by_name_, name); }

const Provider* State::provider_named(std::string_view name) const {
  auto it = provider_by_name_.find(name);
  return it == provider_by_name_.end() ? nullptr : &providers.at(it->second);
}

std::vector<ResourceIx> State::resources_of(ProviderId provider) const {
  std::vector<ResourceIx> out;
  if (auto it = resources_by_provider_.find(provider); it != resources_by_provider_.end())
    for (uint32_t n : it->second) out.push_back({n});
  return out;
}

size_t State::resource_count_of(ProviderId provider) const {
  auto it = resources_by_provider_.find(provider);
  return it == resources_by_provider_.end() ? 0 : it->second.cardinality();
}

VersionIx State::version_tagged(DeploymentIx d, std::string_view tag) const {
  auto it = version_by_tag_.find({d, std::string(tag)});
  return it == version_by_tag_.end() ? VersionIx{} : it->second;
}

std::optional<Digest> State::cached_shared_part(DeploymentIx d, EnvironmentIx e, VersionIx v, AgentIx a,
                                                Time now) const {
  auto it = shared_parts_.find({d, e, v, a});
  return it == shared_parts_.end() || !it->second.fresh(now) ? std::nullopt
                                                             : std::optional(it->second.digest);
}

std::optional<Digest> State::cached_resource_part(ResourceIx r, Time now) const {
  const std::optional<StoredPart>& part = resources[r].part;
  return part && part->fresh(now) ? std::optional(part->digest) : std::nullopt;
}

void State::cache_shared_part(DeploymentIx d, EnvironmentIx e, VersionIx v, AgentIx a,
                              const StoredPart& part) {
  constexpr size_t kMaxCached = 100'000;
  if (shared_parts_.size() >= kMaxCached) shared_parts_.clear();
  shared_parts_[{d, e, v, a}] = part;
}

}  // namespace ctrlplane
