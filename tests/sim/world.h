// A whole installation in one process under one seed: a database, replicas that believe they own, agents,
// receivers, clients, and the faults that happen to all of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/outbox_pump.h"
#include "runtime/replica.h"
#include "runtime/virtual_time.h"
#include "sim/checker.h"
#include "sim/fault_counts.h"
#include "sim/rng.h"
#include "sim/sim_store_port.h"

namespace ctrlplane::sim {

class World;

// A process that dies whole: everything in it goes at once, what it had sent is still on its way.
struct Process {
  Process(World& world, size_t index);
  std::shared_ptr<VirtualExecutor> executor;
  std::unique_ptr<SimStorePort> port;
  std::unique_ptr<Replica> replica;
  std::vector<std::unique_ptr<Receiver>> receivers;
  std::unique_ptr<OutboxPump> pump;
};

struct Outcome {
  uint64_t commands = 0;
  uint64_t commits = 0;
  uint64_t starts = 0;
  uint64_t digest = 0;
  FaultCounts faults;
  FaultCounts judged, frozen, bracketed;
  std::vector<Violation> violations;
};

class World {
 public:
  explicit World(uint64_t seed);
  ~World();
  Outcome run();

  // ---- For the inhabitants ---------------------------------------------------------------------------
  VirtualTime time;
  Rng rng;
  store::SimStore store;
  Checker checker;
  StoreWeather weather;
  FaultCounts faults;
  std::vector<WorkspaceId> workspaces;
  const bool has_brackets;
  bool calm = false;  // no more faults, no more commands
  uint64_t commands = 0;
  uint64_t starts = 0;
  uint64_t policies = 0;  // written or changed

  Time wall() const { return kEpoch + time.now(); }
  // Sends a request over the network to a replica and calls back once: with the reply, or kUnknown when none
  // came in time.
  enum class To { kOwnerMostly, kAnybody };
  void call(WorkspaceId w, Request request, To to, Duration patience, Callback<Reply> done);
  void call(WorkspaceId w, Request request, Callback<Reply> done) {
    call(w, std::move(request), To::kOwnerMostly, seconds(12), std::move(done));
  }

  static constexpr Time kEpoch{1'767'225'600'000'000};  // 2026-01-01

 private:
  friend struct Process;
  void build();
  void schedule_faults();
  void one_fault();
  void crash(size_t i);
  void stop(size_t i);
  // False: so much is broken that there is nothing more to learn.
  bool run_until(Duration t);
  Time time_of(WorkspaceId w);  // by which its owner decides
  void look_for_forgotten_work();
  void live();

  std::optional<size_t> direct_to_;  // the next calls go to this replica
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<class PullAgent>> agents_;
  std::vector<std::unique_ptr<class Client>> clients_;
  std::vector<std::unique_ptr<class Reviewers>> reviewers_;
  std::vector<std::unique_ptr<class Freezers>> freezers_;
  std::vector<std::unique_ptr<class Operators>> operators_;
  std::unique_ptr<class PushBackend> backend_;
};

}  // namespace ctrlplane::sim
