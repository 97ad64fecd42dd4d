// One workspace in memory: the fold of its changes, with the indexes decisions need.
//
// Only the workspace's loop touches it (or, for long reads, whoever built a private one). Everything
// here is derived from rows: `apply` is the only way in, for a fresh change and for a loaded row alike.
//
// Release targets are derived from selectors and links, not stored. Work that a change implies for many
// targets is queued inside and done by `advance` in slices; until `settled()`, membership may lag, and
// `target_exists` answers from the selectors themselves.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <roaring/roaring.hh>

#include "model/change.h"
#include "state/limits.h"
#include "state/resource_index.h"
#include "state/selector.h"
#include "state/tables.h"
#include "state/timers.h"

namespace ctrlplane {

class State {
 public:
  explicit State(WorkspaceId id) : id_(id) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  WorkspaceId id() const { return id_; }

  // Folds one change in. Rows must come parents first; a row whose parent is missing is skipped
  // (kept out of memory) and reported by orphans().
  void apply(const Change& change);

  // ---- Tables ------------------------------------------------------------------------------------
  Slots<SystemSlot, SystemId, SystemIx> systems;
  Slots<EnvironmentSlot, EnvironmentId, EnvironmentIx> environments;
  Slots<DeploymentSlot, DeploymentId, DeploymentIx> deployments;
  Slots<VersionSlot, VersionId, VersionIx> versions;
  Slots<ResourceSlot, ResourceId, ResourceIx> resources;
  Slots<AgentSlot, AgentId, AgentIx> agents;
  Slots<JobSlot, JobId, JobIx> jobs;  // live ones
  Slots<PolicySlot, PolicyId, PolicyIx> policies;
  Slots<FreezeSlot, FreezeId, FreezeIx> freezes;
  Slots<GroupSlot, GroupId, GroupIx> groups;
  std::map<ChannelId, NotificationChannel> channels;
  std::map<std::string, Json, std::less<>> settings;
  std::map<ProviderId, Provider> providers;
  std::map<WorkspaceId, Workspace> workspaces;  // these five: the instance only
  std::map<UserId, User> users;
  std::map<KeyId, ApiKey> api_keys;
  std::map<SessionId, Session> sessions;
  std::map<std::pair<WorkspaceId, UserId>, Member> members;
  std::map<OutboxId, OutboxItem> outbox;  // pending and sending
  boost::unordered_flat_map<Digest, IdempotencySlot, std::hash<Digest>> idempotency;
  Timers timers;
  LeaseTimers lease_timers;

  // ---- By name -----------------------------------------------------------------------------------
  EnvironmentIx environment_named(std::string_view name) const;
  DeploymentIx deployment_named(std::string_view name) const;
  ResourceIx resource_identified(std::string_view identifier) const;
  AgentIx agent_named(std::string_view name) const;
  const Provider* provider_named(std::string_view name) const;
  std::vector<ResourceIx> resources_of(ProviderId provider) const;
  size_t resource_count_of(ProviderId provider) const;
  // From the index: no other resource gives the selector a result that is sought. Nullopt: it may be any.
  std::optional<Roaring> candidates(const Narrowing& narrowing, Sought sought) const {
    return resource_index_.candidates(narrowing, sought);
  }
  std::optional<Roaring> candidates(const Selector& selector, Sought sought = Sought::kYes) const {
    return candidates(selector.narrowing(), sought);
  }
  // fn(ResourceIx) for each resource that is there when its turn comes, as long as there is `budget`: one
  // unit each, and what fn itself takes off. False: paused, call it again.
  template <class Fn>
  bool walk(ResourceWalk& walk, size_t& budget, Fn&& fn) const;
  VersionIx version_tagged(DeploymentIx d, std::string_view tag) const;
  std::optional<OutboxId> outbox_of(JobId job) const;
  // Null if there is none. An expired key or session may still be found.
  const User* user_with_email(std::string_view lower_case) const;
  const ApiKey* key_with_prefix(std::string_view prefix) const;
  const Session* session_with_token(std::string_view token_hash) const;
  const Workspace* workspace_with_slug(std::string_view slug) const;

  // ---- What people said about versions --------------------------------------------------------------
  std::span<const Approval> approvals_of(VersionIx v, EnvironmentIx e) const;
  const std::vector<PolicySkip>& skips_of(VersionIx v) const { return versions[v].skips; }
  const std::vector<VersionDependency>& dependencies_of(VersionIx v) const {
    return versions[v].dependencies;
  }
  // Null if there is none; good until the next change.
  const PolicySkip* skip(SkipId id) const;
  // The policy that has the rule.
  PolicyIx policy_of(RuleId rule) const;

  // ---- Whom a version is for (scopes.cpp) ----------------------------------------------------------------
  // For a target out of its scope a version does not exist. Exact also while its targets are being counted.
  bool in_scope(VersionIx v, TargetIx t) const {
    const VersionScope* s = versions[v].scope.get();
    return !s || (s->counting ? s->holds(match_on(*s, t)) : s->targets.contains(t.n));
  }
  // What its selector says there; kYes where it has none.
  Match scope_match(VersionIx v, TargetIx t) const;
  // Until this is over nobody knows how many others it is for.
  bool is_counting(VersionIx v) const { return versions[v].scope && versions[v].scope->counting; }
  // The newest that is for this target, whatever its status. None: there is no such version.
  VersionIx newest_for(TargetIx t) const;
  // Scopes that targets of the environment have entered or left since this was last asked.
  std::vector<std::pair<VersionIx, EnvironmentIx>> take_changed_scopes();
  bool any_changed_scopes() const { return !changed_scopes_.empty(); }
  // Whom something about the version concerns, in one environment or all.
  void mark_version_dirty(VersionIx v, EnvironmentIx e = {});

  // ---- Freezes (freezes.cpp) ---------------------------------------------------------------------------
  bool any_open_freezes() const { return !open_freezes_.empty(); }
  // fn(FreezeIx) for each that has not been ended and whose scope holds the targets of (d, e).
  template <class Fn>
  void each_open_freeze(DeploymentIx d, EnvironmentIx e, Fn&& fn) const {
    if (!open_freezes_.empty()) each_freeze(open_freezes_, d, e, fn);
  }
  // The same of those that have been ended.
  template <class Fn>
  void each_ended_freeze(DeploymentIx d, EnvironmentIx e, Fn&& fn) const {
    if (!ended_freezes_.empty()) each_freeze(ended_freezes_, d, e, fn);
  }
  bool in_scope(const Freeze& f, DeploymentIx d, EnvironmentIx e) const;
  // Does its selector match? One that fails to be evaluated matches; a missing key does not.
  bool freeze_selects(FreezeIx f, TargetIx t, VersionIx v) const;
  bool freeze_selected(FreezeIx f, size_t span, TargetIx t, VersionIx v) const;
  // Live jobs that were handed over and have not ended: by JobIx.
  const Roaring& in_flight() const { return in_flight_; }
  // A job that waits was refused: claims need not look at it before its target has been looked at again.
  void set_aside(AgentIx a, JobId job);
  void recall_held(TargetIx t);  // not so any more
  // Freezes that stop what runs: up to `budget` jobs in flight that one of them has still to look at.
  FreezeIx take_to_stop(size_t budget, std::vector<JobIx>& jobs);
  bool any_to_stop() const { return !stop_walks_.empty(); }

  // ---- Bracket groups (groups.cpp) ---------------------------------------------------------------------
  // Groups that something was said about, or that have lost a target: to be looked at again.
  void mark_group_dirty(GroupIx g);
  std::optional<GroupIx> pop_dirty_group();
  bool any_dirty_groups() const { return !dirty_groups_.empty(); }
  // Null if there is none.
  const Quarantine* quarantine(RuleId rule, ResourceId resource) const;
  const std::map<std::pair<RuleId, ResourceId>, Quarantine>& quarantines() const { return quarantines_; }

  // ---- Slots of concurrency rules (limits.cpp) -----------------------------------------------------------
  // The resources that a rule counts. Null: there is no such rule.
  const Limit* limit(RuleId rule) const;
  // Does it count this one? Exact also while they are being counted.
  bool is_limited(RuleId rule, ResourceIx r) const;
  const std::map<ResourceId, ConcurrencySlot>& holders(RuleId rule) const;
  const std::map<RuleId, std::map<ResourceId, ConcurrencySlot>>& all_holders() const { return holders_; }
  bool holds_slot(RuleId rule, ResourceId resource) const { return holders(rule).contains(resource); }
  // Does a live job, or a group that has started, still need it?
  bool slot_in_use(const ConcurrencySlot& slot) const;
  // A slot that may not be needed any more.
  std::optional<ConcurrencySlot> pop_idle_slot();
  bool any_idle_slots() const { return !idle_slots_.empty(); }
  // Who waits for a slot, in order: memory only. A target that waits is marked when its turn may have come.
  const Line& line(RuleId rule) const;
  const std::map<RuleId, Line>& lines() const { return lines_; }
  void wait_in_line(RuleId rule, const LineKey& key, TargetIx t);
  // True if it stood there.
  bool leave_line(RuleId rule, ResourceId resource);
  void wake_line(RuleId rule, size_t first);
  bool anyone_in_line() const;
  // Whoever of these stands in a line looks again whether it still may.
  void wake_in_lines(ResourceIx r);
  void wake_in_lines(DeploymentIx d, EnvironmentIx e);
  // Lines in which others may be able to go than before: a limit has changed or a quarantine, or somebody in
  // them left, was frozen, lost its agent.
  void stir_line(RuleId rule);
  std::set<RuleId> take_stirred_lines() { return std::exchange(stirred_lines_, {}); }
  bool any_stirred_lines() const { return !stirred_lines_.empty(); }

  // ---- What src/policy keeps here: never stored, and derived from what is --------------------------
  // Raised whenever another policy may match somewhere: a policy, deployment or environment was written.
  uint32_t policy_epoch = 1;
  // Verdicts that many targets share.
  mutable std::shared_ptr<void> policy_memo;

  // ---- Targets -----------------------------------------------------------------------------------
  TargetIx target(const TargetKey& key) const;
  TargetIx target(DeploymentIx d, EnvironmentIx e, ResourceIx r) const;
  const TargetSlot& at(TargetIx t) const { return targets_[t.n]; }
  TargetKey key_of(TargetIx t) const;
  TargetState row_of(TargetIx t) const;
  size_t target_count() const { return target_count_; }  // existing ones
  uint32_t target_bound() const { return static_cast<uint32_t>(targets_.size()); }
  // Do selectors and a shared system make this a target at this moment? Exact also while unsettled.
  bool target_exists(TargetIx t) const;
  bool linked(DeploymentIx d, EnvironmentIx e) const;
  // The existing targets of a deployment in an environment.
  uint32_t targets_in(DeploymentIx d, EnvironmentIx e) const;
  // In any order; fn(TargetIx) must change nothing.
  template <class Fn>
  void each_target_in(DeploymentIx d, EnvironmentIx e, Fn&& fn) const {
    if (const Pair* p = pair(d, e))
      for (TargetIx t : p->targets) fn(t);
  }
  // The same of those that the version is for.
  uint32_t targets_in(DeploymentIx d, EnvironmentIx e, VersionIx v) const;
  template <class Fn>
  void each_target_in(DeploymentIx d, EnvironmentIx e, VersionIx v, Fn&& fn) const {
    if (!versions[v].scope) return each_target_in(d, e, fn);
    for (uint32_t n : versions[v].scope->targets)
      if (targets_[n].environment == e) fn(TargetIx{n});
  }
  // fn(DeploymentIx, EnvironmentIx, their existing targets) for each pair that has had any.
  template <class Fn>
  void each_pair(Fn&& fn) const {
    for (const auto& [pair, entry] : pairs_) fn(pair.first, pair.second, entry.targets);
  }
  // Another number whenever that set changes; the same number is always the same set. 0: it is empty.
  uint64_t membership_epoch(DeploymentIx d, EnvironmentIx e) const;
  // The same of those that the version is for.
  uint64_t membership_epoch(DeploymentIx d, EnvironmentIx e, VersionIx v) const;
  // Another number whenever any such set changes, or the labels of somebody in one do.
  uint64_t membership_epoch() const { return membership_changes_; }
  // Among those that it is for: where the version was current once, and the latest of their first successes.
  struct Success {
    uint32_t count = 0;
    Time latest;
    bool operator==(const Success&) const = default;
  };
  Success successes(DeploymentIx d, EnvironmentIx e, VersionIx v) const;
  // The same of the targets where an attempt of it ended in one of these statuses. It may walk over them all,
  // once after each of them that has learnt something.
  Success endings(DeploymentIx d, EnvironmentIx e, VersionIx v, std::span<const JobStatus> statuses) const;
  // Agents that the deployment's selector matches, by id.
  std::vector<AgentIx> agents_for(DeploymentIx d) const;

  // ---- Work that changes imply -------------------------------------------------------------------
  // Does up to `budget` units of queued membership work. Rows of targets that are gone for good (their
  // resource, environment or deployment was deleted) are appended to `gone`: the caller erases them.
  void advance(size_t budget, std::vector<TargetKey>& gone);
  // All of it at once: for a state that is being loaded.
  void derive();
  bool settled() const { return work_.empty() && orphans_.empty(); }
  // Was any of it more than counting whom versions are for, since this was last asked?
  bool take_relinked() { return std::exchange(relinked_, false); }

  // Approvals and skips in environments that are gone: their rows are to be erased. Looks at up to `budget`
  // versions; there is more to look at until any_unheard() says no.
  void take_unheard(size_t budget, std::vector<Entity>& rows);
  bool any_unheard() const { return unheard_from_ < versions.bound(); }

  // Pairs whose set of existing targets has changed since this was last asked.
  std::vector<std::pair<DeploymentIx, EnvironmentIx>> take_changed_pairs();
  bool any_changed_pairs() const { return !changed_pairs_.empty(); }

  // A live job that has lost its target since, or came without one: nobody else will tidy it up.
  std::optional<JobId> pop_stranded();
  bool any_stranded() const { return !stranded_.empty(); }
  // The live jobs of a target that is gone: one attempt, which counts as a whole should the target return.
  std::vector<JobIx> adrift_from(const TargetKey& target) const;

  void mark_dirty(TargetIx t);
  void mark_dirty_in(DeploymentIx d, EnvironmentIx e);
  void mark_deployment_dirty(DeploymentIx d);
  void mark_all_dirty();
  // Next target to look at again, or none.
  std::optional<TargetIx> pop_dirty();
  bool any_dirty() const { return !dirty_.empty() || !dirty_walks_.empty(); }
  size_t dirty_count() const { return dirty_.size(); }

  // Marks the target at that time, if no earlier timer of it is set: whoever looks at it then sets the next.
  void wake_at(TargetIx t, Time at);
  // A timer of kind kTargetDue fired.
  void target_due(const Uuid& subject);

  // ---- Leases and parts: memory only ---------------------------------------------------------------
  void set_lease(JobIx j, Duration until);
  // After a load every holder gets a fresh lease; otherwise a take-over would fail every running job.
  void renew_all_leases(Duration uptime, Duration lease);
  // Not fresh ones: they have to be put again.
  std::optional<Digest> cached_shared_part(DeploymentIx d, EnvironmentIx e, VersionIx v, AgentIx a,
                                           Time now) const;
  std::optional<Digest> cached_resource_part(ResourceIx r, Time now) const;
  void cache_shared_part(DeploymentIx d, EnvironmentIx e, VersionIx v, AgentIx a, const StoredPart& part);
  void cache_resource_part(ResourceIx r, const StoredPart& part) { resources[r].part = part; }

 private:
  struct Work {
    enum class Kind : uint8_t { kDeployment, kEnvironment, kLink, kLimit, kScope } kind;
    DeploymentIx deployment;
    EnvironmentIx environment;
    RuleId rule = {};
    VersionId version = {};
    std::optional<ResourceWalk> walk = {};  // once it has begun
  };
  struct TargetIxKey {
    DeploymentIx d;
    EnvironmentIx e;
    ResourceIx r;
    bool operator==(const TargetIxKey&) const = default;
  };
  struct TargetIxHash {
    using is_avalanching = void;
    size_t operator()(const TargetIxKey& k) const noexcept {
      return mix64((uint64_t{k.d.n} << 32 | k.r.n) ^ (uint64_t{k.e.n} * 0x9e3779b97f4a7c15ull));
    }
  };

  void put(const Workspace& row);
  void put(const User& row);
  void put(const ApiKey& row);
  void put(const Session& row);
  void put(const Member& row);
  void put(const System& row);
  void put(const Environment& row);
  void put(const Deployment& row);
  void put(const SystemDeployment& row);
  void put(const SystemEnvironment& row);
  void put(const Policy& row);
  void put(const Version& row);
  void put(const Approval& row);
  void put(const PolicySkip& row);
  void put(const VersionDependency& row);
  void put(const Setting& row) { settings[row.name] = row.value; }
  void put(const NotificationChannel& row) { channels[row.id] = row; }
  void put(const Freeze& row);
  void put(const FreezeEvent&) {}  // cold
  void put(const BracketGroup& row);
  void put(const BracketMember& row);
  void put(const ConcurrencySlot& row);
  void put(const Quarantine& row);
  void put(const Provider& row);
  void put(const Resource& row);
  void put(const JobAgent& row);
  void put(const Release&) {}  // cold
  void put(const Job& row);
  void put(const TargetState& row);
  void put(const ContextPart&) {}  // cold
  void put(const OutboxItem& row);
  void put(const IdempotencyRecord& row);
  void put(const AuditEntry&) {}  // cold

  void erase(const Workspace& row);
  void erase(const User& row);
  void erase(const ApiKey& row);
  void erase(const Session& row);
  void erase(const Member& row);
  void erase(const System& row);
  void erase(const Environment& row);
  void erase(const Deployment& row);
  void erase(const SystemDeployment& row);
  void erase(const SystemEnvironment& row);
  void erase(const Policy& row);
  void erase(const Version& row);
  void erase(const Approval& row);
  void erase(const PolicySkip& row);
  void erase(const VersionDependency& row);
  void erase(const Setting& row) { settings.erase(row.name); }
  void erase(const NotificationChannel& row) { channels.erase(row.id); }
  void erase(const Freeze& row);
  void erase(const FreezeEvent&) {}
  void erase(const BracketGroup& row);
  void erase(const BracketMember& row);
  void erase(const ConcurrencySlot& row);
  void erase(const Quarantine& row);
  void erase(const Provider& row);
  void erase(const Resource& row);
  void erase(const JobAgent& row);
  void erase(const Release&) {}
  void erase(const Job& row);
  void erase(const TargetState& row);
  void erase(const ContextPart&) {}
  void erase(const OutboxItem& row);
  void erase(const IdempotencyRecord& row) { idempotency.erase(row.key); }
  void erase(const AuditEntry&) {}

  void index_at_agent(const Job& row);
  void drop_job(JobIx j);
  void stand_on(TargetIx t, JobIx j);
  void set_version_ref(VersionIx& slot, VersionIx to);
  void release_version(VersionIx v);
  void index_version(VersionIx v);
  void unindex_version(VersionIx v);

  // policies.cpp
  void new_policy_epoch();
  void forget_rules(PolicyIx p);
  void forget_what_was_said(VersionIx v);
  void mark_skip_dirty(VersionIx v, const PolicySkip& row);
  uint32_t unheard_from_ = UINT32_MAX;  // the version from which on such rows have not been looked for

  // scopes.cpp
  void mark_wherever_it_runs(VersionIx v, EnvironmentIx e = {});  // also those out of its scope by now
  Match match_on(const VersionScope& s, TargetIx t) const;
  void make_scope(VersionIx v);
  void recount(VersionIx v);
  VersionIx counted_by(const Work& work) const;
  void recount_where(std::string_view variable, DeploymentIx d);
  void rescope(VersionIx v, TargetIx t);
  void enter_scopes(TargetIx t);
  void leave_scopes(TargetIx t);
  void set_in_scope(VersionIx v, TargetIx t, bool in);
  void scope_counted(VersionIx v);
  bool is_counted_in(VersionIx v, TargetIx t) const {
    return !versions[v].scope || versions[v].scope->targets.contains(t.n);
  }
  std::set<std::pair<VersionIx, EnvironmentIx>> changed_scopes_;

  // freezes.cpp
  using FreezesByScope = boost::unordered_flat_map<Uuid, std::vector<FreezeIx>, UuidHash>;
  template <class Fn>
  void each_freeze(const FreezesByScope& of, DeploymentIx d, EnvironmentIx e, Fn&& fn) const;
  bool matches(const Selector& selector, TargetIx t, VersionIx v) const;
  void index_freeze(FreezeIx f);
  void unindex_freeze(FreezeIx f);
  void mark_scope_dirty(const Freeze& f);
  void note_in_flight(JobIx j);
  FreezesByScope open_freezes_, ended_freezes_;  // by scope_entity; the workspace's under nil
  Roaring in_flight_;
  struct StopWalk {
    FreezeIx freeze;
    uint32_t next = 0;
  };
  std::deque<StopWalk> stop_walks_;
  uint64_t rows_epoch_ = 1;  // raised by whatever a freeze's selector may look at

  // groups.cpp
  void drop_group(GroupIx g);
  void release_members(GroupSlot& slot);
  void leave_groups(ResourceIx r);
  void mark_groups_dirty(ResourceIx r);
  void mark_queued_groups_dirty();
  std::deque<GroupId> dirty_groups_;
  std::map<std::pair<RuleId, ResourceId>, Quarantine> quarantines_;

  // limits.cpp
  void set_limits(const Policy& row);
  void drop_limits(const Policy& row);
  void count_in_limits(ResourceIx r);
  bool count_in_limit(Limit& limit, ResourceIx r);  // true if that changed it
  void leave_limits(ResourceIx r);
  void leave_lines(TargetIx t);
  void use_slots(const Job& row, int by);
  void look_at_slots(ResourceId resource);
  std::map<RuleId, Limit> limits_;
  std::map<RuleId, std::map<ResourceId, ConcurrencySlot>> holders_;
  std::map<std::pair<RuleId, ResourceId>, int> slot_users_;  // live jobs that hold it
  std::deque<std::pair<RuleId, ResourceId>> idle_slots_;
  std::map<RuleId, Line> lines_;
  void stir_lines();
  std::set<RuleId> stirred_lines_;

  // progress.cpp
  struct Tally {
    uint32_t count = 0;
    mutable Time latest;
    mutable bool stale = false;  // whose first success was the latest has left
  };
  struct Pair {
    std::vector<TargetIx> targets;  // existing ones
    uint64_t epoch = 0;
    std::map<VersionIx, Tally> successes;  // of versions that have any
    // What endings() found, by statuses as bits, until a target comes, goes or learns.
    mutable std::map<std::pair<VersionIx, uint32_t>, Success> ended;
  };
  const Pair* pair(DeploymentIx d, EnvironmentIx e) const;
  void enter_pair(TargetIx t);
  void leave_pair(TargetIx t);
  void count_past(TargetIx t, std::optional<VersionIx> only = {});
  void discount_past(TargetIx t, std::optional<VersionIx> only = {});
  void replace_past(TargetIx t, const std::vector<PastVersion>& past);
  void replace_denied(TargetIx t, const std::vector<VersionId>& denied);
  void replace_endings(TargetIx t, const std::vector<Ending>& endings);
  void forget_ended(const TargetSlot& slot);

  // membership.cpp
  void enqueue(Work work);
  void begin(Work& work);
  void visit(const Work& work, ResourceIx r, size_t& budget);
  bool step(Work& work, size_t& budget);
  void finish(const Work& work);
  void resource_changed(ResourceIx r);
  void resource_leaves(ResourceIx r);
  void sync_target(DeploymentIx d, EnvironmentIx e, ResourceIx r);
  void remove_targets_of(ResourceIx r, EnvironmentIx e);
  void remove_for_good(TargetIx t);
  TargetIx add_target(const TargetIxKey& key);
  void remove_target(TargetIx t);
  template <class Fn>
  void each_environment_of(DeploymentIx d, Fn&& fn) const;
  template <class Fn>
  void each_deployment_of(EnvironmentIx e, Fn&& fn) const;

  WorkspaceId id_;
  GrowingArray<TargetSlot> targets_;
  std::vector<uint32_t> free_targets_;
  GrowingMap<TargetIxKey, uint32_t, TargetIxHash> target_by_key_;
  size_t target_count_ = 0;

  std::deque<Work> work_;
  bool relinked_ = false;
  std::set<TargetKey> orphans_;             // stored rows of targets whose parents are gone
  std::multimap<TargetKey, JobIx> adrift_;  // live jobs without a target, should it come back
  std::deque<JobId> stranded_;
  std::deque<TargetIx> dirty_;
  // A walk over the targets of a deployment, or of the deployment in one environment.
  struct DirtyWalk {
    DeploymentIx deployment;
    EnvironmentIx environment;
    uint32_t cursor = 0;
  };
  std::deque<DirtyWalk> dirty_walks_;
  void add_walk(DeploymentIx d, EnvironmentIx e);
  const std::vector<TargetIx>* targets_of(const DirtyWalk& walk) const;

  std::map<std::pair<DeploymentIx, EnvironmentIx>, Pair> pairs_;
  uint64_t membership_changes_ = 0;
  std::set<std::pair<DeploymentIx, EnvironmentIx>> changed_pairs_;
  std::map<RuleId, PolicyIx> policy_by_rule_;
  std::map<SkipId, VersionIx> version_by_skip_;

  boost::unordered_flat_map<std::string, EnvironmentIx> environment_by_name_;
  boost::unordered_flat_map<std::string, DeploymentIx> deployment_by_name_;
  boost::unordered_flat_map<std::string, ResourceIx> resource_by_identifier_;
  boost::unordered_flat_map<std::string, AgentIx> agent_by_name_;
  std::map<std::string, WorkspaceId, std::less<>> workspace_by_slug_;
  std::map<std::string, UserId, std::less<>> user_by_email_;
  std::map<std::string, KeyId, std::less<>> key_by_prefix_;
  std::map<std::string, SessionId, std::less<>> session_by_token_;
  std::map<std::string, ProviderId, std::less<>> provider_by_name_;
  std::map<ProviderId, Roaring> resources_by_provider_;
  ResourceIndex resource_index_;
  std::map<std::pair<DeploymentIx, std::string>, VersionIx> version_by_tag_;
  std::map<JobId, OutboxId> outbox_by_job_;

  struct PartKey {
    DeploymentIx d;
    EnvironmentIx e;
    VersionIx v;
    AgentIx a;
    auto operator<=>(const PartKey&) const = default;
  };
  std::map<PartKey, StoredPart> shared_parts_;
};

template <class Fn>
void State::each_freeze(const FreezesByScope& of, DeploymentIx d, EnvironmentIx e, Fn&& fn) const {
  auto each_of = [&](const Uuid& entity) {
    if (auto it = of.find(entity); it != of.end())
      for (FreezeIx f : it->second) fn(f);
  };
  each_of(Uuid{});
  each_of(deployments[d].row.id.uuid);
  each_of(environments[e].row.id.uuid);
  const auto& theirs = environments[e].members.systems;
  for (SystemIx s : deployments[d].members.systems)
    if (std::find(theirs.begin(), theirs.end(), s) != theirs.end()) each_of(systems[s].row.id.uuid);
}

template <class Fn>
bool State::walk(ResourceWalk& walk, size_t& budget, Fn&& fn) const {
  auto visit = [&](uint32_t n) {
    walk.next = n + 1;
    if (!resources.used({n})) return;
    --budget;
    fn(ResourceIx{n});
  };
  if (!walk.among) {
    while (budget > 0 && walk.next < resources.bound()) visit(walk.next);
    return walk.next >= resources.bound();
  }
  auto it = walk.among->begin();
  it.equalorlarger(walk.next);
  for (; budget > 0 && it.i.has_value; ++it) visit(*it);
  return !it.i.has_value;
}

}  // namespace ctrlplane
