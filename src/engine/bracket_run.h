// The second half of a group's life: from its first job to its end.
#pragma once

#include <string>

#include "engine/bracket_order.h"
#include "engine/tx.h"

namespace ctrlplane {

// One pass over an executing or stuck group: starts whose turn it is, notes who has failed for good, turns
// back, ends. What changed shows in the rows.
void run_group(Tx& tx, GroupId group);

// Locks have come in. Whoever comes behind them and was started, but is with no agent yet, waits again.
void call_back_early(Tx& tx, GroupIx group);

// A group that cannot begin because its members wait for each other is stuck, and holds no slots; once a
// person has left out one of them it is ready again. True: it is stuck.
bool look_at_circle(Tx& tx, GroupIx group);

// When to look at it again, as far as time alone tells.
std::optional<Time> next_look(const State& state, Time now, GroupIx group);

struct GroupEnding {
  GroupStatus status = GroupStatus::kCompleted;
  std::string note = {};
  bool quarantine = false;
  bool rule_out = false;  // also one that has not started keeps its locks from being tried again
  std::optional<GroupId> merged_into = {};
};
void end_group(Tx& tx, GroupId group, const GroupEnding& ending);

// Takes a group that has ended out of memory.
void retire_group(Tx& tx, GroupIx group);
// What the ended group ruled out on its targets may be tried again.
void forgive(Tx& tx, const GroupSlot& group);

}  // namespace ctrlplane
