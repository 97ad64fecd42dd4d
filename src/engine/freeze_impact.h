// What a freeze does to whom: asked when one is made, planned or looked at. Counting a million targets by a
// selector takes a while, so it is done in steps that hold nobody up.
#pragma once

#include <optional>
#include <vector>

#include "model/freeze.h"
#include "state/state.h"

namespace ctrlplane {

// A freeze that need not exist: a row, and its selector compiled.
struct FreezeOutline {
  Freeze row;
  std::optional<Selector> selector;

  static Result<FreezeOutline> of(Freeze row);
  // For that version on that target; without a version as if there were none.
  bool covers(const State& state, TargetIx t, VersionIx v) const;
};

// The jobs that agents have, oldest first: exact at the moment of asking.
std::vector<JobIx> jobs_in_flight_under(const State& state, const FreezeOutline& freeze);

// Bracket groups at work that it would stop half-way: with something left to do that it covers. Oldest first.
struct OpenBracket {
  GroupIx group;
  size_t members_left = 0;  // whether covered or not
};
std::vector<OpenBracket> open_brackets_under(const State& state, const FreezeOutline& freeze);

struct FreezeCount {
  uint64_t targets = 0;
  uint64_t undetermined = 0;  // of these: only a version could tell, or the selector fails
  uint64_t held_jobs = 0;     // made, and not handed to an agent

  // Where the count has come to.
  uint32_t next_target = 0, next_job = 0;
  bool pairs_done = false;
};
// Counts on, for up to `budget` targets and jobs. True: that is all.
bool count_some(const State& state, const FreezeOutline& freeze, FreezeCount& count, size_t budget);

}  // namespace ctrlplane
