// A mutex that serves in the order of arrival: commits that follow each other closely do not keep out
// whoever waits between them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace ctrlplane::store {

class FairMutex {
 public:
  void lock() {
    std::unique_lock hold(mutex_);
    const uint64_t mine = next_++;
    turn_.wait(hold, [&] { return serving_ == mine; });
  }
  void unlock() {
    {
      std::lock_guard hold(mutex_);
      ++serving_;
    }
    turn_.notify_all();
  }

  // How many have asked for it and have not got it yet.
  uint64_t waiting() {
    std::lock_guard hold(mutex_);
    return next_ > serving_ ? next_ - serving_ - 1 : 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  uint64_t next_ = 0, serving_ = 0;
};

}  // namespace ctrlplane::store
