// When something is next due, derived from rows. An entry is only a hint: whoever pops it looks at
// the row again, so an entry that has become stale costs nothing and need not be found and removed.
#pragma once

#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "base/time.h"
#include "base/uuid.h"

namespace ctrlplane {

enum class TimerKind : uint8_t {
  kAgentLease,  // the only kind on uptime
  kJobTimeout,
  kIdempotencyExpiry,
  kSessionExpiry,
  kSkipExpiry,
  kFreezeDue,  // it begins, is about to expire, or expires
  kTargetDue,  // State::target_due
};

template <class Instant>
struct BasicTimer {
  Instant due;
  TimerKind kind;
  Uuid subject;  // the job, key, session, skip or freeze it concerns; a target's is State's own
};

template <class Instant>
class BasicTimers {
 public:
  using Timer = BasicTimer<Instant>;

  void add(Instant due, TimerKind kind, Uuid subject) { heap_.push({due, kind, subject}); }
  // Removes and returns the earliest timer due at `now`.
  std::optional<Timer> pop_due(Instant now) {
    if (heap_.empty() || heap_.top().due > now) return std::nullopt;
    Timer t = heap_.top();
    heap_.pop();
    return t;
  }
  std::optional<Instant> next() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.top().due;
  }
  size_t size() const { return heap_.size(); }

 private:
  struct Later {
    bool operator()(const Timer& a, const Timer& b) const {
      return std::tie(a.due, a.subject, a.kind) > std::tie(b.due, b.subject, b.kind);
    }
  };
  std::priority_queue<Timer, std::vector<Timer>, Later> heap_;
};

using Timers = BasicTimers<Time>;
using LeaseTimers = BasicTimers<Duration>;  // on the process's uptime: see Tx

}  // namespace ctrlplane
