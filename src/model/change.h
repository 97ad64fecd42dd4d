// What a command does to a workspace: upserts and deletes of whole rows. State is the fold of them,
// and a commit is a list of them; nothing else passes between deciding and storing.
#pragma once

#include <variant>
#include <vector>

#include "model/bracket.h"
#include "model/entities.h"
#include "model/freeze.h"
#include "model/notification.h"
#include "model/policy.h"

namespace ctrlplane {

// In the order a load needs them: what a row refers to comes before it.
using Entity =
    std::variant<Workspace, User, ApiKey, Session, Member, System, Environment, Deployment, SystemDeployment,
                 SystemEnvironment, Policy, Version, Provider, Resource, Approval, PolicySkip,
                 VersionDependency, Setting, NotificationChannel, Freeze, FreezeEvent, BracketGroup,
                 BracketMember, ConcurrencySlot, Quarantine, JobAgent, Release, TargetState, Job, ContextPart,
                 OutboxItem, IdempotencyRecord, AuditEntry>;

struct Change {
  enum class Op : uint8_t { kPut, kErase };
  Op op = Op::kPut;
  Entity entity;  // for kErase only the key members count

  static Change put(Entity e) { return {Op::kPut, std::move(e)}; }
  static Change erase(Entity e) { return {Op::kErase, std::move(e)}; }
  bool operator==(const Change&) const = default;
};

using Changes = std::vector<Change>;

}  // namespace ctrlplane
