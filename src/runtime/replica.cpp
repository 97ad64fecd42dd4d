#include "runtime/replica.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace ctrlplane {
namespace {

// A replica that owns nothing and has been silent for so long is not coming back.
constexpr Duration kForget = minutes(10);

}  // namespace

Replica::Replica(Executor& executor, StorePort& store, ReplicaConfig config, std::function<Uuid()> new_uuid)
    : executor_(executor), store_(store), config_(std::move(config)), new_uuid_(std::move(new_uuid)) {}

Replica::~Replica() { *alive_ = false; }

void Replica::start() {
  started_ = true;
  beat();
  watch();
  audit();
}

// ---- The lease -------------------------------------------------------------------------------------------

void Replica::beat() {
  if (!beating_) return;
  send_beat();
  executor_.post_after(config_.beat_every, [this, alive = alive_] {
    if (*alive) beat();
  });
}

void Replica::send_beat() {
  Duration sent = executor_.clock().boot();
  store_.beat({config_.id, config_.address, config_.version, ++beat_, leaving_},
              [this, alive = alive_, sent](Status ok) {
                if (*alive && ok) beat_succeeded(sent);
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

// ---- Watching --------------------------------------------------------------------------------------------

void Replica::want(WorkspaceId workspace) {
  if (wanted_.insert(workspace).second && started_) look();
}

void Replica::want_only(std::set<WorkspaceId> workspaces) {
  if (wanted_ == workspaces) return;
  wanted_ = std::move(workspaces);
  if (started_) look();
}

void Replica::look() {
  look_again_ = looking_;  // the look under way may have begun too early
  if (looking_) return;
  looking_ = true;
  Duration asked = executor_.clock().boot();
  store_.ownerships([this, alive = alive_, asked](Result<Ownerships> rows) {
    if (!*alive) return;
    looking_ = false;
    if (rows) on_ownerships(asked, *std::move(rows));
    if (std::exchange(look_again_, false)) look();
  });
}

void Replica::watch() {
  // Not by way of look(): an answer that never comes must not end the watch.
  Duration asked = executor_.clock().boot();
  store_.ownerships([this, alive = alive_, asked](Result<Ownerships> rows) {
    if (*alive && rows) on_ownerships(asked, *std::move(rows));
  });
  executor_.post_after(config_.look_every, [this, alive = alive_] {
    if (*alive) watch();
  });
}

void Replica::on_ownerships(Duration asked, Ownerships rows) {
  if (asked < view_.asked) return;  // answers may overtake each other
  view_ = {asked, std::move(rows)};
  note_beats();
  note_orphans(asked);
  for (const auto& viewer : viewers_) viewer(view_);
  if (!draining_) follow_plan();
  if (left_ && has_left()) executor_.post(std::exchange(left_, nullptr));
}

void Replica::note_beats() {
  Duration now = executor_.clock().boot();
  std::map<store::ReplicaId, store::Replica> rows;
  for (const store::Owner& o : view_.rows.owners) rows[o.replica] = {.id = o.replica, .beat = -1};
  for (const store::Replica& r : view_.rows.replicas) rows[r.id] = r;
  for (const auto& [id, row] : rows) {
    auto [it, is_new] = seen_.try_emplace(id, Seen{row.beat, now});
    if (!is_new && it->second.beat != row.beat) it->second = {row.beat, now, true};
    it->second.leaving = row.leaving;
  }
  std::erase_if(seen_, [&](const auto& entry) { return !rows.contains(entry.first); });
  forget_the_dead();
}

// Late news must not make it look dead: the wait counts from when the beat was first heard of to when
// the question that heard it again was asked.
bool Replica::is_dead(store::ReplicaId id, Duration asked) const {
  auto it = seen_.find(id);
  return it != seen_.end() && asked - it->second.since >= config_.lease;
}

bool Replica::lives(store::ReplicaId id) const {
  if (id == config_.id) return true;
  return seen_.contains(id) && !view_.rows.exclusive && !is_dead(id, view_.asked);
}

bool Replica::has_seat(store::ReplicaId id) const {
  if (id == config_.id) return !leaving_ && !draining_;
  auto it = seen_.find(id);
  return lives(id) && it->second.moved && it->second.beat >= 0 && !it->second.leaving;
}

void Replica::note_orphans(Duration asked) {
  std::set<WorkspaceId> owned;
  for (const store::Owner& o : view_.rows.owners)
    if (!o.replica.is_nil() && lives(o.replica)) owned.insert(o.workspace);
  for (WorkspaceId w : wanted_)
    if (!owned.contains(w)) orphan_since_.try_emplace(w, asked);
  std::erase_if(orphan_since_, [&](const auto& entry) {
    return owned.contains(entry.first) || !wanted_.contains(entry.first);
  });
}

// Rows of processes that ended badly.
void Replica::forget_the_dead() {
  Duration now = executor_.clock().boot();
  for (const auto& [id, seen] : seen_) {
    if (id == config_.id || id.is_nil() || seen.beat < 0 || now - seen.since < kForget) continue;
    bool owns = std::any_of(view_.rows.owners.begin(), view_.rows.owners.end(),
                            [&](const store::Owner& o) { return o.replica == id; });
    if (!owns) store_.forget(id, [](Status) {});
  }
}

std::optional<Peer> Replica::owner_of(WorkspaceId workspace) const {
  for (const store::Owner& o : view_.rows.owners) {
    if (o.workspace != workspace) continue;
    if (o.replica.is_nil() || o.replica == config_.id || !lives(o.replica)) return std::nullopt;
    for (const store::Replica& r : view_.rows.replicas)
      if (r.id == o.replica && !r.address.empty()) return Peer{r.id, r.address};
  }
  return std::nullopt;
}

// ---- Taking and giving -----------------------------------------------------------------------------------

void Replica::follow_plan() {
  Placing placing{.self = config_.id, .seats = {}, .workspaces = {}};
  if (has_seat(config_.id)) placing.seats.insert(config_.id);
  for (const auto& [id, seen] : seen_)
    if (has_seat(id)) placing.seats.insert(id);
  std::map<WorkspaceId, const store::Owner*> rows;
  for (const store::Owner& o : view_.rows.owners) rows[o.workspace] = &o;
  for (WorkspaceId w : wanted_) {
    auto row = rows.find(w);
    std::optional<store::ReplicaId> owner;
    if (loops_.contains(w))
      owner = config_.id;
    else if (row != rows.end() && !row->second->replica.is_nil() && row->second->replica != config_.id &&
             lives(row->second->replica))
      owner = row->second->replica;
    auto orphan = orphan_since_.find(w);
    bool overdue = orphan != orphan_since_.end() && view_.asked - orphan->second >= config_.overdue;
    // Ours by its row, but the loop gave up: to the others it looks owned, so nobody else will take it.
    overdue |= !owner && row != rows.end() && row->second->replica == config_.id;
    placing.workspaces.push_back({w, owner, overdue});
  }
  Placement placement = place(placing);
  for (WorkspaceId w : placement.take) {
    if (giving_.contains(w) || loops_.contains(w)) continue;
    auto row = rows.find(w);
    take(w, row == rows.end() ? store::Token{} : row->second->token);
  }
  if (!giving_.empty()) return;
  for (const auto& [id, loop] : loops_)
    if (!wanted_.contains(id)) return give(id);  // it was deleted
  if (placement.give && (leaving_ || !loops_.at(*placement.give)->has_long_work())) give(*placement.give);
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

void Replica::give(WorkspaceId workspace) {
  log::info("giving a workspace away", {{"workspace", workspace.str()}});
  giving_.insert(workspace);
  loops_.at(workspace)->drain([this, alive = alive_, workspace] {
    if (!*alive) return;
    give_drained(workspace, [this] { look(); });
  });
}

// The row is cleared after the loop is gone: nothing is committed under a token that anybody may replace.
void Replica::give_drained(WorkspaceId workspace, std::function<void()> then) {
  auto it = loops_.find(workspace);
  if (it == loops_.end()) {  // lost meanwhile
    giving_.erase(workspace);
    return then();
  }
  WorkspaceLoop& loop = *it->second;
  if (!loop.owes_nothing())
    return loop.drain([this, alive = alive_, workspace, then] {
      if (*alive) give_drained(workspace, then);
    });
  store::Token token = loop.token();
  loop.resign();
  store_.release(workspace, token, [this, alive = alive_, workspace, then](Status released) {
    if (!*alive) return;
    if (!released)
      log::warn("a workspace could not be given back: the next owner waits for the lease",
                {{"workspace", workspace.str()}, {"error", released.error().message}});
    giving_.erase(workspace);
    then();
  });
}

// ---- Ending ----------------------------------------------------------------------------------------------

bool Replica::has_company() const {
  return std::any_of(seen_.begin(), seen_.end(),
                     [&](const auto& s) { return s.first != config_.id && has_seat(s.first); });
}

bool Replica::has_left() const {
  return !has_company() || (loops_.empty() && giving_.empty() && orphan_since_.empty());
}

void Replica::leave(Duration patience, Task done) {
  leaving_ = true;
  left_ = std::move(done);
  send_beat();  // tells the others
  look();
  executor_.post_after(patience, [this, alive = alive_] {
    if (*alive && left_) std::exchange(left_, nullptr)();
  });
}

void Replica::drain(Task done) {
  draining_ = true;
  auto left = std::make_shared<size_t>(loops_.size() + 1);
  auto last = std::make_shared<Task>(std::move(done));
  auto one_done = [this, alive = alive_, left, last] {
    if (--*left > 0) return;
    if (!*alive) return (*last)();
    beating_ = false;
    store_.forget(config_.id, [last](Status) { (*last)(); });
  };
  std::vector<WorkspaceId> all;
  for (auto& [id, loop] : loops_) all.push_back(id);
  for (WorkspaceId id : all) {
    loops_.at(id)->drain(
        [this, alive = alive_, id, one_done] { *alive ? give_drained(id, one_done) : one_done(); });
  }
  executor_.post(one_done);
}

// ---- Commands --------------------------------------------------------------------------------------------

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

bool Replica::serves(WorkspaceId workspace) const {
  auto it = loops_.find(workspace);
  return it != loops_.end() && !it->second->draining() && !it->second->lost();
}

// Slow by design: it is there to notice a missed wake-up, not to do the work.
void Replica::audit() {
  for (auto& [id, loop] : loops_) loop->audit(config_.audit_targets);
  executor_.post_after(config_.audit_every, [this, alive = alive_] {
    if (*alive) audit();
  });
}

}  // namespace ctrlplane
