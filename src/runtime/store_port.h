// The store as the loops see it: calls return at once, and the answer is posted to the executor later,
// or never (a lost answer is for the time-outs of whoever runs the store: then it is kInDoubt or
// kUnavailable).
#pragma once

#include <functional>
#include <memory>

#include "state/state.h"
#include "store/store.h"

namespace ctrlplane {

template <class T>
using Callback = std::move_only_function<void(T)>;

struct Loaded {
  store::Owner owner;
  std::unique_ptr<State> state;
};

struct Ownerships {
  std::vector<store::Replica> replicas;
  std::vector<store::Owner> owners;
  bool exclusive = false;  // no other process can be alive on this store
};

class StorePort {
 public:
  virtual ~StorePort() = default;
  virtual void acquire(WorkspaceId workspace, store::ReplicaId replica, store::Token expected,
                       store::Token token, Callback<Result<store::Owner>> done) = 0;
  virtual void load(WorkspaceId workspace, store::Token token, Callback<Result<Loaded>> done) = 0;
  // Like load, of a workspace that need not be ours.
  virtual void snapshot(WorkspaceId workspace, Callback<Result<Loaded>> done) = 0;
  virtual void commit(store::Commit commit, Callback<store::CommitOutcome> done) = 0;
  virtual void read_job(WorkspaceId workspace, JobId job, Callback<Result<std::optional<Job>>> done) = 0;
  // A version by its tag, hot or cold.
  virtual void read_version(WorkspaceId workspace, DeploymentId deployment, std::string tag,
                            Callback<Result<std::optional<Version>>> done) = 0;
  virtual void beat(store::Replica replica, Callback<Status> done) = 0;
  virtual void ownerships(Callback<Result<Ownerships>> done) = 0;
  virtual void release(WorkspaceId workspace, store::Token token, Callback<Status> done) = 0;
  virtual void forget(store::ReplicaId replica, Callback<Status> done) = 0;
};

// The ordinary loader: every hot row folded into a fresh state, derived targets included. Used for the
// loop after `acquire`, and with a null token for long reads off the loop.
Result<Loaded> load_state(store::Store& store, WorkspaceId workspace, std::optional<store::Token> token);
Result<std::optional<Job>> read_job(store::Store& store, WorkspaceId workspace, JobId job);
Result<std::optional<Version>> read_version(store::Store& store, WorkspaceId workspace,
                                            DeploymentId deployment, std::string_view tag);
Result<Ownerships> read_ownerships(store::Store& store);

}  // namespace ctrlplane
