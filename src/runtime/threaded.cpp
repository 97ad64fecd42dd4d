#include "runtime/threaded.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

namespace ctrlplane {

// ---- Executor ------------------------------------------------------------------------------------------

ThreadExecutor::ThreadExecutor(const Clock& clock) : clock_(clock), thread_([this] { run(); }) {}

ThreadExecutor::~ThreadExecutor() { stop(); }

void ThreadExecutor::stop() {
  std::deque<Task> ready;
  std::priority_queue<Timer> timers;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  std::lock_guard lock(mutex_);
  ready.swap(ready_);  // destroyed after the lock is gone: what they hold may post again
  timers.swap(timers_);
}

void ThreadExecutor::post(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    ready_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void ThreadExecutor::post_after(Duration delay, Task task) {
  if (delay.us <= 0) return post(std::move(task));
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    timers_.push({clock_.boot() + delay, next_++, std::make_shared<Task>(std::move(task))});
  }
  wake_.notify_one();
}

void ThreadExecutor::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    while (!timers_.empty() && timers_.top().due <= clock_.boot()) {
      ready_.push_back(std::move(*timers_.top().task));
      timers_.pop();
    }
    if (ready_.empty()) {
      if (timers_.empty())
        wake_.wait(lock);
      else
        wake_.wait_for(
            lock, std::chrono::microseconds(std::max<int64_t>((timers_.top().due - clock_.boot()).us, 1)));
      continue;
    }
    Task task = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

// ---- Store port ----------------------------------------------------------------------------------------

ThreadStorePort::Worker::Worker() : thread_([this] { run(); }) {}

ThreadStorePort::Worker::~Worker() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void ThreadStorePort::Worker::post(Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void ThreadStorePort::Worker::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (tasks_.empty()) {
      wake_.wait(lock);
      continue;
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

ThreadStorePort::ThreadStorePort(store::Store& store, Executor& executor)
    : store_(store), executor_(executor) {}
ThreadStorePort::~ThreadStorePort() = default;

template <class T>
void ThreadStorePort::answer(Callback<T> done, T value) {
  executor_.post([done = std::move(done), value = std::move(value)]() mutable { done(std::move(value)); });
}

void ThreadStorePort::acquire(WorkspaceId w, store::ReplicaId r, store::Token expected, store::Token token,
                              Callback<Result<store::Owner>> done) {
  reads_.post([this, w, r, expected, token, done = std::move(done)]() mutable {
    answer(std::move(done), store_.acquire(w, r, expected, token));
  });
}

void ThreadStorePort::load(WorkspaceId w, store::Token token, Callback<Result<Loaded>> done) {
  reads_.post([this, w, token, done = std::move(done)]() mutable {
    answer(std::move(done), load_state(store_, w, token));
  });
}

void ThreadStorePort::snapshot(WorkspaceId w, Callback<Result<Loaded>> done) {
  looks_.post(
      [this, w, done = std::move(done)]() mutable { answer(std::move(done), load_state(store_, w, {})); });
}

void ThreadStorePort::commit(store::Commit c, Callback<store::CommitOutcome> done) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(c), std::move(done)});
  }
  commits_.post([this] { run_commits(); });
}

// What has gathered while the last commit was made durable goes together.
void ThreadStorePort::run_commits() {
  std::vector<Waiting> batch;
  {
    std::lock_guard lock(mutex_);
    // One commit a workspace in a call; a second one (its loop has acquired again meanwhile) waits its turn.
    std::set<WorkspaceId> taken;
    auto later = std::stable_partition(waiting_.begin(), waiting_.end(), [&](const Waiting& w) {
      return taken.insert(w.commit.workspace).second;
    });
    std::move(waiting_.begin(), later, std::back_inserter(batch));
    waiting_.erase(waiting_.begin(), later);
  }
  if (batch.empty()) return;
  std::vector<store::Commit> commits;
  for (Waiting& w : batch) commits.push_back(std::move(w.commit));
  std::vector<store::CommitOutcome> outcomes = store_.commit(commits);
  for (size_t i = 0; i < batch.size(); ++i) answer(std::move(batch[i].done), outcomes[i]);
}

void ThreadStorePort::read_job(WorkspaceId w, JobId job, Callback<Result<std::optional<Job>>> done) {
  reads_.post([this, w, job, done = std::move(done)]() mutable {
    answer(std::move(done), ctrlplane::read_job(store_, w, job));
  });
}

void ThreadStorePort::read_version(WorkspaceId w, DeploymentId d, std::string tag,
                                   Callback<Result<std::optional<Version>>> done) {
  reads_.post([this, w, d, tag = std::move(tag), done = std::move(done)]() mutable {
    answer(std::move(done), ctrlplane::read_version(store_, w, d, tag));
  });
}

void ThreadStorePort::beat(store::Replica r, Callback<Status> done) {
  beats_.post([this, r = std::move(r), done = std::move(done)]() mutable {
    answer(std::move(done), store_.beat(r));
  });
}

void ThreadStorePort::ownerships(Callback<Result<Ownerships>> done) {
  looks_.post([this, done = std::move(done)]() mutable { answer(std::move(done), read_ownerships(store_)); });
}

void ThreadStorePort::release(WorkspaceId w, store::Token token, Callback<Status> done) {
  looks_.post([this, w, token, done = std::move(done)]() mutable {
    answer(std::move(done), store_.release(w, token));
  });
}

void ThreadStorePort::forget(store::ReplicaId r, Callback<Status> done) {
  // Behind the last beat, which would bring the row back.
  beats_.post([this, r, done = std::move(done)]() mutable { answer(std::move(done), store_.forget(r)); });
}

}  // namespace ctrlplane
