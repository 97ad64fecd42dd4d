// A few threads for what may take long: large bodies, passwords, reads from the store. Bounded: when the
// queue is full the caller is told so at once.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ctrlplane::api {

class WorkPool {
 public:
  using Task = std::move_only_function<void()>;

  WorkPool(size_t threads, size_t bound);
  // Runs what was accepted, then ends.
  ~WorkPool();

  // Runs what was accepted, then takes nothing more.
  void stop();

  // False: too much is waiting, or it has stopped.
  bool post(Task task);
  size_t waiting() const;

 private:
  void run();

  const size_t bound_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ctrlplane::api
