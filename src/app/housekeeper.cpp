#include "app/housekeeper.h"

#include "base/log.h"

namespace ctrlplane::app {

Housekeeper::Housekeeper(store::Store& store, const Clock& clock, Retention keep,
                         std::function<std::vector<WorkspaceId>()> workspaces)
    : store_(store), clock_(clock), keep_(keep), workspaces_(std::move(workspaces)), thread_([this] {
        run();
      }) {}

Housekeeper::~Housekeeper() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool Housekeeper::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, time, [this] { return stopping_; });
}

void Housekeeper::run() {
  while (pause(kRound)) {
    for (WorkspaceId workspace : workspaces_()) {
      int64_t total = 0;
      while (true) {
        auto gone = prune_history(store_, workspace, clock_.wall(), keep_);
        if (!gone) {
          log::warn("history could not be deleted",
                    {{"workspace", workspace.str()}, {"error", gone.error().message}});
          break;
        }
        total += *gone;
        if (*gone == 0) break;
        if (!pause(kBetweenBatches)) return;
      }
      if (total > 0)
        log::info("old history deleted", {{"workspace", workspace.str()}, {"rows", std::to_string(total)}});
    }
  }
}

}  // namespace ctrlplane::app
