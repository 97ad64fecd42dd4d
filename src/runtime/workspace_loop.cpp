#include "runtime/workspace_loop.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/log.h"
#include "engine/reconcile.h"
#include "engine/settings.h"

namespace ctrlplane {
namespace {

constexpr size_t kTimersPerTurn = 64;
constexpr Duration kAcquireRetry = milliseconds(200);
constexpr Duration kGiveUp = seconds(10);  // a lease

struct LaneOf {
  Lane operator()(const CancelJob&) { return Lane::kStop; }
  Lane operator()(const CreateFreeze&) { return Lane::kStop; }
  Lane operator()(const UpdateFreeze&) { return Lane::kStop; }
  Lane operator()(const ThawFreeze&) { return Lane::kStop; }
  Lane operator()(const ClaimJob&) { return Lane::kAgents; }
  Lane operator()(const ReportJob&) { return Lane::kAgents; }
  Lane operator()(const Heartbeat&) { return Lane::kAgents; }
  Lane operator()(const BeginSend&) { return Lane::kAgents; }
  Lane operator()(const FinishSend&) { return Lane::kAgents; }
  Lane operator()(const SetProviderResources&) { return Lane::kBackground; }
  template <class C>
  Lane operator()(const C&) {
    return Lane::kApi;
  }
};

// The job a command is about, if it is about one.
std::optional<JobId> job_of(const Command& c) {
  if (const auto* r = std::get_if<ReportJob>(&c)) return r->job;
  if (const auto* r = std::get_if<CancelJob>(&c)) return r->job;
  if (const auto* r = std::get_if<DecideJob>(&c)) return r->job;
  if (const auto* r = std::get_if<ClaimJob>(&c)) return r->job;
  return std::nullopt;
}

// Outcomes of what was begun before are taken to the last.
bool ends_something(const Command& c) { return std::holds_alternative<FinishSend>(c); }

Error not_owner() { return {ErrorCode::kUnavailable, "the workspace is changing its owner: try again"}; }

}  // namespace

Lane lane_of(const Command& command) { return std::visit(LaneOf{}, command); }

WorkspaceLoop::WorkspaceLoop(Host host, WorkspaceId workspace)
    : host_(std::move(host)), workspace_(workspace), row_cap_(host_.limits.min_rows * 4) {}

WorkspaceLoop::~WorkspaceLoop() { *alive_ = false; }

template <class T>
Callback<T> WorkspaceLoop::guarded(void (WorkspaceLoop::*method)(T)) {
  return [this, alive = alive_, method](T value) {
    if (*alive) (this->*method)(std::move(value));
  };
}

Task WorkspaceLoop::guarded(void (WorkspaceLoop::*method)()) {
  return [this, alive = alive_, method] {
    if (*alive) (this->*method)();
  };
}

// ---- Ownership -----------------------------------------------------------------------------------------

void WorkspaceLoop::start(store::Token expected) {
  CHECK(phase_ == Phase::kIdle, "a loop starts once");
  owner_.token = expected;
  acquire();
}

// The one path for start, take-over and after a failed commit: a reload without acquiring first would
// let an unanswered commit land behind its back.
void WorkspaceLoop::acquire() {
  phase_ = Phase::kAcquiring;
  acquire_again_ = false;
  acquiring_since_ = boot();
  next_token_ = host_.new_token();
  host_.store.acquire(workspace_, host_.replica, owner_.token, next_token_,
                      guarded(&WorkspaceLoop::on_acquired));
}

void WorkspaceLoop::reacquire() {
  // The snapshot of a load under way may be older than the lapse; an acquisition is followed by a fresh one.
  if (phase_ == Phase::kLoading) acquire_again_ = true;
  if (phase_ != Phase::kActive) return;
  state_.reset();
  acquire();
}

void WorkspaceLoop::retry_acquire() {
  host_.store.acquire(workspace_, host_.replica, owner_.token, next_token_,
                      guarded(&WorkspaceLoop::on_acquired));
}

void WorkspaceLoop::on_acquired(Result<store::Owner> owner) {
  if (!owner && owner.error().code == ErrorCode::kConflict) return lose(ErrorCode::kUnknown);
  if (!owner) {
    if (boot() - acquiring_since_ > kGiveUp) return lose(ErrorCode::kUnknown);
    host_.executor.post_after(kAcquireRetry, guarded(&WorkspaceLoop::retry_acquire));
    return;
  }
  owner_ = *owner;
  last_now_ = std::max(last_now_, owner_.last_now);
  durable_seq_ = owner_.seq;
  if (in_flight_) {
    // Nobody else owned it in between (the old token was still in place), so seq tells about our batch.
    if (owner_.seq >= in_flight_->commit.seq) {
      batch_is_durable();
    } else {
      fail_replies(waiting_, in_flight_->commit.seq, ErrorCode::kNotCommitted);
      in_flight_.reset();
    }
  }
  // What was decided on top of the batch fails with the state it was decided on.
  fail_replies(waiting_, INT64_MAX, ErrorCode::kNotCommitted);
  gathering_ = {};
  phase_ = Phase::kLoading;
  host_.store.load(workspace_, owner_.token, guarded(&WorkspaceLoop::on_loaded));
}

void WorkspaceLoop::on_loaded(Result<Loaded> loaded) {
  if (!loaded && loaded.error().code == ErrorCode::kUnavailable && boot() - acquiring_since_ <= kGiveUp) {
    host_.executor.post_after(kAcquireRetry, [this, alive = alive_] {
      if (*alive) host_.store.load(workspace_, owner_.token, guarded(&WorkspaceLoop::on_loaded));
    });
    return;
  }
  if (!loaded) {
    if (loaded.error().code != ErrorCode::kConflict)
      log::error("workspace cannot be loaded",
                 {{"workspace", workspace_.str()}, {"error", loaded.error().message}});
    return lose(ErrorCode::kUnknown);
  }
  if (acquire_again_) return acquire();
  state_ = std::move(loaded->state);
  durable_seq_ = loaded->owner.seq;
  last_now_ = std::max(last_now_, loaded->owner.last_now);
  nonce_ = owner_.token.uuid.low() ^ owner_.token.uuid.high();
  gathering_ = {};
  phase_ = Phase::kActive;
  state_->renew_all_leases(boot(), kAgentLease);
  timer_at_.reset();
  timers_are_due_ = urgent_ = false;
  for (FeedListener* l : host_.listeners) l->loaded(*this);
  schedule_turn();
}

void WorkspaceLoop::lose(ErrorCode in_flight_code) {
  phase_ = Phase::kLost;
  state_.reset();
  if (in_flight_) fail_replies(waiting_, in_flight_->commit.seq, in_flight_code);
  in_flight_.reset();
  fail_replies(waiting_, INT64_MAX, ErrorCode::kNotCommitted);
  auto refuse = [](ReplyFn& done) { done(std::unexpected(not_owner())); };
  for (auto& lane : lanes_) {
    for (Pending& p : std::exchange(lane, {})) refuse(p.done);
  }
  for (auto& lost = host_.listeners; FeedListener * l : lost) l->lost(*this);
  if (drained_) host_.executor.post(std::exchange(drained_, nullptr));
  host_.lost();
}

void WorkspaceLoop::fail_replies(std::deque<Waiting>& replies, int64_t up_to, ErrorCode code) {
  auto refuse = [](ReplyFn& done, ErrorCode why) {
    std::string message = why == ErrorCode::kUnknown
                              ? "the outcome is not known: retry with the same Idempotency-Key"
                              : "was not committed: safe to retry";
    done(std::unexpected(Error{why, message}));
  };
  // Who waits for membership, or for what came of it, may have its own write durable already. Then it is
  // answered after the load, which derives membership anew; where there will be none, it must not be called
  // uncommitted.
  std::vector<Waiting> failed = std::exchange(settling_, {});
  for (; !replies.empty() && replies.front().seq <= up_to; replies.pop_front())
    failed.push_back(std::move(replies.front()));
  for (Waiting& w : failed) {
    bool durable = !w.read_only && w.effect <= durable_seq_;
    if (w.effect > up_to || (durable && phase_ != Phase::kLost))
      settling_.push_back(std::move(w));
    else
      refuse(w.done, durable ? ErrorCode::kUnknown : code);
  }
  if (up_to != INT64_MAX) return;
  for (Set& s : std::exchange(sets_, {}))
    refuse(s.done, ErrorCode::kUnknown);  // earlier slices may be durable
}

// ---- Commands ------------------------------------------------------------------------------------------

Time WorkspaceLoop::now() const { return std::max(host_.executor.clock().wall(), last_now_); }

void WorkspaceLoop::submit(Request request, ReplyFn done) {
  auto refuse = [&](Error why) {
    auto later = [done = std::move(done), why = std::move(why)]() mutable {
      done(std::unexpected(std::move(why)));
    };
    host_.executor.post(std::move(later));
  };
  if (phase_ == Phase::kLost || phase_ == Phase::kIdle || (draining_ && !ends_something(request.command)))
    return refuse(not_owner());
  Lane lane = lane_of(request.command);
  auto& queue = lanes_[static_cast<size_t>(lane)];
  if (queue.size() + (lane == Lane::kBackground ? sets_.size() : 0) >=
      host_.limits.queue[static_cast<size_t>(lane)])
    return refuse({ErrorCode::kBusy, "too many requests are waiting for this workspace"});
  queue.push_back({std::move(request), std::move(done), boot()});
  schedule_turn();
}

void WorkspaceLoop::schedule_turn() {
  if (turn_scheduled_ || phase_ != Phase::kActive) return;
  turn_scheduled_ = true;
  host_.executor.post(guarded(&WorkspaceLoop::turn));
}

void WorkspaceLoop::turn() {
  turn_scheduled_ = false;
  if (phase_ != Phase::kActive) return;
  Duration started = boot();
  run_commands();
  bool more = run_background();
  release_settled();
  stats_.slice.add(boot() - started);
  start_commit();
  release_replies();
  schedule_timer();
  if (more || commands_can_run()) schedule_turn();
  if (drained_ && owes_nothing()) host_.executor.post(std::exchange(drained_, nullptr));
}

Tx WorkspaceLoop::begin() {
  last_now_ = now();
  return Tx(*state_, last_now_, boot(), IdSource(last_now_, mix64(nonce_ += 0x632be59bd9b4e019ull)),
            gathering_.changes);
}

// How many rows may be gathered before a lane waits for the commit under way. The first lane never does.
size_t WorkspaceLoop::room_for(Lane lane) const {
  switch (lane) {
    case Lane::kStop: return SIZE_MAX;
    case Lane::kAgents: return row_cap_ * 2;
    default: return row_cap_;
  }
}

// False when everything that waits, waits for a commit: that one comes back to us.
bool WorkspaceLoop::commands_can_run() const {
  size_t rows = gathering_.changes.size();
  if (timers_are_due_ && !draining_ && rows < room_for(Lane::kAgents)) return true;
  for (Lane lane : {Lane::kStop, Lane::kAgents, Lane::kApi})
    if (!lanes_[static_cast<size_t>(lane)].empty() && rows < room_for(lane)) return true;
  return false;
}

void WorkspaceLoop::run_timers() {
  if (!timers_are_due_ || draining_ || gathering_.changes.size() >= room_for(Lane::kAgents)) return;
  Tx tx = begin();
  timers_are_due_ = run_due_timers(tx, kTimersPerTurn);
}

void WorkspaceLoop::run_commands() {
  Duration started = boot();
  run_timers();
  for (Lane lane : {Lane::kStop, Lane::kAgents, Lane::kApi}) {
    auto& queue = lanes_[static_cast<size_t>(lane)];
    size_t most = host_.limits.units_per_slice;
    while (!queue.empty() && most-- > 0) {
      if (lane != Lane::kStop) {
        if (gathering_.changes.size() >= room_for(lane) || boot() - started >= host_.limits.slice) return;
      }
      Pending p = std::move(queue.front());
      queue.pop_front();
      stats_.wait[static_cast<size_t>(lane)].add(boot() - p.submitted);
      execute_one(std::move(p));
      // Whoever stops something waits for this batch: nothing more goes into it.
      if (lane == Lane::kStop) urgent_ = !gathering_.changes.empty();
    }
  }
}

void WorkspaceLoop::execute_one(Pending p) {
  if (may_be_a_retired_tag(p)) return look_up_tag(std::move(p));
  Tx tx = begin();
  Reply reply = execute(tx, p.request);
  if (!reply && reply.error().code == ErrorCode::kNotFound)
    if (auto job = job_of(p.request.command))
      return look_up_ended_job(*job, reply.error(), std::move(p.done));
  bool declares = lane_of(p.request.command) == Lane::kApi && (tx.changed() || (reply && reply->replayed));
  hold_reply(std::move(reply), std::move(p.done), !tx.changed(), declares);
}

// A write that declares things is answered when the targets it implies are there; nobody else waits for that.
void WorkspaceLoop::hold_reply(Reply reply, ReplyFn done, bool read_only, bool declares) {
  Waiting w{seen_seq(), seen_seq(), std::move(reply), std::move(done), read_only};
  if (declares && w.reply && !state_->settled())
    settling_.push_back(std::move(w));
  else
    waiting_.push_back(std::move(w));
}

// Membership is complete: who waited for that now waits for durability of what it took.
void WorkspaceLoop::release_settled() {
  if (settling_.empty() || !state_->settled()) return;
  for (Waiting& w : settling_) {
    w.seq = seen_seq();
    waiting_.push_back(std::move(w));
  }
  settling_.clear();
}

// Terminal is final: a job that is not in memory has ended or never was, and the store knows which. That it
// is not in memory is something the state said: the refusal waits for durability and the lease like any.
void WorkspaceLoop::look_up_ended_job(JobId job, Error original, ReplyFn done) {
  // Its end may still be on its way to the store: what this refusal was computed from must be there first.
  ++looking_up_;
  auto durable = [this, alive = alive_, job, original, done = std::move(done)](Reply reply) mutable {
    if (!*alive) return done(std::unexpected(not_owner()));
    --looking_up_;
    if (reply || reply.error() != original)
      return done(std::move(reply));  // the workspace was lost meanwhile
    read_ended_job(job, std::move(original), std::move(done));
  };
  hold_reply(std::unexpected(original), std::move(durable), true);
}

void WorkspaceLoop::read_ended_job(JobId job, Error original, ReplyFn done) {
  ++looking_up_;
  auto answered = [this, alive = alive_, token = owner_.token, done = std::move(done),
                   original = std::move(original)](Result<std::optional<Job>> found) mutable {
    if (!*alive) return done(std::unexpected(not_owner()));
    --looking_up_;
    schedule_turn();
    if (!found) return done(std::unexpected(found.error()));
    // Loaded again since: the job may be there after all.
    if (phase_ != Phase::kActive || owner_.token != token) return done(std::unexpected(not_owner()));
    if (*found && is_terminal((*found)->status)) {
      log::warn("a report on a job that has ended", {{"job", (*found)->id.str()}});
      original = {ErrorCode::kConflict,
                  fmt::format("job {} is {} already", (*found)->id.str(), to_string((*found)->status))};
    }
    hold_reply(std::unexpected(std::move(original)), std::move(done), true);
  };
  host_.store.read_job(workspace_, job, std::move(answered));
}

// A tag is used once, also one whose version has long left memory. Versions made from here on are hot, so
// asking the store before the command runs leaves no gap.
bool WorkspaceLoop::may_be_a_retired_tag(const Pending& p) const {
  const auto* c = std::get_if<CreateVersion>(&p.request.command);
  if (!c || p.tag_is_free || replay(*state_, p.request)) return false;
  DeploymentIx d = state_->deployments.find(c->deployment);
  return d && state_->deployments[d].versions.size() >= kHotVersions && !state_->version_tagged(d, c->tag);
}

void WorkspaceLoop::look_up_tag(Pending p) {
  const auto& c = std::get<CreateVersion>(p.request.command);
  DeploymentId deployment = c.deployment;
  std::string tag = c.tag;
  ++looking_up_;
  auto answered = [this, alive = alive_, p = std::move(p)](Result<std::optional<Version>> found) mutable {
    if (*alive) {
      --looking_up_;
      schedule_turn();
    }
    if (!found) return p.done(std::unexpected(found.error()));
    if (*found)
      return p.done(fail(ErrorCode::kConflict, fmt::format("tag '{}' exists already: version {}",
                                                           (*found)->tag, (*found)->id.str())));
    if (!*alive || phase_ == Phase::kLost) return p.done(std::unexpected(not_owner()));
    p.tag_is_free = true;
    lanes_[static_cast<size_t>(Lane::kApi)].push_front(std::move(p));
  };
  host_.store.read_version(workspace_, deployment, std::move(tag), std::move(answered));
}

// ---- Background ----------------------------------------------------------------------------------------

bool WorkspaceLoop::background_is_pending() const {
  if (!sets_.empty() || !lanes_[static_cast<size_t>(Lane::kBackground)].empty()) return true;
  // While draining only for those who wait for it.
  return has_work(*state_) && (!draining_ || !settling_.empty());
}

// Long work, unit by unit, until the slice or the batch is used up. True if it should go on next turn.
bool WorkspaceLoop::run_background() {
  const Duration started = boot();  // its own slice: commands must not starve it
  auto& queue = lanes_[static_cast<size_t>(Lane::kBackground)];
  for (; !queue.empty(); queue.pop_front()) {
    Pending& p = queue.front();
    stats_.wait[static_cast<size_t>(Lane::kBackground)].add(boot() - p.submitted);
    if (auto earlier = replay(*state_, p.request)) {
      hold_reply(*earlier, std::move(p.done), true, true);
      continue;
    }
    ProviderSet work(std::get<SetProviderResources>(std::move(p.request.command)));
    sets_.push_back({std::move(work), std::move(p.request), std::move(p.done)});
  }
  for (size_t unit = 0; unit < host_.limits.units_per_slice; ++unit) {
    if (gathering_.changes.size() >= row_cap_) return false;  // the commit under way comes back to us
    if (urgent_) return !in_flight_ && background_is_pending();
    if (boot() - started >= host_.limits.slice) return background_is_pending();
    Tx tx = begin();
    if (!background_is_pending()) return false;
    bool set_turn = !sets_.empty() && (unit % 2 == 0 || !has_work(*state_));
    if (set_turn)
      step_set(tx);
    else if (work(tx))
      ++stats_.decisions;
    else if (sets_.empty())
      return false;
  }
  return background_is_pending();
}

bool WorkspaceLoop::step_set(Tx& tx) {
  Set& s = sets_.front();
  if (!s.work.step(tx)) return false;
  tx.actor = s.request.actor;
  Reply reply = s.work.reply();
  if (reply && s.request.render) reply->text = s.request.render(*state_, tx.now, *reply);
  if (reply) remember(tx, s.request, *reply);
  hold_reply(std::move(reply), std::move(s.done), false, true);
  sets_.pop_front();
  return true;
}

void WorkspaceLoop::audit(size_t count) {
  schedule_timer();
  if (phase_ != Phase::kActive || !sets_.empty() || has_work(*state_) || state_->target_bound() == 0) return;
  // A clock that was set forward: what is due by it has not had its turn yet.
  const Time at = now();
  if (auto next = state_->timers.next(); timers_are_due_ || (next && *next <= at)) return;
  for (size_t i = 0; i < count; ++i) {
    audit_cursor_ = (audit_cursor_ + 1) % state_->target_bound();
    TargetIx t{audit_cursor_};
    const std::string missed = state_->at(t).exists ? audit_target(*state_, at, t) : std::string();
    if (missed.empty()) continue;
    ++stats_.missed_wakeups;
    log::error("a target was not woken", {{"target", state_->key_of(t).str()}, {"missed", missed}});
  }
  if (has_work(*state_)) schedule_turn();
}

// Whatever is due first, on either clock. Looked at again every turn and by the audit, because a wall clock
// may be set in between.
void WorkspaceLoop::schedule_timer() {
  if (phase_ != Phase::kActive || timers_are_due_) return;
  Duration at = kNoLease;
  // By the clock itself: while it is behind the workspace's time, that stands still.
  if (auto next = state_->timers.next())
    at = boot() + (*next <= now() ? Duration{0} : *next - host_.executor.clock().wall());
  if (auto next = state_->lease_timers.next()) at = std::min(at, *next);
  if (at == kNoLease || (timer_at_ && *timer_at_ <= at)) return;
  timer_at_ = at;
  host_.executor.post_after(at - boot(), [this, alive = alive_, at] {
    if (!*alive || timer_at_ != at) return;
    timer_at_.reset();
    timers_are_due_ = true;
    schedule_turn();
  });
}

// ---- Commits -------------------------------------------------------------------------------------------

// The commit that must be durable before anything computed from the state as it is now may be told.
int64_t WorkspaceLoop::seen_seq() const {
  int64_t seq = in_flight_ ? in_flight_->commit.seq : durable_seq_;
  return gathering_.changes.empty() ? seq : seq + 1;
}

void WorkspaceLoop::start_commit() {
  if (in_flight_ || gathering_.changes.empty()) return;
  gathering_.workspace = workspace_;
  gathering_.token = owner_.token;
  gathering_.seq = durable_seq_ + 1;
  gathering_.now = last_now_;
  gathering_.next_due_at = state_->timers.next();
  in_flight_ = Batch{std::exchange(gathering_, {}), boot()};
  urgent_ = false;
  // An answer can come after the batch was resolved otherwise: then it is not about the one in flight.
  auto answered = [this, alive = alive_, token = owner_.token, seq = in_flight_->commit.seq](auto outcome) {
    if (*alive && in_flight_ && in_flight_->commit.token == token && in_flight_->commit.seq == seq)
      on_committed(outcome);
  };
  host_.store.commit(in_flight_->commit, std::move(answered));
}

void WorkspaceLoop::on_committed(store::CommitOutcome outcome) {
  if (phase_ != Phase::kActive) return;  // acquiring again already: seq will tell
  if (outcome == store::CommitOutcome::kDurable) {
    Duration took = boot() - in_flight_->sent;
    stats_.commit.add(took);
    adapt_row_cap(in_flight_->commit.changes.size(), took);
    batch_is_durable();
    // A turn that waits for its place in the queue comes anyway; another one beside it would never end.
    if (!turn_scheduled_) return turn();
    return start_commit();
  }
  state_.reset();
  if (outcome == store::CommitOutcome::kFenced) return lose(ErrorCode::kNotCommitted);
  acquire();
}

void WorkspaceLoop::batch_is_durable() {
  Batch batch = *std::exchange(in_flight_, std::nullopt);
  durable_seq_ = batch.commit.seq;
  ++stats_.commits;
  stats_.rows += batch.commit.changes.size();
  for (FeedListener* l : host_.listeners)
    l->committed(workspace_, batch.commit.seq, batch.commit.now, batch.commit.changes);
  release_replies();
}

void WorkspaceLoop::release_replies() {
  while (!waiting_.empty() && waiting_.front().seq <= durable_seq_) {
    Waiting w = std::move(waiting_.front());
    waiting_.pop_front();
    if (w.read_only && !host_.may_answer_reads())
      w.done(std::unexpected(not_owner()));
    else
      w.done(std::move(w.reply));
  }
}

void WorkspaceLoop::adapt_row_cap(size_t rows, Duration took) {
  const LoopLimits& l = host_.limits;
  if (took > l.planned_commit)
    row_cap_ = std::max(l.min_rows, row_cap_ * 3 / 4);
  else if (rows >= row_cap_ && took.us < l.planned_commit.us * 3 / 4)
    row_cap_ = std::min(l.max_rows, row_cap_ * 5 / 4);
}

// Whoever was promised an answer has it.
bool WorkspaceLoop::owes_nothing() const {
  if (phase_ == Phase::kLost) return true;
  if (phase_ != Phase::kActive || in_flight_ || !gathering_.changes.empty() || looking_up_ > 0) return false;
  if (!waiting_.empty() || !settling_.empty() || !sets_.empty()) return false;
  return std::all_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane.empty(); });
}

bool WorkspaceLoop::has_long_work() const {
  return !active() || !sets_.empty() || !settling_.empty() ||
         !lanes_[static_cast<size_t>(Lane::kBackground)].empty();
}

bool WorkspaceLoop::idle() const {
  return owes_nothing() && (phase_ == Phase::kLost || (!timers_are_due_ && !background_is_pending()));
}

void WorkspaceLoop::drain(Task done) {
  draining_ = true;
  if (owes_nothing()) return host_.executor.post(std::move(done));
  drained_ = std::move(done);
  schedule_turn();
}

void WorkspaceLoop::resign() {
  CHECK(draining_ && owes_nothing(), "a loop resigns when it owes nothing");
  if (phase_ != Phase::kLost) lose(ErrorCode::kUnknown);
}

}  // namespace ctrlplane
