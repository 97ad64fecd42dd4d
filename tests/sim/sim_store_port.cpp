#include "sim/sim_store_port.h"

namespace ctrlplane::sim {
namespace {

constexpr Duration kTimeout = seconds(5);

template <class T>
Result<T> no_answer() {
  return fail(ErrorCode::kUnavailable, "the store does not answer");
}

// Runs a callback once, on its process, if that still lives.
template <class T>
struct Once {
  std::weak_ptr<VirtualExecutor> process;
  Callback<T> done;
  void finish(std::shared_ptr<Once> self, T value) {
    auto p = process.lock();
    if (!p) return;
    p->post([self, value = std::move(value)]() mutable {
      if (self->done) std::exchange(self->done, nullptr)(std::move(value));
    });
  }
};

}  // namespace

template <class T>
void SimStorePort::call(std::move_only_function<T()> work, T silence, Callback<T> done) {
  auto once = std::make_shared<Once<T>>(process_, std::move(done));
  bool lost = weather_.down || rng_.chance(weather_.lose_request);
  bool unanswered = !lost && rng_.chance(weather_.lose_answer);
  bool late = !lost && rng_.chance(weather_.late_request);
  bool late_answer = !lost && !unanswered && rng_.chance(weather_.late_answer);
  if (weather_.down)
    ++faults_["store down"];
  else if (lost)
    ++faults_["request to store lost"];
  if (unanswered) ++faults_["answer of store lost"];
  if (late) ++faults_["request to store late"];
  if (late_answer) ++faults_["answer of store late"];

  Duration there =
      late ? rng_.between(seconds(5), seconds(40)) : rng_.between(microseconds(50), milliseconds(4));
  Duration back =
      late_answer ? rng_.between(seconds(4), seconds(20)) : rng_.between(microseconds(20), milliseconds(2));
  if (!lost)
    time_.after(there, [this_time = &time_, once, back, unanswered, work = std::move(work)]() mutable {
      auto value = std::make_shared<T>(work());
      if (!unanswered)
        this_time->after(back, [once, value]() mutable { once->finish(once, std::move(*value)); });
    });
  auto nothing = std::make_shared<T>(std::move(silence));
  time_.after(kTimeout, [once, nothing]() mutable { once->finish(once, std::move(*nothing)); });
}

void SimStorePort::acquire(WorkspaceId w, store::ReplicaId r, store::Token expected, store::Token token,
                           Callback<Result<store::Owner>> done) {
  call<Result<store::Owner>>(
      [&s = store_, w, r, expected, token] { return s.acquire(w, r, expected, token); },
      no_answer<store::Owner>(), std::move(done));
}

void SimStorePort::load(WorkspaceId w, store::Token token, Callback<Result<Loaded>> done) {
  call<Result<Loaded>>([&s = store_, w, token] { return load_state(s, w, token); }, no_answer<Loaded>(),
                       std::move(done));
}

void SimStorePort::snapshot(WorkspaceId w, Callback<Result<Loaded>> done) {
  call<Result<Loaded>>([&s = store_, w] { return load_state(s, w, {}); }, no_answer<Loaded>(),
                       std::move(done));
}

void SimStorePort::commit(store::Commit c, Callback<store::CommitOutcome> done) {
  call<store::CommitOutcome>([&s = store_, c = std::move(c)] { return s.commit(std::span(&c, 1)).front(); },
                             store::CommitOutcome::kInDoubt, std::move(done));
}

void SimStorePort::read_job(WorkspaceId w, JobId job, Callback<Result<std::optional<Job>>> done) {
  call<Result<std::optional<Job>>>([&s = store_, w, job] { return ctrlplane::read_job(s, w, job); },
                                   no_answer<std::optional<Job>>(), std::move(done));
}

void SimStorePort::read_version(WorkspaceId w, DeploymentId d, std::string tag,
                                Callback<Result<std::optional<Version>>> done) {
  call<Result<std::optional<Version>>>(
      [&s = store_, w, d, tag = std::move(tag)] { return ctrlplane::read_version(s, w, d, tag); },
      no_answer<std::optional<Version>>(), std::move(done));
}

void SimStorePort::beat(store::Replica r, Callback<Status> done) {
  call<Status>([&s = store_, r] { return s.beat(r); }, no_answer<void>(), std::move(done));
}

void SimStorePort::ownerships(Callback<Result<Ownerships>> done) {
  call<Result<Ownerships>>([&s = store_] { return read_ownerships(s); }, no_answer<Ownerships>(),
                           std::move(done));
}

void SimStorePort::release(WorkspaceId w, store::Token token, Callback<Status> done) {
  call<Status>([&s = store_, w, token] { return s.release(w, token); }, no_answer<void>(), std::move(done));
}

void SimStorePort::forget(store::ReplicaId r, Callback<Status> done) {
  call<Status>([&s = store_, r] { return s.forget(r); }, no_answer<void>(), std::move(done));
}

}  // namespace ctrlplane::sim
