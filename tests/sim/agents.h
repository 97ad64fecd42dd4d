// What is outside: pull agents that claim and run, and the systems that push agents talk to. Written from
// the protocol, not from our code; each tells the checker what it really does.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/world.h"

namespace ctrlplane::sim {

// One instance at a time of an http-pull agent: claims, reports in_progress, runs, heartbeats, reports the
// end.
class PullAgent {
 public:
  PullAgent(World& world, WorkspaceId w, AgentId agent, std::string name, bool fences_itself);
  void start() { poll(); }
  // The machine it runs on dies, with the command; another instance comes up later.
  void crash();
  // Cut off from everybody for a while: it goes on running, but nobody hears.
  void cut_off(Duration d) { cut_off_until_ = world_.time.now() + d; }

 private:
  enum class Phase { kIdle, kClaiming, kConfirming, kRunning, kReporting };
  void poll();
  void claim();
  std::optional<JobId> a_waiting_job();
  void confirm();
  void run();
  void beat();
  void finish();
  void stop_command();
  void call(Request r, Callback<Reply> done);
  std::string instance() const { return name_ + "-" + std::to_string(incarnation_); }

  World& world_;
  WorkspaceId w_;
  AgentId agent_;
  std::string name_;
  bool fences_itself_;
  Duration cut_off_until_;
  int incarnation_ = 1;
  Phase phase_ = Phase::kIdle;
  std::optional<Job> job_;
  bool command_runs_ = false;
  Duration lease_until_;
  JobStatus result_ = JobStatus::kSuccessful;
};

// The far side of the push agents: starts what it is told to, once per key if it deduplicates.
class PushBackend {
 public:
  explicit PushBackend(World& world) : world_(world) {}
  void arrive(WorkspaceId w, const Job& job, bool deduplicates);
  bool knows(WorkspaceId w, JobId job) const { return known_.contains({w, job}); }
  void cancel(WorkspaceId w, JobId job);

 private:
  void report(WorkspaceId w, JobId job, JobStatus status);
  World& world_;
  std::set<std::pair<WorkspaceId, JobId>> known_;
};

// One channel's messenger inside a replica.
class PushMessenger final : public Receiver {
 public:
  PushMessenger(World& world, PushBackend& backend, std::weak_ptr<VirtualExecutor> process,
                std::string channel)
      : world_(world), backend_(backend), process_(std::move(process)), channel_(std::move(channel)) {}
  void deliver(const SendPermit& permit,
               std::move_only_function<void(SendOutcome, std::string)> done) override;

 private:
  World& world_;
  PushBackend& backend_;
  std::weak_ptr<VirtualExecutor> process_;
  std::string channel_;
};

}  // namespace ctrlplane::sim
