// What has become durable, in order. Listeners are called on the executor: `committed` after the commit
// and before its replies leave, `loaded` when the workspace's state is in memory (again), `lost` when it
// has gone to another owner.
#pragma once

#include "model/change.h"

namespace ctrlplane {

class WorkspaceLoop;

class FeedListener {
 public:
  virtual ~FeedListener() = default;
  virtual void loaded(WorkspaceLoop&) {}
  virtual void committed(WorkspaceId workspace, int64_t seq, Time now, const Changes& changes) = 0;
  virtual void lost(WorkspaceLoop&) {}
};

}  // namespace ctrlplane
