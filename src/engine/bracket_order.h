// Who of a bracket group comes after whom. Pure reading.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/brackets.h"
#include "state/state.h"

namespace ctrlplane {

inline bool takes_part(const MemberSlot& m) { return m.row.participation != Participation::kSkipped; }
inline bool is_hook(const MemberSlot& m) { return m.row.role != MemberRole::kWork; }

// The group that is at work on the target's resource and has its deployment as a member.
GroupIx active_group_of(const State& state, TargetIx target);

// None if the deployment or the environment is gone, or it is no release target any more.
TargetIx target_of(const State& state, const GroupSlot& group, const MemberSlot& member);

// Has the member a job that works for the group?
bool is_running(const State& state, const GroupSlot& group, const MemberSlot& member);

std::string name_of(const State& state, const MemberSlot& member);

// Nothing of the member is to come: it succeeded with its newest lock, a person left it out, or nothing of
// what it depends on is to come and it takes no part itself.
bool is_done(const State& state, Time now, const GroupSlot& group, const MemberSlot& member);

// What it has to wait for, in words; none: it is its turn.
std::optional<std::string> must_wait(const State& state, Time now, const GroupSlot& group,
                                     const MemberSlot& member);

// The same on the way back: those that depend on it go first.
std::optional<std::string> must_wait_to_go_back(const State& state, const GroupSlot& group,
                                                const MemberSlot& member);

// Does it depend on the other, directly or over others?
bool depends_on(const GroupSlot& group, const MemberSlot& member, DeploymentId other);

// Members that wait for each other, as `a → b → a`; none: there is an order.
std::optional<std::string> cycle_of(const State& state, Time now, const GroupSlot& group);

// What dependency rules in force say of the members, whose locked or else current versions they look at.
struct MemberView {
  TargetIx target;
  VersionIx version;
};
std::vector<std::vector<MemberEdge>> edges_among(const State& state, const std::vector<MemberView>& members);

// The same of what the versions themselves need of each other. They make no hooks.
void add_version_edges(const State& state, const std::vector<MemberView>& members,
                       std::vector<std::vector<MemberEdge>>& edges);

// Hooks that nobody named: the first before all others and the last behind all others, if something lies
// between.
std::vector<MemberRole> inferred_roles(const std::vector<DeploymentId>& members,
                                       const std::vector<std::vector<MemberEdge>>& edges);

// What a dependency rule wants from outside the group and is not there, in words.
std::optional<std::string> missing_outside(const State& state, Time now, const GroupSlot& group,
                                           const MemberSlot& member);

}  // namespace ctrlplane
