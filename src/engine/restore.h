// A workspace that was put back from a backup. What agents did since the backup is not in it, so nothing that
// was decided before may happen by itself: the workspace is frozen first, and then, in slices, every job that
// has not ended becomes a person's to decide and every message that has not gone out is given up.
#pragma once

#include "base/result.h"
#include "engine/tx.h"

namespace ctrlplane {

inline constexpr std::string_view kRestoreActor = "system:restore";

struct RestorePoint {
  Time backup_of;   // the last commit that the backup has; zero: it has none
  Time now;         // when the restore happens: the time of all its commits
  FreezeId freeze;  // nil: the workspace has yet to be frozen
};

// `last_commit` is the workspace's time. All commits of a restore have the time of its freeze: so one that
// was interrupted, or done before, is known again as long as nothing else was committed since.
RestorePoint restore_point(const State& state, Time last_commit, Time wall);

// The first commit: a freeze of the whole workspace. It lasts until somebody thaws it, or as long as the
// workspace's settings allow.
Result<FreezeId> freeze_restored(Tx& tx, const RestorePoint& point);

struct RestoreStep {
  size_t versions = 0;  // bypassed every freeze, and do not bypass this one
  size_t jobs = 0;
  size_t messages = 0;
  bool done() const { return versions + jobs + messages == 0; }
};

// Some of the rest, at most `max_rows` rows: until there is nothing left to do.
RestoreStep forget_some_intentions(Tx& tx, const RestorePoint& point, size_t max_rows);

// Jobs that wait for a person's word.
size_t jobs_to_decide(const State& state);

}  // namespace ctrlplane
