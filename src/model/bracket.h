// Brackets and slots: deployments that run as a unit on each resource, and who may be disrupted at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/enums.h"
#include "model/ids.h"
#include "model/json.h"

namespace ctrlplane {

// The versions that run together on one resource, once.
struct BracketGroup {
  GroupId id;
  RuleId rule;
  ResourceId resource;
  EnvironmentId environment;
  GroupStatus status = GroupStatus::kCollecting;
  Time collection_started_at;
  Time collection_ends_at;
  std::optional<Time> ready_at;  // its window closed and versions were locked
  std::optional<Time> started_at;
  std::optional<Time> finished_at;
  Time created_at;
  // ---- Ours ------------------------------------------------------------------------------------------
  Json terms;  // the rule's body as it was when the window closed
  GroupCourse course = GroupCourse::kForward;
  std::optional<Time> stuck_since;
  std::optional<Time> handed_over_at;  // the first of its jobs went to an agent
  std::string closed_by;               // who asked to close its window early
  std::string finish_by;               // who lets it run to its end under freezes
  std::string note;                    // what it is stuck on, or how it ended
  std::optional<GroupId> merged_into;
  bool retired = false;  // ended, and nothing depends on it: kept in SQL, not in memory
  bool operator==(const BracketGroup&) const = default;

  bool ended() const { return finished_at.has_value(); }
  bool started() const { return started_at.has_value(); }
  bool active() const { return status == GroupStatus::kExecuting || status == GroupStatus::kStuck; }
};

// One member must wait for another, because a dependency rule says so.
struct MemberEdge {
  RuleId rule;
  DeploymentId on;
  bool operator==(const MemberEdge&) const = default;
};

struct BracketMember {
  GroupId group;
  DeploymentId deployment;
  MemberRole role = MemberRole::kWork;
  Participation participation = Participation::kSkipped;
  MemberOutcome outcome = MemberOutcome::kWaiting;
  std::optional<VersionId> version;  // the lock
  std::optional<Time> locked_at;
  std::optional<VersionId> next_version;  // a newer lock that waits for the next round
  std::optional<VersionId> previous;      // what ran before its first start in the group
  int64_t attempts = 0;                   // starts in the group
  std::optional<JobId> last_job;
  std::optional<Time> started_at;
  std::optional<Time> finished_at;
  std::vector<MemberEdge> depends_on;
  bool retired = false;  // with its group
  bool operator==(const BracketMember&) const = default;
};

// A resource's permission to be disrupted under a concurrency rule.
struct ConcurrencySlot {
  RuleId rule;
  ResourceId resource;
  std::optional<GroupId> group;
  Time since;
  bool operator==(const ConcurrencySlot&) const = default;
};

// No group starts on the resource until a person has looked at it.
struct Quarantine {
  RuleId rule;
  ResourceId resource;
  GroupId group;
  Time since;
  std::string cleared_by;
  std::optional<Time> cleared_at;
  bool operator==(const Quarantine&) const = default;
};

}  // namespace ctrlplane
