// Bracket groups: deployments that run as a unit on each resource. One state machine, and this is it:
//
//   collecting ──window closes, versions locked──▶ ready ──first job admitted──▶ executing ──all done──▶
//   completed
//       │                                           │ ▲                          │   ▲
//       └─ nothing left to do ─▶ cancelled          ▼ │ the one before ended     ▼   │ retry, skip, newer
//       lock
//                                                  queued                        stuck ──▶ failed
//
// A started group has a course: forward; back, when a member failed and a rollback rule says so; or down,
// when only closing hooks are left to run. The two others end as failed.
//
// Groups change only in `advance_brackets`, which is a reconcile step; commands write down what a person
// wants and mark the group. Evaluations read.
#pragma once

#include <optional>
#include <string>

#include "engine/commands.h"
#include "engine/tx.h"
#include "policy/concurrency.h"

namespace ctrlplane {

// Everything there is to do for the groups of the rule on the resource.
void advance_brackets(Tx& tx, RuleId rule, ResourceIx resource);
// For a group: as above, or its end if its resource is gone.
void advance_group(Tx& tx, GroupIx group);
// For a target: its own bracket, and every rule that has a group on its resource.
void advance_brackets_of(Tx& tx, TargetIx target);

Reply act_on_group(Tx& tx, const ActOnGroup& c);

// Has somebody failed whom a retry would start again with this version? A person's force is that.
bool is_failed_lock(const State& state, TargetIx target, VersionIx version);

// An attempt of a job that worked for the group has ended.
void note_member_attempt(Tx& tx, const Job& last, bool successful);

// Why a group that is ready does not start, and whom it waits for; nothing: it may.
struct GroupWait {
  std::string why;
  std::optional<Time> next_at = {};
  std::vector<RuleId> slots = {};  // waits in line for these
  VersionIx version = {};          // of a member: what it waits to run
  LineKey place = {};
};
std::optional<GroupWait> start_blocker(const State& state, Time now, GroupIx group);

// What the target waits for as a member, in words; nothing if no group has it.
std::optional<GroupWait> member_wait(const State& state, Time now, TargetIx target);

}  // namespace ctrlplane
