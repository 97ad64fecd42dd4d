// When a running command is asked to stop, and when it is made to. Pure.
#pragma once

#include <algorithm>

#include "agent/lease.h"

namespace ctrlplane::agent {

enum class StopReason {
  kNone,
  kServer,  // the server said so
  kAgent,   // the agent is being stopped
  kLost,    // the lease is about to end
};

class StopPlan {
 public:
  enum class Act { kNothing, kTerminate, kKill };

  // `fenced`: the command must not outlive its lease.
  StopPlan(Duration grace, bool fenced) : grace_(grace), fenced_(fenced) {}

  // What is to be done to the command now. The first reason to stop stays the reason.
  Act next(Duration now, StopReason requested, LeaseEnd lease) {
    if (killed_) return Act::kNothing;
    bool was_running = reason_ == StopReason::kNone;
    if (was_running && requested != StopReason::kNone) stop(requested, now + grace_);
    if (was_running && fenced_ && reason_ == StopReason::kNone && now >= lease.term_at)
      stop(StopReason::kLost, lease.kill_at);
    if (reason_ == StopReason::kNone) return Act::kNothing;
    if (fenced_) kill_at_ = std::min(kill_at_, lease.kill_at);
    killed_ = now >= kill_at_;
    if (killed_) return Act::kKill;
    return was_running ? Act::kTerminate : Act::kNothing;
  }

  // How long `next` has nothing to say by itself.
  Duration quiet_for(Duration now, LeaseEnd lease) const {
    constexpr Duration kLong = minutes(1);
    if (killed_) return kLong;
    if (reason_ != StopReason::kNone) return std::clamp(kill_at_ - now, Duration{}, kLong);
    return fenced_ ? std::clamp(lease.term_at - now, Duration{}, kLong) : kLong;
  }

  StopReason reason() const { return reason_; }

 private:
  void stop(StopReason reason, Duration kill_at) {
    reason_ = reason;
    kill_at_ = kill_at;
  }

  Duration grace_;
  bool fenced_;
  StopReason reason_ = StopReason::kNone;
  Duration kill_at_ = {};
  bool killed_ = false;
};

}  // namespace ctrlplane::agent
