// Waiting for something to become true, or for an instant of the boot clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace ctrlplane::agent {

class Bell {
 public:
  // The clock is looked at every `tick`: it goes on while the machine sleeps, which wakes nobody.
  Bell(const Clock& clock, Duration tick) : clock_(clock), tick_(tick) {}

  // To be called after each change that somebody may wait for, with no lock held that a condition takes.
  void ring() {
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  // True as soon as `condition` is; false if it is not when the clock reaches `deadline`.
  template <class Condition>
  bool wait_until(Duration deadline, Condition condition) {
    std::unique_lock lock(mutex_);
    while (!condition()) {
      Duration left = deadline - clock_.boot();
      if (left.us <= 0) return false;
      changed_.wait_for(lock, std::chrono::microseconds(std::min(left, tick_).us));
    }
    return true;
  }
  template <class Condition>
  bool wait_for(Duration at_most, Condition condition) {
    return wait_until(clock_.boot() + at_most, std::move(condition));
  }
  template <class Condition>
  void wait(Condition condition) {
    while (!wait_for(hours(24), condition)) {
    }
  }

 private:
  const Clock& clock_;
  Duration tick_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace ctrlplane::agent
