#include "bench/bracket_runners.h"

#include <algorithm>
#include <thread>

#include "engine/execute.h"
#include "engine/reconcile.h"
#include "engine/resources.h"

namespace ctrlplane::bench {
namespace {

constexpr size_t kTimers = 64, kAtOnce = 1000;

}  // namespace

// ---- The engine alone ----------------------------------------------------------------------------------

// The process stands still for agents' leases: there are no heartbeats here.
Tx EngineRunner::begin() {
  now_ = now_ + microseconds(1);
  return Tx(state_, now_, Duration{}, IdSource(now_, mix64(++nonce_)), changes_);
}

void EngineRunner::seen() {
  crew.look(changes_, now_);
  rows += changes_.size();
  changes_.clear();
}

void EngineRunner::rest() {
  for (; has_work(state_); ++units) {
    Tx tx = begin();
    ctrlplane::work(tx);
  }
}

Answer EngineRunner::call(Command command) {
  Answer answer;
  if (auto* set = std::get_if<SetProviderResources>(&command)) {
    ProviderSet steps(std::move(*set));
    must(steps.validate());
    for (bool done = false; !done; seen()) {
      Tx tx = begin();
      done = steps.step(tx);
    }
    answer = must(steps.reply());
  } else {
    Tx tx = begin();
    answer = must(execute(tx, Request{std::move(command)}));
  }
  rest();
  seen();
  return answer;
}

void EngineRunner::pass(Duration d) {
  now_ = now_ + d;
  for (bool more = true; more; seen()) {
    Tx tx = begin();
    more = run_due_timers(tx, kTimers);
    rest();
  }
}

void EngineRunner::work() {
  while (crew.next()) {
    const Act act = crew.take();
    now_ = std::max(now_, act.at);
    const Request request{crew.command_for(act)};
    const Stopwatch watch;
    Tx tx = begin();
    const Reply reply = execute(tx, request);
    const double command = watch.seconds();
    rest();
    Cost& cost = costs[static_cast<size_t>(act.kind)];
    cost.command += command;
    cost.caused += watch.seconds() - command;
    crew.answered(act, reply, now_);
    seen();
  }
}

void EngineRunner::begins(Stage) {
  costs = {};
  rows = units = 0;
}

// ---- A loop and a store --------------------------------------------------------------------------------

StoreRunner::StoreRunner(store::Store& store, WorkspaceId workspace)
    : engine_(store, workspace, {.clock = &clock_, .listener = this}) {
  engine_.start({});
}

StoreRunner::~StoreRunner() { settle(); }

// The batch is taken: a copy would be part of what is measured, and the loop needs it no more.
void StoreRunner::committed(WorkspaceId w, int64_t seq, Time now, const Changes& changes) {
  crew.look(changes, clock_.wall());
  commits.push_back({.workspace = w, .seq = seq, .now = now});
  commits.back().changes = std::move(const_cast<Changes&>(changes));
  go_on();
}

Answer StoreRunner::call(Command command) { return engine_.call(std::move(command)); }

void StoreRunner::pass(Duration d) {
  engine_.on_loop([&](WorkspaceLoop& loop) {
    clock_.now += d.us;
    loop.audit(0);  // it looks at its timers again
  });
  engine_.wait_until_idle();
}

void StoreRunner::work() {
  engine_.on_loop([&](WorkspaceLoop&) {
    working_ = true;
    go_on();
  });
  settle();
}

void StoreRunner::settle() {
  auto is_done = [&](WorkspaceLoop& loop) {
    if (working_ && (crew.next() || open_ > 0 || !loop.idle())) return false;
    working_ = false;
    return true;
  };
  while (!engine_.on_loop(is_done)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Once for each time around the executor, so that the loop has its turns in between.
void StoreRunner::go_on() {
  if (!working_ || going_on_ || !crew.next() || open_ >= kAtOnce) return;
  going_on_ = true;
  engine_.post([this] { act(); });
}

void StoreRunner::act() {
  going_on_ = false;
  const Act act = crew.take();
  clock_.now = std::max(clock_.now.load(), act.at.us);
  ++open_;
  engine_.submit(crew.command_for(act), [this, act](Reply reply) {
    --open_;
    crew.answered(act, reply, clock_.wall());
    go_on();
  });
  go_on();
}

void StoreRunner::begins(Stage s) {
  engine_.wait_until_idle();
  engine_.reset_stats();
  engine_.on_loop([&](WorkspaceLoop&) { first[static_cast<size_t>(s)] = commits.size(); });
}

// ---- The store alone -----------------------------------------------------------------------------------

std::array<double, kStages> commit_bare(store::Store& store, WorkspaceId workspace,
                                        std::vector<store::Commit> commits,
                                        const std::array<size_t, kStages>& first) {
  const store::Token token{Uuid::from_halves(7, 7)};
  must(store.acquire(workspace, {}, {}, token));
  std::array<double, kStages> seconds{};
  for (size_t i = 0, stage = 0; i < commits.size(); ++i) {
    while (stage + 1 < kStages && i >= first[stage + 1]) ++stage;
    commits[i].token = token;
    const Stopwatch watch;
    const auto outcome = store.commit({&commits[i], 1}).front();
    seconds[stage] += watch.seconds();
    CHECK(outcome == store::CommitOutcome::kDurable, "a bare commit failed");
    commits[i].changes = {};
  }
  return seconds;
}

}  // namespace ctrlplane::bench
