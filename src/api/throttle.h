// Slows down guessing: after a number of tries without success for one name, further ones wait.
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

  // Counts the try: many at once are as many tries.
  bool may_try(std::string_view name, Duration now) {
    std::lock_guard lock(mutex_);
    if (tries_.size() >= kMaxNames) tries_.clear();  // bounded; an attacker gains a few tries
    auto it = tries_.find(name);
    if (it != tries_.end() && now - it->second.since > kWindow) it = (tries_.erase(it), tries_.end());
    if (it == tries_.end()) it = tries_.emplace(std::string(name), Entry{0, now}).first;
    return ++it->second.count <= kFreeTries;
  }
  void succeeded(std::string_view name) {
    std::lock_guard lock(mutex_);
    if (auto it = tries_.find(name); it != tries_.end()) tries_.erase(it);
  }

 private:
  struct Entry {
    int count;
    Duration since;
  };
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> tries_;
};

}  // namespace ctrlplane::api
