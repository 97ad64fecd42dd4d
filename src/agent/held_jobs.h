// The jobs that an agent holds, from the claim to the accepted last report, as its threads share them.
#pragma once

#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/file_descriptor.h"
#include "agent/stop_plan.h"

namespace ctrlplane::agent {

// What other threads tell the one that runs a job's command. Thread safe.
class JobControl {
 public:
  JobControl(std::string id, Duration claimed_at)
      : id_(std::move(id)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), renewed_us_(claimed_at.us) {}

  const std::string& id() const { return id_; }

  // The first reason stays.
  void request_stop(StopReason reason) {
    StopReason none = StopReason::kNone;
    stop_.compare_exchange_strong(none, reason);
    wake();
  }
  StopReason stop_requested() const { return stop_; }

  // A request that renewed the lease left at `sent`, an instant of the boot clock.
  void renew(Duration sent) {
    int64_t known = renewed_us_;
    while (sent.us > known && !renewed_us_.compare_exchange_weak(known, sent.us)) {
    }
  }
  Duration renewed_at() const { return {renewed_us_}; }

  int wake_fd() const { return wake_.get(); }
  void wake() { ::eventfd_write(wake_.get(), 1); }
  void clear_wake() {
    eventfd_t value;
    ::eventfd_read(wake_.get(), &value);
  }

 private:
  std::string id_;
  Fd wake_;
  std::atomic<StopReason> stop_ = StopReason::kNone;
  std::atomic<int64_t> renewed_us_;
};

// Thread safe. A control is shared by its job's thread and whoever is just looking at the list.
class HeldJobs {
 public:
  using List = std::vector<std::shared_ptr<JobControl>>;

  // Null if a job of that id is held already.
  std::shared_ptr<JobControl> add(const std::string& id, Duration claimed_at) {
    std::lock_guard lock(mutex_);
    auto [it, is_new] = jobs_.try_emplace(id);
    if (!is_new) return nullptr;
    return it->second = std::make_shared<JobControl>(id, claimed_at);
  }
  void remove(const std::string& id) {
    std::lock_guard lock(mutex_);
    jobs_.erase(id);
  }
  List list() const {
    std::lock_guard lock(mutex_);
    List all;
    for (const auto& [id, control] : jobs_) all.push_back(control);
    return all;
  }
  size_t size() const {
    std::lock_guard lock(mutex_);
    return jobs_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<JobControl>> jobs_;
};

}  // namespace ctrlplane::agent
