#include "api/work_pool.h"

namespace ctrlplane::api {

WorkPool::WorkPool(size_t threads, size_t bound) : bound_(bound) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

WorkPool::~WorkPool() { stop(); }

void WorkPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

bool WorkPool::post(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || tasks_.size() >= bound_) return false;
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

size_t WorkPool::waiting() const {
  std::lock_guard lock(mutex_);
  return tasks_.size();
}

void WorkPool::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace ctrlplane::api
