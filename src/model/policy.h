// Policies and what people say about them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/enums.h"
#include "model/ids.h"
#include "model/json.h"
#include "model/metadata.h"

namespace ctrlplane {

// One rule of a policy. `body` is its own object as it was sent: it is shown again exactly so.
struct PolicyRule {
  RuleId id;
  Time created_at;   // ours: gates count from it, and an edit of the rule does not move it
  std::string type;  // a name in policy/registry.cpp
  Json body;
  std::string shown_created_at;  // what the client sent as createdAt, if it did
  bool operator==(const PolicyRule&) const = default;
};

struct Policy {
  PolicyId id;
  std::string name;
  std::string description;
  std::string selector;  // CEL over deployment, environment, resource
  int64_t priority = 0;
  bool enabled = true;
  Metadata metadata;
  std::vector<PolicyRule> rules;
  Time created_at;
  bool operator==(const Policy&) const = default;
};

// One person's word on a version in an environment. The last one counts.
struct Approval {
  VersionId version;
  EnvironmentId environment;
  std::string actor;
  ApprovalStatus status = ApprovalStatus::kApproved;
  std::optional<Role> role;  // the actor's, at that time
  std::string reason;
  Time at;
  bool operator==(const Approval&) const = default;
};

// The rule counts as allowed for the version there, until it expires.
struct PolicySkip {
  SkipId id;
  RuleId rule;
  VersionId version;
  std::optional<EnvironmentId> environment;  // unset: everywhere
  std::optional<ResourceId> resource;
  std::optional<Time> expires_at;
  std::string reason;
  std::string created_by;
  Time created_at;
  bool operator==(const PolicySkip&) const = default;
};

// The other deployment's current version on the same resource must match.
struct VersionDependency {
  VersionId version;
  DeploymentId on;
  std::string selector;  // CEL over version
  bool operator==(const VersionDependency&) const = default;
};

// The rules as one JSON array, and back. Nothing: `text` is not what rules_json writes.
std::string rules_json(const std::vector<PolicyRule>& rules);
std::optional<std::vector<PolicyRule>> parse_rules(std::string_view text);

}  // namespace ctrlplane
