// The production side of Executor and StorePort: a thread each.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "runtime/executor.h"
#include "runtime/store_port.h"

namespace ctrlplane {

// Runs tasks on one thread of its own. post and post_after may be called from any thread.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(const Clock& clock);
  ~ThreadExecutor() override;
  // Runs nothing more; returns when the running task is done, and drops those that wait. Not from a task.
  void stop();

  void post(Task task) override;
  void post_after(Duration delay, Task task) override;
  const Clock& clock() const override { return clock_; }

 private:
  struct Timer {
    Duration due;
    uint64_t order;
    std::shared_ptr<Task> task;
    bool operator<(const Timer& o) const { return std::tie(due, order) > std::tie(o.due, o.order); }
  };
  void run();

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> ready_;
  std::priority_queue<Timer> timers_;
  uint64_t next_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

// A blocking Store behind threads: commits of the moment go together in one call; loads and look-ups have
// their own thread, so has the look at who owns what, and so have beats, which must never wait behind
// anything.
class ThreadStorePort final : public StorePort {
 public:
  // Answers are posted to `executor`, which must outlive this.
  ThreadStorePort(store::Store& store, Executor& executor);
  ~ThreadStorePort() override;

  void acquire(WorkspaceId w, store::ReplicaId r, store::Token expected, store::Token token,
               Callback<Result<store::Owner>> done) override;
  void load(WorkspaceId w, store::Token token, Callback<Result<Loaded>> done) override;
  void snapshot(WorkspaceId w, Callback<Result<Loaded>> done) override;
  void commit(store::Commit c, Callback<store::CommitOutcome> done) override;
  void read_job(WorkspaceId w, JobId job, Callback<Result<std::optional<Job>>> done) override;
  void read_version(WorkspaceId w, DeploymentId d, std::string tag,
                    Callback<Result<std::optional<Version>>> done) override;
  void beat(store::Replica r, Callback<Status> done) override;
  void ownerships(Callback<Result<Ownerships>> done) override;
  void release(WorkspaceId w, store::Token token, Callback<Status> done) override;
  void forget(store::ReplicaId r, Callback<Status> done) override;

 private:
  // A thread with a queue.
  class Worker {
   public:
    Worker();
    ~Worker();
    void post(Task task);

   private:
    void run();
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Task> tasks_;
    bool stopping_ = false;
    std::thread thread_;
  };
  struct Waiting {
    store::Commit commit;
    Callback<store::CommitOutcome> done;
  };

  template <class T>
  void answer(Callback<T> done, T value);
  void run_commits();

  store::Store& store_;
  Executor& executor_;
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
  Worker commits_, reads_, beats_, looks_;
};

}  // namespace ctrlplane
