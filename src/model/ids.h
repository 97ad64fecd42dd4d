// One id type per kind of entity.
#pragma once

#include <compare>

#include "base/uuid.h"

namespace ctrlplane {

using WorkspaceId = Id<struct WorkspaceTag>;
using SystemId = Id<struct SystemTag>;
using EnvironmentId = Id<struct EnvironmentTag>;
using DeploymentId = Id<struct DeploymentTag>;
using VersionId = Id<struct VersionTag>;
using ResourceId = Id<struct ResourceTag>;
using ProviderId = Id<struct ProviderTag>;
using AgentId = Id<struct AgentTag>;
using ReleaseId = Id<struct ReleaseTag>;
using JobId = Id<struct JobTag>;
using OutboxId = Id<struct OutboxTag>;
using AuditId = Id<struct AuditTag>;
using UserId = Id<struct UserTag>;
using KeyId = Id<struct KeyTag>;
using SessionId = Id<struct SessionTag>;
using PolicyId = Id<struct PolicyTag>;
using RuleId = Id<struct RuleTag>;
using SkipId = Id<struct SkipTag>;
using FreezeId = Id<struct FreezeTag>;
using FreezeEventId = Id<struct FreezeEventTag>;
using ChannelId = Id<struct ChannelTag>;
using GroupId = Id<struct GroupTag>;  // of a bracket

// The pseudo-workspace that holds workspaces, users, keys and sessions.
inline constexpr WorkspaceId kInstanceWorkspace{};

struct TargetKey {
  ResourceId resource;
  EnvironmentId environment;
  DeploymentId deployment;
  auto operator<=>(const TargetKey&) const = default;

  // `resourceId-environmentId-deploymentId`, as in paths.
  std::string str() const { return resource.str() + "-" + environment.str() + "-" + deployment.str(); }
};

}  // namespace ctrlplane
