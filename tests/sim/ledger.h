// What a workspace's committed rows say, one change after the other: a job is judged by the rows as they
// were when it was decided, also where its commit changed them before or after.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "model/change.h"
#include "sim/expression.h"

namespace ctrlplane::sim {

struct Ledger {
  std::map<SystemId, System> systems;
  std::map<EnvironmentId, Environment> environments;
  std::map<DeploymentId, Deployment> deployments;
  std::set<std::pair<SystemId, EnvironmentId>> environments_of;
  std::set<std::pair<SystemId, DeploymentId>> deployments_of;
  std::map<PolicyId, Policy> policies;
  std::map<VersionId, Version> versions;
  std::map<ResourceId, Resource> resources;
  std::map<std::tuple<VersionId, EnvironmentId, std::string>, Approval> approvals;
  std::map<SkipId, PolicySkip> skips;
  std::map<std::pair<VersionId, DeploymentId>, VersionDependency> dependencies;
  std::map<TargetKey, TargetState> targets;
  std::map<FreezeId, Freeze> freezes;
  std::map<GroupId, BracketGroup> groups;
  std::map<std::pair<GroupId, DeploymentId>, BracketMember> members;
  std::map<std::pair<RuleId, ResourceId>, ConcurrencySlot> slots;
  std::map<std::pair<RuleId, ResourceId>, Quarantine> quarantines;  // not cleared

  void apply(const Change& change);

  // From scratch: both selectors match the resource, and a system holds both.
  bool exists(const TargetKey& key) const;
  std::vector<TargetKey> targets_in(DeploymentId deployment, EnvironmentId environment) const;
  // Does the version exist for the target?
  bool is_for(const Version& version, const TargetKey& key) const;
  // Those that it is for.
  std::vector<TargetKey> targets_in(DeploymentId deployment, EnvironmentId environment,
                                    const Version& version) const;
  bool share_a_system(DeploymentId deployment, EnvironmentId environment) const;
  // A system that has the deployment has both environments.
  bool are_beside(DeploymentId deployment, EnvironmentId a, EnvironmentId b) const;
  // Null where there is none.
  const TargetState* row_of(const TargetKey& key) const;
  const Version* current_of(const TargetKey& key) const;
  Facts facts_of(const TargetKey& key, const Version* version) const;
};

bool is_newer(const Version& a, const Version& b);
bool ran_before(const TargetState& row, VersionId version);

}  // namespace ctrlplane::sim
