// What a route asks of its caller. Each route names one; a refusal names it to the caller.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "model/enums.h"

namespace ctrlplane::api {

struct Permission {
  enum class Where : uint8_t {
    kNobody,     // open to everyone, without a key
    kAnybody,    // any valid key or session
    kInstance,   // administrators of the instance
    kWorkspace,  // by role in the workspace of the path
  };
  Where where = Where::kWorkspace;
  std::string_view name = {};
  uint8_t roles = 0;  // one bit per Role

  constexpr bool allows(Role role) const { return roles >> static_cast<uint8_t>(role) & 1; }
};

namespace permission {

constexpr uint8_t of(std::initializer_list<Role> roles) {
  uint8_t bits = 0;
  for (Role r : roles) bits |= static_cast<uint8_t>(1 << static_cast<uint8_t>(r));
  return bits;
}

inline constexpr uint8_t kAll =
    of({Role::kViewer, Role::kAgent, Role::kDeployer, Role::kOperator, Role::kAdmin});
inline constexpr uint8_t kWorkers = of({Role::kAgent, Role::kOperator, Role::kAdmin});
inline constexpr uint8_t kDeployers = of({Role::kDeployer, Role::kOperator, Role::kAdmin});
inline constexpr uint8_t kOperators = of({Role::kOperator, Role::kAdmin});
inline constexpr uint8_t kAdmins = of({Role::kAdmin});

using Where = Permission::Where;
inline constexpr Permission kPublic{Where::kNobody, "public"};
inline constexpr Permission kSelf{Where::kAnybody, "self"};
inline constexpr Permission kInstanceAdmin{Where::kInstance, "instance.admin"};

inline constexpr Permission kRead{Where::kWorkspace, "workspace.read", kAll};
inline constexpr Permission kWorkspaceWrite{Where::kWorkspace, "workspace.write", kAdmins};
inline constexpr Permission kMembersWrite{Where::kWorkspace, "members.write", kAdmins};
inline constexpr Permission kSystemWrite{Where::kWorkspace, "system.write", kOperators};
inline constexpr Permission kEnvironmentWrite{Where::kWorkspace, "environment.write", kOperators};
inline constexpr Permission kDeploymentWrite{Where::kWorkspace, "deployment.write", kOperators};
inline constexpr Permission kResourceWrite{Where::kWorkspace, "resource.write", kOperators};
inline constexpr Permission kAgentWrite{Where::kWorkspace, "agent.write", kOperators};
inline constexpr Permission kAgentRegister{Where::kWorkspace, "agent.register", kWorkers};
inline constexpr Permission kVersionWrite{Where::kWorkspace, "version.write", kDeployers};
inline constexpr Permission kTargetDeploy{Where::kWorkspace, "target.deploy", kDeployers};
inline constexpr Permission kPolicyWrite{Where::kWorkspace, "policy.write", kOperators};
inline constexpr Permission kPolicySkip{Where::kWorkspace, "policy.skip", kOperators};
inline constexpr Permission kVersionApprove{Where::kWorkspace, "version.approve", kDeployers};
inline constexpr Permission kTargetForce{Where::kWorkspace, "target.force_deploy", kOperators};
inline constexpr Permission kBracketAct{Where::kWorkspace, "bracket.act", kOperators};
inline constexpr Permission kJobCancel{Where::kWorkspace, "job.cancel", kDeployers};
inline constexpr Permission kFreezeRead{Where::kWorkspace, "deployment_freeze.read", kAll};
inline constexpr Permission kFreezeCreate{Where::kWorkspace, "deployment_freeze.create", kDeployers};
inline constexpr Permission kFreezeExtend{Where::kWorkspace, "deployment_freeze.extend", kOperators};
inline constexpr Permission kFreezeThaw{Where::kWorkspace, "deployment_freeze.thaw", kOperators};
inline constexpr Permission kFreezeBypass{Where::kWorkspace, "deployment_freeze.bypass", kAdmins};
// Asked for where a workspace's settings say so.
inline constexpr Permission kVersionScope{Where::kWorkspace, "deployment_version.scope", kOperators};
// What can also be given alone, to a member or to a key.
inline constexpr std::array kGrantable = {kFreezeCreate, kFreezeExtend, kFreezeThaw, kFreezeBypass,
                                          kVersionScope};
inline constexpr Permission kNotifyWrite{Where::kWorkspace, "notification.write", kAdmins};
inline constexpr Permission kJobWork{Where::kWorkspace, "job.work", kWorkers};

}  // namespace permission
}  // namespace ctrlplane::api
