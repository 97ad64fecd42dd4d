#include "runtime/replica.h"

#include <algorithm>
#include <utility>

namespace ctrlplane {

Replica::Replica(Executor& executor, StorePort& store, ReplicaConfig config, std::function<Uuid()> new_uuid)
    : executor_(executor), store_(store), config_(std::move(config)), new_uuid_(std::move(new_uuid)) {}

Replica::~Replica() { *alive_ = false; }

void Replica::start() {
  beat();
  watch();
  audit();
}

void Replica::beat() {
  Duration sent = executor_.clock().boot();
  store_.beat({config_.id, config_.address, config_.version, ++beat_},
              [this, alive = alive_, sent](Status ok) {
                if (*alive && ok) beat_succeeded(sent);
              });
  executor_.post_after(config_.beat_every, [this, alive = alive_] {
    if (*alive) beat();
  });
}

// A beat that succeeds after too long a silence proves that we live, not that we still own: somebody may
// have taken over in between. Every loop asks the store again before it answers anything.
void Replica::beat_succeeded(Duration sent) {
  bool lapsed = last_good_beat_ && !may_answer_reads();  // also when it was sent in time but came late
  last_good_beat_ = std::max(last_good_beat_.value_or(sent), sent);
  if (!lapsed) return;
  for (auto& [id, loop] : loops_) loop->reacquire();
}

bool Replica::may_answer_reads() const {
  return last_good_beat_ && executor_.clock().boot() - *last_good_beat_ <= config_.lease - config_.margin;
}

void Replica::want(WorkspaceId workspace) {
  wanted_.insert(workspace);
  look();
}

void Replica::look() {
  look_again_ = watching_;  // the look under way may have begun before this was wanted
  if (watching_) return;
  watching_ = true;
  Duration asked = executor_.clock().boot();
  store_.ownerships([this, alive = alive_, asked](Result<Ownerships> rows) {
    if (!*alive) return;
    watching_ = false;
    if (rows) on_ownerships(asked, *rows);
    if (std::exchange(look_again_, false)) look();
  });
}

void Replica::watch() {
  Duration asked = executor_.clock().boot();
  store_.ownerships([this, alive = alive_, asked](Result<Ownerships> rows) {
    if (*alive && rows) on_ownerships(asked, *rows);
  });
  executor_.post_after(config_.beat_every, [this, alive = alive_] {
    if (*alive) watch();
  });
}

void Replica::on_ownerships(Duration asked, const Ownerships& rows) {
  Duration now = executor_.clock().boot();
  std::map<store::ReplicaId, int64_t> beats;
  for (const store::Owner& o : rows.owners) beats[o.replica] = -1;
  for (const store::Replica& r : rows.replicas) beats[r.id] = r.beat;
  for (const auto& [id, beat] : beats) {
    auto [it, is_new] = seen_.try_emplace(id, Seen{beat, now});
    if (!is_new && it->second.beat != beat) it->second = {beat, now};
  }
  std::erase_if(seen_, [&](const auto& entry) { return !beats.contains(entry.first); });

  if (draining_) return;
  for (WorkspaceId workspace : wanted_) {
    if (loops_.contains(workspace)) continue;
    auto owner = std::find_if(rows.owners.begin(), rows.owners.end(),
                              [&](const store::Owner& o) { return o.workspace == workspace; });
    if (owner == rows.owners.end())
      take(workspace, {});
    else if (owner->replica.is_nil() || owner->replica == config_.id || rows.exclusive ||
             is_dead(owner->replica, asked))
      take(workspace, owner->token);
  }
}

// Late news must not make it look dead: the wait counts from when the beat was first heard of to when
// the question that heard it again was asked.
bool Replica::is_dead(store::ReplicaId id, Duration asked) const {
  auto it = seen_.find(id);
  return it != seen_.end() && asked - it->second.since >= config_.lease;
}

void Replica::take(WorkspaceId workspace, store::Token expected) {
  WorkspaceLoop::Host host{
      .executor = executor_,
      .store = store_,
      .replica = config_.id,
      .may_answer_reads = [this] { return may_answer_reads(); },
      .new_token = [this] { return store::Token{new_uuid_()}; },
      .lost =
          [this, workspace] {
            // The loop is still on the stack: it goes in a task of its own.
            auto gone = std::make_shared<std::unique_ptr<WorkspaceLoop>>(std::move(loops_[workspace]));
            loops_.erase(workspace);
            executor_.post([gone] { gone->reset(); });
          },
      .listeners = listeners_,
      .limits = config_.limits};
  auto& loop = loops_[workspace] = std::make_unique<WorkspaceLoop>(std::move(host), workspace);
  loop->start(expected);
}

void Replica::submit(WorkspaceId workspace, Request request, ReplyFn done) {
  auto it = loops_.find(workspace);
  if (it == loops_.end())
    return executor_.post([done = std::move(done)]() mutable {
      done(fail(ErrorCode::kUnavailable, "this replica does not own the workspace"));
    });
  it->second->submit(std::move(request), std::move(done));
}

WorkspaceLoop* Replica::loop(WorkspaceId workspace) {
  auto it = loops_.find(workspace);
  return it == loops_.end() ? nullptr : it->second.get();
}

void Replica::drain(Task done) {
  draining_ = true;
  auto left = std::make_shared<size_t>(loops_.size() + 1);
  auto all_done = std::make_shared<Task>(std::move(done));
  auto one_done = [left, all_done] {
    if (--*left == 0) (*all_done)();
  };
  for (auto& [id, loop] : loops_) loop->drain(one_done);
  executor_.post(one_done);
}

// Slow by design: it is there to notice a missed wake-up, not to do the work.
void Replica::audit() {
  for (auto& [id, loop] : loops_) loop->audit(config_.audit_targets);
  executor_.post_after(config_.audit_every, [this, alive = alive_] {
    if (*alive) audit();
  });
}

}  // namespace ctrlplane
