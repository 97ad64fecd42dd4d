// Executors on virtual time: the same loops, driven by a scheduler that a test or the simulator owns.
// Several executors on one VirtualTime are several processes on one timeline; each has its own wall
// clock, and can be stopped, continued and killed.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/executor.h"

namespace ctrlplane {

class VirtualTime {
 public:
  Duration now() const { return now_; }
  void at(Duration when, Task task) {
    events_.push({std::max(when, now_), next_++, std::make_shared<Task>(std::move(task))});
  }
  void after(Duration delay, Task task) { at(now_ + std::max(delay, Duration{0}), std::move(task)); }

  // Runs the next event, moving time to it; false if there is none up to `until`.
  bool step(Duration until) {
    if (events_.empty() || events_.top().when > until) return false;
    Event e = events_.top();
    events_.pop();
    now_ = e.when;
    (*e.task)();
    return true;
  }
  // Everything up to `until`; time is there afterwards.
  void run_until(Duration until) {
    while (step(until)) {
    }
    now_ = std::max(now_, until);
  }
  size_t pending() const { return events_.size(); }

 private:
  struct Event {
    Duration when;
    uint64_t order;
    std::shared_ptr<Task> task;
    bool operator<(const Event& o) const { return std::tie(when, order) > std::tie(o.when, o.order); }
  };
  Duration now_;
  uint64_t next_ = 0;
  std::priority_queue<Event> events_;
};

class VirtualExecutor final : public Executor {
 public:
  VirtualExecutor(VirtualTime& time, Time wall_at_zero) : time_(time), clock_(time, wall_at_zero) {}
  ~VirtualExecutor() override { *alive_ = false; }

  void post(Task task) override { post_after({0}, std::move(task)); }
  void post_after(Duration delay, Task task) override {
    time_.after(delay, [this, alive = alive_, task = std::move(task)]() mutable {
      if (*alive) run(std::move(task));
    });
  }
  const Clock& clock() const override { return clock_; }

  // SIGSTOP and SIGCONT: while stopped nothing runs; what came due runs when it continues.
  void stop() { stopped_ = true; }
  void resume() {
    stopped_ = false;
    for (Task& task : std::exchange(held_, {})) post(std::move(task));
  }
  bool stopped() const { return stopped_; }
  void step_wall(Duration by) { clock_.offset = clock_.offset + by; }

 private:
  struct VirtualClock final : Clock {
    VirtualClock(VirtualTime& t, Time zero) : time(t), zero(zero) {}
    Time wall() const override { return zero + time.now() + offset; }
    Duration boot() const override { return time.now(); }
    VirtualTime& time;
    Time zero;
    Duration offset;
  };
  void run(Task task) {
    if (stopped_)
      held_.push_back(std::move(task));
    else
      task();
  }
  VirtualTime& time_;
  VirtualClock clock_;
  bool stopped_ = false;
  std::deque<Task> held_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ctrlplane
