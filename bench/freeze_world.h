// What the benchmark of freezes runs on: a fleet at rest behind a real loop, a load that starts jobs in it as
// fast as it can, and the commits of a neighbour that has nothing to do with either.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "bench/databases.h"
#include "bench/fleet.h"
#include "bench/harness.h"

namespace ctrlplane::bench {

class FreezeWorld {
 public:
  FreezeWorld(store::Store& store, Fleet f);

  Engine engine;
  Fleet fleet;
  DeploymentId bystander;  // one target that the load has nothing to do with
  ProviderId provider;

  // The next version of the deployment. An exempt one passes all freezes.
  void publish(DeploymentId d, bool exempt = false);
  // Answered as the API does: with the jobs in flight that the freeze covers, as text. `done` runs on the
  // loop's thread.
  void freeze(CreateFreeze command, ReplyFn done);
  FreezeId freeze(CreateFreeze command);
  void thaw(FreezeId id);
  // Makes the provider's resources those of the fleet, each with another label than before.
  void set_resources(size_t n, ReplyFn done);
  // A policy over the first deployments, each time with other words.
  void edit_policy(size_t deployments);

 private:
  std::optional<PolicyId> policy_;
  std::atomic<uint64_t> published_ = 0;
  uint64_t edits_ = 0, sets_ = 0;
};

// Publishes as soon as nothing is left to decide, and has agents that claim jobs and report success, each as
// fast as it is answered.
class JobLoad {
 public:
  // Begins with the deployment of that number; goes round.
  JobLoad(FreezeWorld& world, size_t agents, size_t first);
  ~JobLoad();  // when the last answer has come

  void publish(bool on) { publishing_ = on; }
  // From here on no agent may be handed a job; called on the loop's thread. `false`: they may.
  void forbid(bool on) { forbidden_ = on; }
  uint64_t handed_over() const { return handed_over_; }
  uint64_t handed_over_though_forbidden() const { return broken_; }

 private:
  void run();
  void claim(size_t agent);
  void report(size_t agent, JobId job);
  void rest(size_t agent);

  FreezeWorld& world_;
  size_t next_;
  std::vector<std::atomic<bool>> resting_;  // by agent: there was nothing to claim
  std::atomic<bool> stopping_ = false, publishing_ = true, forbidden_ = false;
  std::atomic<uint64_t> handed_over_ = 0, broken_ = 0;
  std::thread thread_;
};

// Calls `fn(planned)` at fixed times until destroyed. Latencies count from the planned time, so that a stall
// is seen by every call it delays, not only by the first.
class Metronome {
 public:
  Metronome(Duration every, std::function<void(Duration planned)> fn);
  ~Metronome();

 private:
  SystemClock clock_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// One-row commits of a workspace of its own: what the disk allows at that moment.
class OneRowCommits {
 public:
  OneRowCommits(Kind kind, const std::string& address);
  void commit();

 private:
  std::unique_ptr<store::Store> store_;
  store::Commit commit_;
};

}  // namespace ctrlplane::bench
