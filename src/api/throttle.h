// Slows down guessing: after a number of failures for one name, further tries wait.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/time.h"

namespace ctrlplane::api {

class Throttle {
 public:
  static constexpr int kFreeTries = 10;
  static constexpr Duration kWindow = minutes(15);
  static constexpr size_t kMaxNames = 10'000;

  bool may_try(std::string_view name, Duration now) {
    std::lock_guard lock(mutex_);
    auto it = failures_.find(name);
    if (it != failures_.end() && now - it->second.since > kWindow) {
      failures_.erase(it);
      return true;
    }
    return it == failures_.end() || it->second.count < kFreeTries;
  }
  void failed(std::string_view name, Duration now) {
    std::lock_guard lock(mutex_);
    if (failures_.size() >= kMaxNames) failures_.clear();  // bounded; an attacker gains a few tries
    auto [it, fresh] = failures_.try_emplace(std::string(name), Entry{0, now});
    ++it->second.count;
  }
  void succeeded(std::string_view name) {
    std::lock_guard lock(mutex_);
    if (auto it = failures_.find(name); it != failures_.end()) failures_.erase(it);
  }

 private:
  struct Entry {
    int count;
    Duration since;
  };
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> failures_;
};

}  // namespace ctrlplane::api
