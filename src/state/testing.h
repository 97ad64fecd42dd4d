// What tests of the pure core share: rows with readable ids, and a table of rows that stands in for the
// store, so that a state can be loaded from what its changes left behind.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "state/state.h"

namespace ctrlplane::testing {

template <class IdType>
IdType id(uint64_t n) {
  return IdType{Uuid::from_halves(n, 0x7e57)};
}

inline constexpr Time kStart{1'700'000'000'000'000};

// The rows of a workspace as a store would hold them.
class Rows {
 public:
  void apply(const Change& c) {
    auto key = std::pair(c.entity.index(), std::visit([](const auto& row) { return key_of(row); }, c.entity));
    if (c.op == Change::Op::kPut)
      rows_.insert_or_assign(key, c.entity);
    else
      rows_.erase(key);
  }
  // Tables in the order of the Entity variant, as a load reads them.
  std::unique_ptr<State> load() const {
    auto state = std::make_unique<State>(WorkspaceId{});
    for (const auto& [key, row] : rows_) state->apply(Change::put(row));
    state->derive();
    state->mark_all_dirty();
    return state;
  }
  template <class Row, class Fn>
  void each(Fn&& fn) const {
    for (const auto& [key, row] : rows_)
      if (const auto* r = std::get_if<Row>(&row)) fn(*r);
  }
  template <class Row>
  size_t count() const {
    size_t n = 0;
    each<Row>([&](const Row&) { ++n; });
    return n;
  }

 private:
  static std::string key_of(const SystemDeployment& r) { return r.system.str() + r.deployment.str(); }
  static std::string key_of(const SystemEnvironment& r) { return r.system.str() + r.environment.str(); }
  static std::string key_of(const Approval& r) { return r.version.str() + r.environment.str() + r.actor; }
  static std::string key_of(const VersionDependency& r) { return r.version.str() + r.on.str(); }
  static std::string key_of(const Member& r) { return r.workspace.str() + r.user.str(); }
  static std::string key_of(const Setting& r) { return r.name; }
  static std::string key_of(const BracketMember& r) { return r.group.str() + r.deployment.str(); }
  static std::string key_of(const ConcurrencySlot& r) { return r.rule.str() + r.resource.str(); }
  static std::string key_of(const Quarantine& r) {
    return r.rule.str() + r.resource.str() + r.group.str();
  }
  static std::string key_of(const TargetState& r) { return r.key.str(); }
  static std::string key_of(const ContextPart& r) { return Uuid{r.digest.bytes}.str(); }
  static std::string key_of(const IdempotencyRecord& r) { return Uuid{r.key.bytes}.str(); }
  template <class Row>
  static std::string key_of(const Row& r) {
    return r.id.str();
  }

  std::map<std::pair<size_t, std::string>, Entity> rows_;
};

// Everything decisions read, in a form that does not depend on slot numbers or on history.
struct Picture {
  struct Target {
    bool exists, has_row;
    TargetState row;
    bool operator==(const Target&) const = default;
  };
  std::map<TargetKey, Target> targets;
  size_t target_count = 0;
  std::map<JobId, std::pair<Job, std::optional<TargetKey>>> jobs;  // with the target it stands on
  std::map<OutboxId, OutboxItem> outbox;
  std::map<Digest, std::tuple<Digest, int64_t, Uuid, Time>> idempotency;
  std::map<DeploymentId, std::vector<VersionId>> versions;  // newest first
  std::map<AgentId, std::pair<std::set<JobId>, std::map<std::string, std::set<JobId>>>> agents;
  std::map<ResourceId, Resource> resources;
  std::map<PolicyId, Policy> policies;
  std::map<FreezeId, Freeze> freezes;
  std::set<JobId> in_flight;
  struct Said {
    std::vector<Approval> approvals;
    std::vector<PolicySkip> skips;
    std::vector<VersionDependency> dependencies;
    bool operator==(const Said&) const = default;
  };
  std::map<VersionId, Said> said;
  struct Progress {
    uint32_t targets = 0;
    std::map<VersionId, std::pair<uint32_t, Time>> successes;
    bool operator==(const Progress&) const = default;
  };
  std::map<std::pair<DeploymentId, EnvironmentId>, Progress> progress;
};

inline Picture picture_of(const State& s) {
  Picture p;
  s.deployments.each([&](DeploymentIx d, const DeploymentSlot& slot) {
    auto& list = p.versions[slot.row.id];
    for (VersionIx v : slot.versions) list.push_back(s.versions[v].row.id);
    for (TargetIx t : s.deployments[d].targets)
      p.targets[s.key_of(t)] = {s.at(t).exists, s.at(t).has_row, s.row_of(t)};
  });
  p.target_count = s.target_count();
  s.jobs.each([&](JobIx, const JobSlot& slot) {
    auto on = slot.target ? std::optional(s.key_of(slot.target)) : std::nullopt;
    p.jobs[slot.row.id] = {slot.row, on};
  });
  p.outbox = s.outbox;
  for (const auto& [key, r] : s.idempotency) p.idempotency[key] = {r.body, r.status, r.subject, r.created_at};
  s.agents.each([&](AgentIx, const AgentSlot& slot) {
    auto& [waiting, claimed] = p.agents[slot.row.id];
    waiting = slot.pending;
    waiting.insert(slot.held.begin(), slot.held.end());
    claimed = slot.claimed;
  });
  s.freezes.each([&](FreezeIx, const FreezeSlot& slot) { p.freezes[slot.row.id] = slot.row; });
  for (uint32_t n : s.in_flight()) p.in_flight.insert(s.jobs[{n}].row.id);
  s.resources.each([&](ResourceIx, const ResourceSlot& slot) { p.resources[slot.row.id] = slot.row; });
  s.policies.each([&](PolicyIx, const PolicySlot& slot) { p.policies[slot.row.id] = slot.row; });
  s.versions.each([&](VersionIx, const VersionSlot& slot) {
    if (!slot.erased) p.said[slot.row.id] = {slot.approvals, slot.skips, slot.dependencies};
  });
  s.deployments.each([&](DeploymentIx d, const DeploymentSlot& ds) {
    s.environments.each([&](EnvironmentIx e, const EnvironmentSlot& es) {
      auto& progress = p.progress[{ds.row.id, es.row.id}];
      progress.targets = s.targets_in(d, e);
      for (VersionIx v : ds.versions)
        if (State::Success won = s.successes(d, e, v); won.count > 0)
          progress.successes[s.versions[v].row.id] = {won.count, won.latest};
    });
  });
  return p;
}

// What differs, in words; empty if nothing does.
inline std::string difference(const Picture& a, const Picture& b) {
  if (a.target_count != b.target_count) return "target_count";
  if (a.targets.size() != b.targets.size()) return "number of known targets";
  for (const auto& [key, t] : a.targets)
    if (auto it = b.targets.find(key); it == b.targets.end() || it->second != t) return "target " + key.str();
  if (a.jobs.size() != b.jobs.size()) return "number of live jobs";
  for (const auto& [key, j] : a.jobs)
    if (auto it = b.jobs.find(key); it == b.jobs.end() || it->second != j) return "job " + key.str();
  if (a.outbox != b.outbox) return "outbox";
  if (a.idempotency != b.idempotency) return "idempotency";
  if (a.versions != b.versions) return "versions";
  if (a.agents != b.agents) return "jobs at agents";
  if (a.resources != b.resources) return "resources";
  if (a.policies != b.policies) return "policies";
  if (a.freezes != b.freezes) return "freezes";
  if (a.in_flight != b.in_flight) return "jobs in flight";
  if (a.said != b.said) return "approvals, skips or dependencies";
  if (a.progress != b.progress) return "progress";
  return {};
}

}  // namespace ctrlplane::testing
