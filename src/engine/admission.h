// The only way a job starts. Every path (automatic, redeploy, retry, force, rollback) ends in `start`, which
// checks everything again in the same serial step that records the job: a check made earlier is advice, this
// one counts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/slots.h"
#include "engine/tx.h"

namespace ctrlplane {

struct StartRequest {
  TargetIx target;
  VersionIx version;
  ReleaseId release;
  JobCause cause = JobCause::kPolicy;
  GroupIx group = {};      // the bracket group that it works for
  bool new_chain = false;  // attempts are counted from here
};

struct Refusal {
  std::string why;                     // in words for people
  std::optional<Time> next_at = {};    // when time alone may change it
  bool attempts_used_up = false;       // for good: a rollback rule may act on it
  FreezeIx frozen_by = {};             // its end wakes the target
  std::optional<NoSlot> no_slot = {};  // it waits in line
};

// Why a start is refused now; nullopt if it may start. `row` is the target's row as the caller is about to
// write it.
std::optional<Refusal> refusal(const State& state, Time now, const StartRequest& request,
                               const TargetState& row);

// The same if nothing were frozen: for whoever may lift that.
std::optional<Refusal> refusal_but_for_freezes(const State& state, Time now, const StartRequest& request,
                                               const TargetState& row);

// Creates the release and one job per matching agent, and writes `row` with them, or refuses with
// kConflict (kFrozen: a freeze forbids it) and changes nothing.
Result<std::vector<JobId>> start(Tx& tx, const StartRequest& request, TargetState row);

// What a person started and a freeze stopped waits for an agent again, as what it was; nothing if it is not
// wanted any more. Whether it may go is for the hand-over to say.
void hold_again(Tx& tx, TargetIx target, const Job& stopped);

}  // namespace ctrlplane
