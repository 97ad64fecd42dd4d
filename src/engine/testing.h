// A workspace for tests of the engine: commands go in as the loop would run them, and every change is
// also kept as rows, so that the workspace can be loaded again.
#pragma once

#include <functional>

#include "engine/execute.h"
#include "engine/reconcile.h"
#include "engine/settings.h"
#include "state/testing.h"

namespace ctrlplane::testing {

class World {
 public:
  std::unique_ptr<State> state = std::make_unique<State>(WorkspaceId{});
  Rows rows;
  Time now = kStart;
  uint64_t nonce = 1;
  Changes last;                               // of the latest command
  std::function<void(const Changes&)> watch;  // sees each command's changes after `rows` has them

  Duration uptime() const { return now - kStart; }

  template <class Fn>
  auto transact(Fn&& fn) {
    last.clear();
    Tx tx(*state, now, uptime(), IdSource(now, mix64(++nonce)), last);
    auto result = fn(tx);
    for (const Change& c : last) rows.apply(c);
    if (watch) watch(last);
    return result;
  }

  Reply run(Command command, std::optional<Idempotency> idempotency = {}) {
    return transact([&](Tx& tx) { return execute(tx, Request{std::move(command), "tester", idempotency}); });
  }
  // All the work that changes imply; each unit is a command of its own, as in the loop.
  void drain() {
    for (int i = 0; has_work(*state); ++i) {
      CHECK(i < 100'000, "the engine does not come to rest");
      transact([](Tx& tx) { return work(tx); });
    }
  }
  // Time goes by, and what is due happens.
  void pass(Duration d) {
    now = now + d;
    auto due = [&] {
      auto next = state->timers.next();
      auto lease = state->lease_timers.next();
      return (next && *next <= now) || (lease && *lease <= uptime());
    };
    while (due()) tick();
    drain();
  }
  // Some of what is due, as a turn of the loop does it.
  void tick() {
    transact([](Tx& tx) { return run_due_timers(tx, 64); });
  }
  void reload() {
    state = rows.load();
    state->renew_all_leases(uptime(), kAgentLease);
  }

  // ---- Shorthand: each must succeed ------------------------------------------------------------------
  Uuid must(Command command) {
    Reply reply = run(std::move(command));
    CHECK(reply.has_value(), reply ? std::string() : reply.error().message);
    return reply->id;
  }
  // One environment, one deployment, one system, one resource, one agent: one release target.
  void one_target(std::string agent_type = "http-pull", std::optional<Duration> timeout = {}) {
    agent = AgentId{must(UpsertAgent{.name = "agent", .type = std::move(agent_type)})};
    system = SystemId{must(UpsertSystem{.name = "system"})};
    environment = EnvironmentId{must(UpsertEnvironment{.name = "env", .resource_selector = "true"})};
    UpsertDeployment d{.name = "app", .resource_selector = "true", .agent_selector = "true"};
    d.job_timeout = timeout;
    deployment = DeploymentId{must(d)};
    must(LinkDeployment{system, deployment});
    must(LinkEnvironment{system, environment});
    resource = ResourceId{must(UpsertResource{{"host", "host", "Host", "v1", {}, {}}, {}})};
    drain();
  }
  VersionId publish(std::string tag, VersionStatus status = VersionStatus::kReady) {
    now = now + seconds(1);
    CreateVersion c{.deployment = deployment, .tag = std::move(tag)};
    c.status = status;
    VersionId v{must(c)};
    drain();
    return v;
  }
  void set_status(VersionId v, VersionStatus status) {
    must(SetVersionStatus{v, status, ""});
    drain();
  }
  Reply claim(std::string instance = "one", bool fences_itself = false) {
    return run(ClaimJob{agent, {}, std::move(instance), fences_itself});
  }
  Reply report(JobId job, JobStatus status, std::string instance = "one") {
    Reply r = run(ReportJob{job, std::move(instance), status, "", ""});
    drain();
    return r;
  }
  // The waiting job is claimed, run and ends so.
  JobId finish(JobStatus status) {
    Reply r = claim();
    CHECK(r && r->job, "there is no job to claim");
    CHECK(report(r->job->id, status).has_value());
    return r->job->id;
  }
  TargetKey key() const { return {resource, environment, deployment}; }
  TargetState target() const { return state->row_of(state->target(key())); }
  std::optional<Job> only_job() const {
    std::optional<Job> job;
    state->jobs.each([&](JobIx, const JobSlot& slot) { job = slot.row; });
    CHECK(state->jobs.size() <= 1, "one job at most");
    return job;
  }
  Job stored_job(JobId id) const {
    std::optional<Job> job;
    rows.each<Job>([&](const Job& j) {
      if (j.id == id) job = j;
    });
    return job.value();
  }

  AgentId agent;
  SystemId system;
  EnvironmentId environment;
  DeploymentId deployment;
  ResourceId resource;
};

}  // namespace ctrlplane::testing
