// What the engine does by itself: brings targets to what they should run, and acts when time is up.
#pragma once

#include "engine/slots.h"
#include "engine/tx.h"

namespace ctrlplane {

// What a target needs, as a pure function of (state, now). Empty for a target at rest, which the background
// audit checks.
struct Plan {
  bool set_desired = false;
  VersionIx version;             // what to desire, if set_desired; none = nothing
  ReleaseId release;             // likewise
  std::vector<JobId> supersede;  // not handed over and no longer wanted
  bool start = false;
  JobCause cause = JobCause::kPolicy;
  VersionIx deny;                  // failed here for good, and a rollback rule says to go back
  std::string waiting_for;         // why it does not start, for people
  std::optional<Time> look_again;  // when time alone may change the plan
  std::optional<NoSlot> no_slot;   // everything else allows it: it waits in line
  bool bracketed = false;          // a bracket decides for it

  bool empty() const { return !set_desired && supersede.empty() && !start && !deny; }
};

Plan plan(const State& state, Time now, TargetIx t);
void reconcile(Tx& tx, TargetIx t);

// One unit of the work that changes have implied: some membership, or one target. False if there is none.
bool work(Tx& tx);
bool has_work(const State& state);

// Timers that are due, at most `limit` of them. True if more are due.
bool run_due_timers(Tx& tx, size_t limit);

// Re-decides a target from scratch that nothing has marked, and its part in lines and groups. What it should
// have been marked for, in words (a defect; it is marked then); empty: nothing.
std::string audit_target(State& state, Time now, TargetIx t);

}  // namespace ctrlplane
