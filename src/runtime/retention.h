// How long history is kept. Deletes in small batches beside the loop: only rows that are not in memory and
// that no decision reads. The output of a job goes with it, and context parts go when no job is left that
// refers to them.
#pragma once

#include "store/store.h"

namespace ctrlplane {

struct Retention {
  Duration jobs = hours(24 * 90);
  Duration audit = hours(24 * 400);
  Duration outbox = hours(24 * 30);
  int64_t rows_per_batch = 500;
};

// One batch of each kind. Returns how many rows went: call again soon while it is not 0.
Result<int64_t> prune_history(store::Store& store, WorkspaceId workspace, Time now, const Retention& keep);

}  // namespace ctrlplane
