#include "verbs.h"

namespace ctrlplane::scenario {

// `at day 2 09:00`
Output at_instant(Call& call) {
  Duration to = TRY(call.words.instant());
  if (to < call.world.since_start()) return mistake("that was before");
  call.world.pass(to - call.world.since_start());
  return "";
}

// `after 5m`
Output after(Call& call) {
  call.world.pass(TRY(call.words.duration()));
  return "";
}

// `clock steps -1h`: the wall clock alone; time itself goes on as before.
Output step_clock(Call& call) {
  TRY(call.words.must("steps"));
  call.world.step_clock(TRY(call.words.duration()));
  return "";
}

// The owner dies; another one opens the store, acquires and loads.
Output restart(Call& call) {
  call.world.restart();
  return "";
}

// `lose the next commit`, `lose the answer of the next commit`
Output lose(Call& call) {
  if (call.words.take("the next commit"))
    call.world.fail_next_commit(store::Fault::kLost);
  else if (call.words.take("the answer of the next commit"))
    call.world.fail_next_commit(store::Fault::kUnanswered);
  else
    return mistake("lose the next commit, or the answer of the next commit");
  return "";
}

// `delay the next commit`: on its way until `land the delayed commit`.
Output delay(Call& call) {
  TRY(call.words.must("the next commit"));
  call.world.fail_next_commit(store::Fault::kLate);
  return "";
}

Output land(Call& call) {
  TRY(call.words.must("the delayed commit"));
  return call.world.land_late_commit() == store::CommitOutcome::kFenced ? "fenced\n" : "applied\n";
}

}  // namespace ctrlplane::scenario
