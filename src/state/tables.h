// What memory keeps of each kind of row: the row, and what is derived for it.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <roaring/roaring.hh>

#include "model/change.h"
#include "state/scope.h"
#include "state/selector.h"
#include "state/slots.h"

namespace ctrlplane {

struct SystemSlot {
  System row;
  std::vector<DeploymentIx> deployments;
  std::vector<EnvironmentIx> environments;
};

// A deployment's or environment's side of membership.
struct MemberSet {
  std::optional<Selector> selector;  // nullopt matches nothing
  Roaring resources;                 // by ResourceIx
  std::vector<SystemIx> systems;
  bool leaving = false;  // deleted; its targets are being taken down
  bool queued = false;   // a recomputation is under way
  bool walked = false;   // and has begun: it will not see resources that come now
};

struct EnvironmentSlot {
  Environment row;
  MemberSet members;
};

struct DeploymentSlot {
  Deployment row;
  MemberSet members;
  std::optional<Selector> agent_selector;
  std::vector<VersionIx> versions;  // the hot ones, newest first
  std::vector<VersionIx>
      scoped;  // those that are not for everyone, and such ones that are gone but referred to
  std::vector<TargetIx> targets;
};

// What src/policy makes of a policy's row: nothing is known of it here.
struct CompiledPolicy {
  virtual ~CompiledPolicy() = default;
};

struct PolicySlot {
  Policy row;
  mutable std::shared_ptr<const CompiledPolicy> compiled;  // made when first asked for; goes with the row
};

struct VersionSlot {
  Version row;
  DeploymentIx deployment;
  std::unique_ptr<VersionScope> scope;          // null: it is for every target
  std::vector<Approval> approvals;              // by environment, then actor
  std::vector<PolicySkip> skips;                // by id
  std::vector<VersionDependency> dependencies;  // by the other deployment's id
  uint32_t references = 0;  // from targets (desired, current, past, denied, last, endings) and live jobs
  bool erased = false;      // no candidate any more; the slot goes with the last reference
};

// A context part that is known to be stored, while it is fresh.
struct StoredPart {
  Digest digest;
  Time at;  // of the put
  bool fresh(Time now) const { return now - at < kPartFresh; }
};

struct ResourceSlot {
  Resource row;
  std::vector<TargetIx> targets;
  std::vector<GroupIx> groups;     // of brackets, oldest first
  std::optional<StoredPart> part;  // of its dispatch context, until the row changes
};

struct AgentSlot {
  JobAgent row;
  std::set<JobId> pending;                         // jobs it has not been handed yet, oldest first
  std::map<std::string, std::set<JobId>> claimed;  // by instance: handed over, not yet reported on
  std::set<JobId> held;                            // likewise, but refused when it was asked for: set_aside
};

// A freeze that is not retired.
struct FreezeSlot {
  Freeze row;
  std::optional<Selector> selector;                     // none: all in scope
  std::vector<std::optional<Selector>> span_selectors;  // of row.spans
  // What the selector last said: asked of one target about several versions it need not be evaluated again.
  struct Said {
    uint64_t epoch = 0;  // State::rows_epoch then
    TargetIx target;
    VersionIx version;
    bool match = false;
  };
  mutable Said said;
};

struct MemberSlot {
  BracketMember row;
  VersionIx version, next_version, previous;
};

// A bracket group that has not ended, or whose end still rules versions out.
struct GroupSlot {
  BracketGroup row;
  std::vector<MemberSlot> members;  // by deployment id
  ResourceIx resource;              // none once it is gone
  bool dirty = false;

  const MemberSlot* member(DeploymentId d) const {
    for (const MemberSlot& m : members)
      if (m.row.deployment == d) return &m;
    return nullptr;
  }
};

inline constexpr Duration kNoLease{std::numeric_limits<int64_t>::max()};

struct JobSlot {
  Job row;
  TargetIx target;                  // none once the target is gone
  VersionIx version;                // what it deploys: stays known while it runs
  JobIx next_on_target;             // the other jobs of the attempt
  Duration lease_until = kNoLease;  // of uptime; heartbeats are memory only
};

struct PastVersionIx {
  VersionIx version;
  Time first_success;
  bool operator==(const PastVersionIx&) const = default;
};

struct EndingIx {
  VersionIx version;
  JobStatus status;
  Time first_at;
  bool operator==(const EndingIx&) const = default;
};

struct TargetSlot {
  DeploymentIx deployment;
  EnvironmentIx environment;
  ResourceIx resource;
  uint32_t at_in_deployment = 0;
  uint32_t at_in_pair = 0;  // while it exists
  JobIx first_job;          // live jobs: one active release at most
  VersionIx desired_version;
  VersionIx current_version;
  VersionIx last_version;     // of last_job
  ReleaseId desired_release;  // nil = none
  ReleaseId current_release;
  ReleaseId chain_release;
  JobId last_job;
  Time current_since;
  Time last_ended_at;
  Time wake_at = Time::never();  // the earliest timer that is set for it
  std::vector<PastVersionIx> past;
  std::vector<VersionIx> denied;  // by a rollback rule
  std::vector<EndingIx> endings;  // of attempts that were not successful
  // Its policies as a number that src/policy gave them. Good only while policy_epoch is State's.
  mutable uint32_t policy_set = 0;
  mutable uint32_t policy_epoch = 0;
  uint16_t attempts = 0;
  JobStatus last_status = JobStatus::kPending;
  bool exists = false;   // selectors and links hold now
  bool has_row = false;  // something is stored about it
  bool dirty = false;
};

// A walk over resources that can pause.
struct ResourceWalk {
  std::optional<Roaring> among;  // nullopt: all there are
  uint32_t next = 0;
};

struct IdempotencySlot {
  Digest body;
  int64_t status;
  Uuid subject;
  std::string reply;
  Time created_at;
};

}  // namespace ctrlplane
