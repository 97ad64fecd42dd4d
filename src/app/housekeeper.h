// Deletes history that is older than the settings say, now and then, in small batches, on a thread of its
// own.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "runtime/retention.h"

namespace ctrlplane::app {

class Housekeeper {
 public:
  Housekeeper(store::Store& store, const Clock& clock, Retention keep,
              std::function<std::vector<WorkspaceId>()> workspaces);
  // Returns after the batch under way.
  ~Housekeeper();

 private:
  static constexpr auto kRound = std::chrono::minutes(30);
  static constexpr auto kBetweenBatches = std::chrono::milliseconds(200);  // leaves the disk to others
  void run();
  bool pause(std::chrono::milliseconds time);  // false: the end

  store::Store& store_;
  const Clock& clock_;
  const Retention keep_;
  std::function<std::vector<WorkspaceId>()> workspaces_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ctrlplane::app
