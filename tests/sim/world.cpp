#include "sim/world.h"

#include <fmt/core.h>

#include "sim/agents.h"
#include "sim/client.h"
#include "sim/freezers.h"
#include "sim/operators.h"
#include "sim/reviewers.h"

namespace ctrlplane::sim {
namespace {

constexpr size_t kReplicas = 3;
constexpr Duration kStorm = minutes(40);
constexpr Duration kCalm = minutes(66);
constexpr size_t kHopeless = 30;  // violations

}  // namespace

Process::Process(World& world, size_t index) {
  executor = std::make_shared<VirtualExecutor>(world.time, World::kEpoch);
  executor->step_wall(world.rng.between(seconds(-30), seconds(30)));
  port = std::make_unique<SimStorePort>(world.time, executor, world.store, world.rng, world.weather,
                                        world.faults);
  ReplicaConfig config{.id = {world.rng.uuid()}, .address = "replica-" + std::to_string(index)};
  config.limits.units_per_slice = 16;  // small slices: more places to crash between
  config.limits.min_rows = 16;
  config.audit_every = seconds(5);  // each target once in a minute or so
  replica = std::make_unique<Replica>(*executor, *port, config, [&world] { return world.rng.uuid(); });
  pump = std::make_unique<OutboxPump>(
      [this](WorkspaceId w, Request r, ReplyFn done) { replica->submit(w, std::move(r), std::move(done)); },
      *executor);
  for (const char* channel : {"webhook-keyed", "webhook-lookup", "webhook", "operators"}) {
    receivers.push_back(std::make_unique<PushMessenger>(world, *world.backend_, executor, channel));
    pump->add_receiver(channel, *receivers.back());
  }
  replica->listen(*pump);
  for (WorkspaceId w : world.workspaces) replica->want(w);
  replica->start();
}

World::World(uint64_t seed) : rng(seed), checker(store), has_brackets(seed % 3 == 1) {
  store.observe([this](const store::Commit& c, const store::Owner& o) {
    checker.set_boot(time.now());
    checker.committed(c, o);
  });
  backend_ = std::make_unique<PushBackend>(*this);
}

World::~World() { processes_.clear(); }

void World::build() {
  for (int i = 0; i < 2; ++i) workspaces.push_back({rng.uuid()});
  for (size_t i = 0; i < kReplicas; ++i) processes_.push_back(std::make_unique<Process>(*this, i));
  for (WorkspaceId w : workspaces) {
    clients_.push_back(std::make_unique<Client>(*this, w, "c" + std::to_string(clients_.size())));
    Client* first = clients_.back().get();
    first->set_up([this, w, first](std::vector<AgentId> agents) {
      for (AgentId a : agents)
        for (int i = 0; i < 3; ++i) {
          bool fences = i != 2;
          agents_.push_back(
              std::make_unique<PullAgent>(*this, w, a, fmt::format("inst-{}-{}", agents_.size(), i), fences));
          agents_.back()->start();
        }
      reviewers_.push_back(std::make_unique<Reviewers>(*this, w, *first));
      reviewers_.back()->start();
      freezers_.push_back(std::make_unique<Freezers>(*this, w, *first));
      first->start(*reviewers_.back(), *freezers_.back());
      freezers_.back()->start();
      operators_.push_back(std::make_unique<Operators>(*this, w, *first));
      operators_.back()->start();
    });
  }
}

void World::call(WorkspaceId w, Request request, To whom, Duration patience, Callback<Reply> done) {
  auto once = std::make_shared<Callback<Reply>>(std::move(done));
  auto finish = [once](Reply r) {
    if (*once) std::exchange(*once, nullptr)(std::move(r));
  };
  // As behind a load balancer: any replica, with a bias for the owner so that work gets done.
  size_t to = rng.below(processes_.size());
  if (whom == To::kOwnerMostly && !rng.chance(0.3))
    for (size_t i = 0; i < processes_.size(); ++i)
      if (processes_[i] && processes_[i]->replica->loop(w)) to = i;
  if (direct_to_) to = *direct_to_;
  time.after(rng.between(microseconds(100), milliseconds(10)), [this, to, w, request = std::move(request),
                                                                finish]() mutable {
    if (!processes_[to]) return;
    std::weak_ptr<VirtualExecutor> process = processes_[to]->executor;
    Replica* replica = processes_[to]->replica.get();
    processes_[to]->executor->post([this, replica, w, request = std::move(request), finish]() mutable {
      replica->submit(w, std::move(request), [this, finish](Reply r) {
        // A process that has answered cannot take it back by dying.
        time.after(rng.between(microseconds(100), milliseconds(5)),
                   [finish, r = std::move(r)]() mutable { finish(std::move(r)); });
      });
    });
  });
  time.after(patience, [finish] { finish(fail(ErrorCode::kUnknown, "no answer in time")); });
}

// ---- Faults --------------------------------------------------------------------------------------------

void World::crash(size_t i) {
  if (!processes_[i]) return;
  ++faults["replica crashed"];
  processes_[i].reset();
  time.after(rng.between(milliseconds(200), seconds(25)),
             [this, i] { processes_[i] = std::make_unique<Process>(*this, i); });
}

// SIGSTOP and SIGCONT. Shortly before it continues it is asked to read: the first thing it does then is to
// answer from a memory that may be somebody else's by now.
void World::stop(size_t i) {
  if (!processes_[i] || processes_[i]->executor->stopped()) return;
  Duration pause = rng.between(seconds(3), seconds(60));
  ++faults[pause > seconds(10) ? "replica stopped past its lease" : "replica stopped for a moment"];
  processes_[i]->executor->stop();
  time.after(pause - seconds(1), [this, i] {
    direct_to_ = i;
    for (auto& client : clients_)
      for (int n = 0; n < 4; ++n) client->read_versions();
    direct_to_.reset();
  });
  time.after(pause, [p = std::weak_ptr(processes_[i]->executor)] {
    if (auto alive = p.lock()) alive->resume();
  });
}

void World::one_fault() {
  size_t i = rng.below(processes_.size());
  switch (rng.below(8)) {
    case 0:
    case 1: return crash(i);
    case 2: return stop(i);
    case 3:
      if (!processes_[i]) return;
      ++faults["clock stepped"];
      processes_[i]->executor->step_wall(rng.between(seconds(-120), seconds(120)));
      return;
    case 4:
      weather.down = true;
      ++faults["store outage"];
      time.after(rng.between(milliseconds(100), seconds(20)), [this] { weather.down = false; });
      return;
    case 5:
      if (agents_.empty()) return;
      ++faults["agent crashed"];
      agents_[rng.below(agents_.size())]->crash();
      return;
    case 6:
      if (agents_.empty()) return;
      ++faults["agent cut off"];
      agents_[rng.below(agents_.size())]->cut_off(rng.between(seconds(20), minutes(12)));
      return;
    default:
      ++faults["bad weather"];
      weather.lose_request = weather.lose_answer = weather.late_request = weather.late_answer = 0.15;
      time.after(rng.between(seconds(5), seconds(60)), [this] {
        weather.lose_request = weather.lose_answer = weather.late_request = weather.late_answer =
            calm ? 0 : 0.005;
      });
      return;
  }
}

void World::schedule_faults() {
  time.after(rng.between(seconds(5), minutes(2)), [this] {
    if (calm) return;
    one_fault();
    schedule_faults();
  });
}

// Clocks were set in the storm; each owner goes by its own, and never back.
Time World::time_of(WorkspaceId w) {
  Time now = checker.last_now(w);
  for (auto& p : processes_)
    if (p && p->replica->loop(w)) now = std::max(now, p->executor->clock().wall());
  return now;
}

void World::look_for_forgotten_work() {
  for (WorkspaceId w : workspaces) checker.nothing_is_forgotten(w, time_of(w));
}

bool World::run_until(Duration t) {
  while (time.step(t))
    if (checker.violations().size() > kHopeless) return false;
  time.run_until(t);
  return true;
}

void World::live() {
  build();
  weather.lose_request = weather.lose_answer = weather.late_request = weather.late_answer = 0.005;
  schedule_faults();
  if (!run_until(kStorm)) return;
  calm = true;
  weather = {};
  if (!run_until(kStorm + seconds(61))) return;
  weather = {};
  for (Duration t = minutes(20); t < kCalm; t = t + minutes(12)) {
    if (!run_until(kStorm + t)) return;
    look_for_forgotten_work();
  }
  if (!run_until(kStorm + kCalm)) return;
  look_for_forgotten_work();
  for (WorkspaceId w : workspaces) checker.at_rest(w, wall());
}

Outcome World::run() {
  live();
  for (auto& p : processes_)
    for (WorkspaceId w : workspaces)
      if (WorkspaceLoop* loop = p ? p->replica->loop(w) : nullptr; loop && loop->stats().missed_wakeups > 0)
        faults["MISSED WAKE-UPS"] += loop->stats().missed_wakeups;
  FaultCounts judged = checker.judged();
  judged["policies written or changed"] = policies;
  return {commands,
          checker.commits(),
          starts,
          checker.digest(),
          faults,
          judged,
          checker.frozen(),
          checker.bracketed(),
          checker.violations()};
}

}  // namespace ctrlplane::sim
