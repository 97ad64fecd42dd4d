// What tests of the runtime share: a store port whose answers the test gives by hand, and a workspace loop
// on virtual time.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/settings.h"
#include "runtime/replica.h"
#include "runtime/virtual_time.h"
#include "runtime/workspace_loop.h"
#include "state/testing.h"
#include "store/sim/sim_store.h"

namespace ctrlplane::testing {

inline const WorkspaceId kWorkspace{Uuid::from_halves(0x3a, 1)};

// Passes calls on at once, unless told to hold them.
class ScriptedPort final : public StorePort {
 public:
  ScriptedPort(store::Store& store, Executor& executor) : store_(store), executor_(executor) {}

  bool hold_commits = false;     // neither reach the store nor are answered
  bool hold_beats = false;       // likewise
  bool hold_acquires = false;    // likewise
  bool hold_releases = false;    // likewise
  bool hold_loads = false;       // made at once, the answer is held
  bool hold_ownerships = false;  // likewise
  bool hold_look_ups = false;    // likewise
  bool down = false;             // fails without effect

  struct Held {
    store::Commit commit;
    Callback<store::CommitOutcome> done;
  };
  std::deque<Held> commits;
  std::deque<Task> beats, acquires, releases, loads, questions, look_ups;
  std::vector<store::Commit> sent;  // every commit there was

  // The oldest commit held reaches the store, unanswered; is answered so; or both.
  store::CommitOutcome land() { return store_.commit({&commits.front().commit, 1}).front(); }
  void answer(store::CommitOutcome outcome) {
    Held held = std::move(commits.front());
    commits.pop_front();
    reply(std::move(held.done), outcome);
  }
  void release() { answer(land()); }
  static void release(std::deque<Task>& held) {
    Task task = std::move(held.front());
    held.pop_front();
    task();
  }

  void acquire(WorkspaceId w, store::ReplicaId r, store::Token expected, store::Token token,
               Callback<Result<store::Owner>> done) override {
    request(hold_acquires, acquires, [this, w, r, expected, token, done = std::move(done)]() mutable {
      reply(std::move(done), down ? Result<store::Owner>(away()) : store_.acquire(w, r, expected, token));
    });
  }
  void load(WorkspaceId w, store::Token token, Callback<Result<Loaded>> done) override {
    give(hold_loads, loads, std::move(done), down ? Result<Loaded>(away()) : load_state(store_, w, token));
  }
  void snapshot(WorkspaceId w, Callback<Result<Loaded>> done) override {
    give(hold_loads, loads, std::move(done), down ? Result<Loaded>(away()) : load_state(store_, w, {}));
  }
  void commit(store::Commit c, Callback<store::CommitOutcome> done) override {
    sent.push_back(c);
    if (hold_commits) return commits.push_back({std::move(c), std::move(done)});
    reply(std::move(done), down ? store::CommitOutcome::kInDoubt : store_.commit({&c, 1}).front());
  }
  void read_job(WorkspaceId w, JobId job, Callback<Result<std::optional<Job>>> done) override {
    give(hold_look_ups, look_ups, std::move(done), ctrlplane::read_job(store_, w, job));
  }
  void read_version(WorkspaceId w, DeploymentId d, std::string tag,
                    Callback<Result<std::optional<Version>>> done) override {
    give(hold_look_ups, look_ups, std::move(done), ctrlplane::read_version(store_, w, d, tag));
  }
  void beat(store::Replica r, Callback<Status> done) override {
    request(hold_beats, beats, [this, r = std::move(r), done = std::move(done)]() mutable {
      reply(std::move(done), down ? Status(away()) : store_.beat(r));
    });
  }
  void ownerships(Callback<Result<Ownerships>> done) override {
    give(hold_ownerships, questions, std::move(done),
         down ? Result<Ownerships>(away()) : read_ownerships(store_));
  }
  void release(WorkspaceId w, store::Token token, Callback<Status> done) override {
    request(hold_releases, releases, [this, w, token, done = std::move(done)]() mutable {
      reply(std::move(done), down ? Status(away()) : store_.release(w, token));
    });
  }
  void forget(store::ReplicaId r, Callback<Status> done) override {
    reply(std::move(done), down ? Status(away()) : store_.forget(r));
  }

 private:
  static std::unexpected<Error> away() { return fail(ErrorCode::kUnavailable, "out of reach"); }
  template <class T>
  void reply(Callback<T> done, T value) {
    executor_.post([done = std::move(done), value = std::move(value)]() mutable { done(std::move(value)); });
  }
  void request(bool hold, std::deque<Task>& held, Task task) {
    if (hold)
      held.push_back(std::move(task));
    else
      task();
  }
  template <class T>
  void give(bool hold, std::deque<Task>& held, Callback<T> done, T value) {
    request(hold, held, [this, done = std::move(done), value = std::move(value)]() mutable {
      reply(std::move(done), std::move(value));
    });
  }
  store::Store& store_;
  Executor& executor_;
};

// The reply to a command, once it has come.
class Asked {
 public:
  ReplyFn here() {
    return [reply = reply_](Reply r) {
      CHECK(!reply->has_value(), "answered twice");
      *reply = std::move(r);
    };
  }
  bool answered() const { return reply_->has_value(); }
  bool succeeded() const { return answered() && (*reply_)->has_value(); }
  std::optional<ErrorCode> refused() const {
    return answered() && !succeeded() ? std::optional((*reply_)->error().code) : std::nullopt;
  }
  const Answer& operator*() const { return reply_->value().value(); }
  const Answer* operator->() const { return &**this; }

 private:
  std::shared_ptr<std::optional<Reply>> reply_ = std::make_shared<std::optional<Reply>>();
};

inline Command read(std::function<std::string(const State&, Time)> run) { return Query{std::move(run)}; }
inline Command count_systems() {
  return read([](const State& s, Time) { return std::to_string(s.systems.size()); });
}

// A loop, alone with its store. Nothing happens but in run and pass.
class LoopWorld {
 public:
  LoopWorld() = default;
  explicit LoopWorld(Time wall_at_zero) : executor(time, wall_at_zero) {}

  VirtualTime time;
  VirtualExecutor executor{time, kStart};
  store::SimStore store;
  ScriptedPort port{store, executor};
  LoopLimits limits;
  std::vector<FeedListener*> listeners;
  bool has_lease = true;
  int lost = 0;
  uint64_t tokens = 0;
  std::unique_ptr<WorkspaceLoop> loop;

  void start() {
    begin();
    run();
  }
  void begin() {
    loop.reset();
    loop = std::make_unique<WorkspaceLoop>(
        WorkspaceLoop::Host{.executor = executor,
                            .store = port,
                            .replica = id<store::ReplicaId>(1),
                            .may_answer_reads = [this] { return has_lease; },
                            .new_token = [this] { return id<store::Token>(++tokens); },
                            .lost = [this] { ++lost; },
                            .listeners = listeners,
                            .limits = limits},
        kWorkspace);
    loop->start(owner().token);
  }
  // Another process takes the workspace.
  void take_away() {
    CHECK(store.acquire(kWorkspace, id<store::ReplicaId>(66), owner().token, id<store::Token>(666))
              .has_value());
  }
  store::Owner owner() {
    auto owners = store.owners().value();
    for (const store::Owner& o : owners)
      if (o.workspace == kWorkspace) return o;
    return {};
  }

  // Everything that can happen without time going by; how many tasks that took.
  size_t run() {
    size_t tasks = 0;
    while (time.step(time.now())) CHECK(++tasks < 1'000'000, "the loop does not come to rest");
    return tasks;
  }
  size_t pass(Duration d) {
    size_t tasks = 0;
    Duration end = time.now() + d;
    while (time.step(end)) CHECK(++tasks < 1'000'000, "the loop does not come to rest");
    time.run_until(end);
    return tasks;
  }
  Asked submit(Command command, std::optional<Idempotency> key = {}) {
    Asked asked;
    loop->submit({std::move(command), "tester", key}, asked.here());
    return asked;
  }
  Asked ask(Command command) {
    Asked asked = submit(std::move(command));
    run();
    return asked;
  }
  Uuid must(Command command) {
    Asked asked = ask(std::move(command));
    CHECK(asked.succeeded(), "refused, or not answered");
    return asked->id;
  }
  std::string text(Command query) {
    Asked asked = ask(std::move(query));
    CHECK(asked.succeeded(), "refused, or not answered");
    return asked->text;
  }

  // One environment, one deployment and `resources` of a provider, so many release targets.
  void targets(size_t resources, std::string agent_type = "http-pull", std::optional<Duration> timeout = {}) {
    agent = AgentId{must(UpsertAgent{.name = "agent", .type = std::move(agent_type)})};
    SystemId system{must(UpsertSystem{.name = "system"})};
    environment = EnvironmentId{must(UpsertEnvironment{.name = "env", .resource_selector = "true"})};
    UpsertDeployment d{.name = "app", .resource_selector = "true", .agent_selector = "true"};
    d.job_timeout = timeout;
    deployment = DeploymentId{must(d)};
    must(LinkDeployment{system, deployment});
    must(LinkEnvironment{system, environment});
    provider = ProviderId{must(UpsertProvider{.name = "provider"})};
    must(set_of(resources));
  }
  SetProviderResources set_of(size_t resources) const {
    SetProviderResources set{.provider = provider, .resources = {}};
    for (size_t i = 0; i < resources; ++i) {
      std::string name = "host-" + std::to_string(i);
      set.resources.push_back({name, name, "Host", "v1", {}, {}});
    }
    return set;
  }
  void publish(std::string tag = "v1") {
    must(CreateVersion{.deployment = deployment, .tag = std::move(tag)});
  }
  Job only_job() const {
    CHECK(loop->state()->jobs.size() == 1, "one job");
    Job job;
    loop->state()->jobs.each([&](JobIx, const JobSlot& slot) { job = slot.row; });
    return job;
  }
  Job stored_job(JobId job) { return read_job(store, kWorkspace, job).value().value(); }
  template <class Row>
  size_t stored() const {
    return store.rows(kWorkspace, store::table_for<Row>()).size();
  }

  AgentId agent;
  EnvironmentId environment;
  DeploymentId deployment;
  ProviderId provider;
};

}  // namespace ctrlplane::testing
