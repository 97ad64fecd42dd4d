// The stream of a workspace's commits, over broken lines and restarts.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/failure.h"
#include "cli/settings.h"
#include "cli/sse.h"
#include "net/client.h"

namespace ctrlplane::cli {

class EventReader {
 public:
  struct Handlers {
    std::function<bool(const StreamEvent&)> on_event;  // false: enough
    // The stream has begun. `resumed`: behind the last event, so that nothing is missing.
    std::function<void(bool resumed)> on_connect = [](bool) {};
    // It ended, or could not be had again; `times` in a row. Waits before the next attempt; false: enough.
    std::function<bool(int times)> on_lost;
  };

  EventReader(const Settings& settings, const std::string& workspace_path);

  // Ends without a failure only when a handler has enough. Unreachable from the start, or refused: a failure.
  Outcome<void> run(const Handlers& handlers);
  // From another thread; the next on_lost should say that it is enough.
  void interrupt() { http_.interrupt(); }

 private:
  net::ClientRequest request() const;

  const Settings& settings_;
  std::string url_, last_id_;
  net::HttpClient http_;
};

// Hears of commits on a thread of its own, so that whoever looks at the workspace knows when to look again.
class Changes {
 public:
  // `settings` must outlive it.
  Changes(const Settings& settings, const std::string& workspace_path);
  ~Changes();

  // True as soon as something may have changed since the last call; false after `at_most`, or at once where
  // the stream has been refused.
  bool wait(Duration at_most);
  // Why there is no stream.
  std::optional<Failure> failure();

 private:
  void run();
  bool wait_to_try_again(int times);

  EventReader reader_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool changed_ = false, stopping_ = false;
  std::optional<Failure> failure_;
  std::thread thread_;
};

}  // namespace ctrlplane::cli
