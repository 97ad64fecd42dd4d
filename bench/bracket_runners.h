// The two ways to run the upgrade: the engine alone, and a loop with a real store behind it.
#pragma once

#include <atomic>

#include "bench/bracket_world.h"
#include "bench/databases.h"
#include "state/state.h"

namespace ctrlplane::bench {

// The functions the loop calls, without a loop, a clock or a store around them; one transaction a unit.
class EngineRunner final : public Runner {
 public:
  Answer call(Command command) override;
  void pass(Duration d) override;
  void work() override;
  void begins(Stage s) override;

  // Seconds by the wall's clock in the stage that is under way: of the command and of all it caused.
  struct Cost {
    double command = 0, caused = 0;
  };
  std::array<Cost, kActs> costs{};
  size_t rows = 0;   // changes in the stage
  size_t units = 0;  // of what commands caused

 private:
  Tx begin();
  void rest();
  void seen();

  State state_{WorkspaceId{Uuid::from_halves(1, 1)}};
  Time now_{1'700'000'000'000'000};
  uint64_t nonce_ = 0;
  Changes changes_;
};

// The runtime as a replica has it, with threads and commits of its own making; only the time of day is
// virtual, and goes on as fast as agents have something to do.
class StoreRunner final : public Runner, FeedListener {
 public:
  StoreRunner(store::Store& store, WorkspaceId workspace);
  ~StoreRunner() override;

  Answer call(Command command) override;
  void pass(Duration d) override;
  void work() override;
  void begins(Stage s) override;

  // All that was committed, and where in it a stage begins.
  std::vector<store::Commit> commits;
  std::array<size_t, kStages> first{};
  LoopStats stats() { return engine_.stats(); }  // of the stage under way

 private:
  struct TimeOfDay final : Clock {
    Time wall() const override { return {now.load()}; }
    Duration boot() const override { return machine.boot(); }
    SystemClock machine;
    std::atomic<int64_t> now = 1'700'000'000'000'000;
  };
  void committed(WorkspaceId, int64_t seq, Time now, const Changes& changes) override;
  void go_on();
  void act();
  void settle();

  TimeOfDay clock_;
  size_t open_ = 0;  // acts that wait for an answer
  bool working_ = false, going_on_ = false;
  Engine engine_;
};

// Commits the same rows in the same batches to an empty store, one after the other; seconds for each stage.
std::array<double, kStages> commit_bare(store::Store& store, WorkspaceId workspace,
                                        std::vector<store::Commit> commits,
                                        const std::array<size_t, kStages>& first);

}  // namespace ctrlplane::bench
