// The way to the database: requests and answers travel, get lost, come late. A request that is on its way
// arrives even if its sender has died; one that comes after its sender gave up is judged by the fence.
#pragma once

#include <memory>

#include "runtime/store_port.h"
#include "runtime/virtual_time.h"
#include "sim/fault_counts.h"
#include "sim/rng.h"
#include "store/sim/sim_store.h"

namespace ctrlplane::sim {

struct StoreWeather {
  double lose_request = 0;
  double lose_answer = 0;
  double late_request = 0;
  double late_answer = 0;
  bool down = false;  // nothing gets through
};

class SimStorePort final : public StorePort {
 public:
  SimStorePort(VirtualTime& time, std::weak_ptr<VirtualExecutor> process, store::SimStore& store, Rng& rng,
               const StoreWeather& weather, FaultCounts& faults)
      : time_(time),
        process_(std::move(process)),
        store_(store),
        rng_(rng),
        weather_(weather),
        faults_(faults) {}

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
  // Sends `work` to the store; `done` gets its value, or `silence` after the time-out.
  template <class T>
  void call(std::move_only_function<T()> work, T silence, Callback<T> done);

  VirtualTime& time_;
  std::weak_ptr<VirtualExecutor> process_;
  store::SimStore& store_;
  Rng& rng_;
  const StoreWeather& weather_;
  FaultCounts& faults_;
};

}  // namespace ctrlplane::sim
