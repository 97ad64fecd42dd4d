#include "sim/agents.h"

namespace ctrlplane::sim {
namespace {

constexpr Duration kLease = minutes(5);
constexpr Duration kHeartbeat = seconds(30);

// "Did not work" that may be tried again, as opposed to an answer.
bool is_silence(const Reply& r) {
  if (r) return false;
  switch (r.error().code) {
    case ErrorCode::kUnknown:
    case ErrorCode::kNotCommitted:
    case ErrorCode::kUnavailable:
    case ErrorCode::kBusy: return true;
    default: return false;
  }
}

// Shorter where several follow each other.
Duration run_time(World& world) {
  Rng& rng = world.rng;
  if (world.has_brackets && !rng.chance(0.1)) return rng.between(seconds(1), seconds(30));
  return rng.chance(0.2) ? rng.between(minutes(4), minutes(14)) : rng.between(seconds(1), seconds(90));
}

}  // namespace

// ---- Pull ----------------------------------------------------------------------------------------------

PullAgent::PullAgent(World& world, WorkspaceId w, AgentId agent, std::string name, bool fences_itself)
    : world_(world), w_(w), agent_(agent), name_(std::move(name)), fences_itself_(fences_itself) {}

void PullAgent::call(Request r, Callback<Reply> done) {
  if (world_.time.now() < cut_off_until_) {
    world_.time.after(seconds(10),
                      [done = std::move(done)]() mutable { done(fail(ErrorCode::kUnknown, "cut off")); });
    return;
  }
  bool twice = !world_.calm && world_.rng.chance(0.03);
  if (twice) {
    ++world_.faults["agent message doubled"];
    world_.call(w_, r, [](Reply) {});
  }
  world_.call(w_, std::move(r), std::move(done));
}

void PullAgent::poll() {
  if (phase_ == Phase::kIdle) claim();
  world_.time.after(world_.rng.between(seconds(2), seconds(world_.calm ? 20 : 8)), [this] { poll(); });
}

// Some agents are told of a job by other means and ask for that one.
std::optional<JobId> PullAgent::a_waiting_job() {
  const auto& t = store::table_named("job");
  std::vector<JobId> waiting;
  for (const auto& [key, row] : world_.store.rows(w_, t))
    if (std::get<std::string>(row[t.column("status")]) == "pending" &&
        std::get<Uuid>(row[t.column("agent_id")]) == agent_.uuid)
      waiting.push_back({std::get<Uuid>(key[0])});
  if (waiting.empty()) return std::nullopt;
  return waiting[world_.rng.below(waiting.size())];
}

void PullAgent::claim() {
  phase_ = Phase::kClaiming;
  Duration sent = world_.time.now();
  auto named = world_.rng.chance(0.1) ? a_waiting_job() : std::nullopt;
  call({ClaimJob{agent_, named, instance(), fences_itself_}},
       [this, sent, named, me = incarnation_](Reply reply) {
         if (named && !reply && reply.error().code == ErrorCode::kFrozen && !reply.error().details.empty())
           world_.checker.refused_as_frozen(w_, *named, reply.error().details[0].message);
         if (me != incarnation_) return;
         phase_ = Phase::kIdle;
         if (!reply || !reply->job) return;
         job_ = reply->job;
         world_.checker.agent_received(w_, job_->id);
         lease_until_ = sent + kLease;
         confirm();
       });
}

// The command runs only after the in_progress report was accepted.
void PullAgent::confirm() {
  phase_ = Phase::kConfirming;
  call({ReportJob{job_->id, instance(), JobStatus::kInProgress, {}, {}}},
       [this, me = incarnation_](Reply reply) {
         if (me != incarnation_) return;
         if (is_silence(reply))
           return world_.time.after(seconds(1), [this, me] {
             if (me != incarnation_) return;
             if (world_.time.now() + seconds(20) < lease_until_) return confirm();
             phase_ = Phase::kIdle;  // too late to be sure: give it up
             job_.reset();
           });
         if (!reply || world_.time.now() >= lease_until_) {
           phase_ = Phase::kIdle;
           job_.reset();
           return;
         }
         run();
       });
}

void PullAgent::run() {
  phase_ = Phase::kRunning;
  command_runs_ = true;
  ++world_.starts;
  world_.checker.agent_started(w_, job_->id, job_->target, world_.wall());
  world_.checker.agent_holds_until(w_, job_->id, lease_until_);
  result_ = world_.rng.chance(0.85) ? JobStatus::kSuccessful : JobStatus::kFailure;
  world_.time.after(run_time(world_), [this, me = incarnation_, id = job_->id] {
    if (me == incarnation_ && phase_ == Phase::kRunning && job_ && job_->id == id) {
      stop_command();
      phase_ = Phase::kReporting;
      finish();
    }
  });
  beat();
}

void PullAgent::beat() {
  world_.time.after(kHeartbeat, [this, me = incarnation_, id = job_->id] {
    if (me != incarnation_ || !job_ || job_->id != id || phase_ != Phase::kRunning) return;
    if (fences_itself_ && world_.time.now() + seconds(35) >= lease_until_) {
      stop_command();  // its lease is about to end, and nobody can be heard
      phase_ = Phase::kReporting;
      result_ = JobStatus::kFailure;
      return finish();
    }
    Duration sent = world_.time.now();
    call({Heartbeat{instance(), {id}}}, [this, me, id, sent](Reply reply) {
      if (me != incarnation_ || !job_ || job_->id != id || phase_ != Phase::kRunning || !reply) return;
      lease_until_ = sent + kLease;
      world_.checker.agent_holds_until(w_, id, lease_until_);
      if (reply->jobs.empty()) return;
      stop_command();
      phase_ = Phase::kReporting;
      result_ = JobStatus::kCancelled;
      finish();
    });
    beat();
  });
}

void PullAgent::stop_command() {
  if (!std::exchange(command_runs_, false)) return;
  world_.checker.agent_stopped(w_, job_->id, world_.wall());
}

void PullAgent::finish() {
  call({ReportJob{job_->id, instance(), result_, "done", {}}}, [this, me = incarnation_](Reply reply) {
    if (me != incarnation_) return;
    if (is_silence(reply)) {
      world_.time.after(seconds(3), [this, me] {
        if (me == incarnation_) finish();
      });
      return;
    }
    phase_ = Phase::kIdle;
    job_.reset();
  });
}

void PullAgent::crash() {
  if (job_) stop_command();
  ++incarnation_;
  job_.reset();
  phase_ = Phase::kIdle;
}

// ---- Push ----------------------------------------------------------------------------------------------

void PushBackend::arrive(WorkspaceId w, const Job& job, bool deduplicates) {
  bool is_new = known_.insert({w, job.id}).second;
  if (!is_new && deduplicates) return;
  world_.checker.agent_received(w, job.id);
  ++world_.starts;
  world_.checker.agent_started(w, job.id, job.target, world_.wall());
  bool forgets = !world_.calm && world_.rng.chance(0.05);  // runs, but never tells anybody
  JobStatus status = world_.rng.chance(0.85) ? JobStatus::kSuccessful : JobStatus::kFailure;
  world_.time.after(run_time(world_), [this, w, id = job.id, status, forgets] {
    if (!world_.checker.is_running(w, id)) return;
    world_.checker.agent_stopped(w, id, world_.wall());
    if (forgets)
      ++world_.faults["push agent never reports"];
    else
      report(w, id, status);
  });
}

void PushBackend::report(WorkspaceId w, JobId job, JobStatus status) {
  world_.call(w, {ReportJob{job, {}, status, "done", "run-1"}}, [this, w, job, status](Reply reply) {
    if (is_silence(reply)) world_.time.after(seconds(5), [this, w, job, status] { report(w, job, status); });
  });
}

void PushBackend::cancel(WorkspaceId w, JobId job) {
  if (!world_.checker.is_running(w, job)) return;
  world_.checker.agent_stopped(w, job, world_.wall());
  report(w, job, JobStatus::kCancelled);
}

void PushMessenger::deliver(const SendPermit& permit,
                            std::move_only_function<void(SendOutcome, std::string)> done) {
  auto answer = [this, done = std::move(done)](Duration after, SendOutcome outcome) mutable {
    world_.time.after(after, [process = process_, outcome, done = std::move(done)]() mutable {
      auto p = process.lock();
      if (p) p->post([done = std::move(done), outcome]() mutable { done(outcome, "as the network had it"); });
    });
  };
  Rng& rng = world_.rng;
  WorkspaceId w = *std::find_if(world_.workspaces.begin(), world_.workspaces.end(), [&](WorkspaceId x) {
    const auto& t = store::table_named("outbox");
    return world_.store.rows(x, t).contains({store::Cell(permit.item.id.uuid)});
  });
  if (permit.item.kind == OutboxKind::kNotice) return answer(milliseconds(20), SendOutcome::kAccepted);
  Duration there = rng.between(milliseconds(1), world_.calm ? milliseconds(20) : seconds(20));
  if (permit.mode == SendMode::kAsk) {
    if (!world_.calm && rng.chance(0.2)) return answer(seconds(10), SendOutcome::kInDoubt);
    bool known = backend_.knows(w, *permit.item.job);
    return answer(milliseconds(30), known ? SendOutcome::kAccepted : SendOutcome::kNotSent);
  }
  if (!world_.calm && rng.chance(0.1)) {
    ++world_.faults["push refused"];
    return answer(milliseconds(1), SendOutcome::kNotSent);
  }
  bool lost = !world_.calm && rng.chance(0.08);
  bool unanswered = !world_.calm && rng.chance(0.08);
  if (lost) ++world_.faults["push lost"];
  if (unanswered) ++world_.faults["push answer lost"];
  if (!lost)
    world_.time.after(there, [this_backend = &backend_, w, permit, keyed = channel_ == "webhook-keyed"] {
      if (permit.item.kind == OutboxKind::kCancel)
        this_backend->cancel(w, *permit.item.job);
      else if (permit.job)
        this_backend->arrive(w, *permit.job, keyed);
    });
  if (lost || unanswered || there > seconds(10)) return answer(seconds(10), SendOutcome::kInDoubt);
  answer(there + milliseconds(5), SendOutcome::kAccepted);
}

}  // namespace ctrlplane::sim
