// A store called in place, its answers posted: for tests and tools without threads.
#pragma once

#include "runtime/executor.h"
#include "runtime/store_port.h"

namespace ctrlplane {

class InlineStorePort final : public StorePort {
 public:
  InlineStorePort(store::Store& store, Executor& executor) : store_(store), executor_(executor) {}

  void acquire(WorkspaceId w, store::ReplicaId r, store::Token expected, store::Token token,
               Callback<Result<store::Owner>> done) override {
    answer(std::move(done), store_.acquire(w, r, expected, token));
  }
  void load(WorkspaceId w, store::Token token, Callback<Result<Loaded>> done) override {
    answer(std::move(done), load_state(store_, w, token));
  }
  void snapshot(WorkspaceId w, Callback<Result<Loaded>> done) override {
    answer(std::move(done), load_state(store_, w, {}));
  }
  void commit(store::Commit c, Callback<store::CommitOutcome> done) override {
    answer(std::move(done), store_.commit(std::span(&c, 1)).front());
  }
  void read_job(WorkspaceId w, JobId job, Callback<Result<std::optional<Job>>> done) override {
    answer(std::move(done), ctrlplane::read_job(store_, w, job));
  }
  void read_version(WorkspaceId w, DeploymentId d, std::string tag,
                    Callback<Result<std::optional<Version>>> done) override {
    answer(std::move(done), ctrlplane::read_version(store_, w, d, tag));
  }
  void beat(store::Replica r, Callback<Status> done) override { answer(std::move(done), store_.beat(r)); }
  void ownerships(Callback<Result<Ownerships>> done) override {
    answer(std::move(done), read_ownerships(store_));
  }
  void release(WorkspaceId w, store::Token token, Callback<Status> done) override {
    answer(std::move(done), store_.release(w, token));
  }
  void forget(store::ReplicaId r, Callback<Status> done) override {
    answer(std::move(done), store_.forget(r));
  }

 private:
  template <class T>
  void answer(Callback<T> done, T value) {
    executor_.post([done = std::move(done), value = std::move(value)]() mutable { done(std::move(value)); });
  }
  store::Store& store_;
  Executor& executor_;
};

}  // namespace ctrlplane
