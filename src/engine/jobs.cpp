#include "engine/jobs.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/admission.h"
#include "engine/brackets.h"
#include "engine/handover.h"
#include "engine/outbox.h"
#include "engine/settings.h"
#include "model/agent_type.h"
#include "policy/judge.h"

namespace ctrlplane {
namespace {

// Jobs that a claim looks at. Those that are refused are set aside, so the next claim gets further.
constexpr size_t kMaxLooked = 512;

Result<JobIx> find_live(const State& state, JobId id) {
  JobIx j = state.jobs.find(id);
  if (!j) return fail(ErrorCode::kNotFound, fmt::format("job {} is not active", id.str()));
  if (is_terminal(state.jobs[j].row.status))
    return fail(ErrorCode::kConflict,
                fmt::format("job {} is {} already", id.str(), to_string(state.jobs[j].row.status)));
  return j;
}

void remember_success(TargetState& row, const Job& job, Time now) {
  row.current_release = job.release;
  row.current_version = job.version;
  row.current_since = now;
  row.attempts = 0;
  auto known =
      std::find_if(row.past.begin(), row.past.end(), [&](const auto& p) { return p.version == job.version; });
  PastVersion entry{job.version, now};
  if (known != row.past.end()) {
    entry.first_success = known->first_success;
    row.past.erase(known);
  }
  row.past.push_back(entry);
  while (row.past.size() > kMaxPast) row.past.erase(row.past.begin());
}

// How an attempt went that was not successful: of several ends the one that leaves most to be desired.
JobStatus gravest(const std::vector<Job>& attempt) {
  constexpr JobStatus kGravestFirst[] = {JobStatus::kFailure,
                                         JobStatus::kInvalidJobAgent,
                                         JobStatus::kInvalidIntegration,
                                         JobStatus::kExternalRunNotFound,
                                         JobStatus::kCancelled,
                                         JobStatus::kSkipped};
  for (JobStatus s : kGravestFirst)
    if (std::any_of(attempt.begin(), attempt.end(), [&](const Job& j) { return j.status == s; })) return s;
  return JobStatus::kFailure;
}

// False if a version ended so here before.
bool remember_ending(TargetState& row, VersionId version, JobStatus status, Time now) {
  auto same = [&](const Ending& e) { return e.version == version && e.status == status; };
  if (std::any_of(row.endings.begin(), row.endings.end(), same)) return false;
  if (row.endings.size() >= kMaxEndings) row.endings.erase(row.endings.begin());
  row.endings.push_back({version, status, now});
  return true;
}

// Denied versions that would not be selected anyway are forgotten: those behind a newer one that was denied
// too, unless they ran here, and those behind the current one that are too old to be in memory otherwise.
void forget_denied(const State& state, TargetIx t, TargetState& row) {
  if (row.denied.empty()) return;
  const auto& hot = state.deployments[state.at(t).deployment].versions;
  auto version = [&](VersionId id) -> const Version& { return state.versions[state.versions.find(id)].row; };
  auto order = [](const Version& v) { return std::pair(v.created_at, v.id); };
  std::erase_if(row.denied, [&](VersionId id) { return !state.versions.find(id); });
  std::optional<std::pair<Time, VersionId>> newest;
  for (VersionId id : row.denied)
    newest = newest ? std::max(*newest, order(version(id))) : order(version(id));
  auto ran_here = [&](VersionId id) {
    return std::any_of(row.past.begin(), row.past.end(),
                       [&](const PastVersion& p) { return p.version == id; });
  };
  const VersionIx current = row.current_version ? state.versions.find(*row.current_version) : VersionIx{};
  std::erase_if(row.denied, [&](VersionId id) {
    const auto at = order(version(id));
    const bool old = hot.size() > kHotVersions && at < order(state.versions[hot[kHotVersions - 1]].row);
    if (old && current && at < order(state.versions[current].row)) return true;
    return at != *newest && id != row.last_version && !ran_here(id);
  });
}

// All jobs of the attempt are terminal: they leave memory, and the target takes note.
void end_attempt(Tx& tx, TargetIx t, std::vector<Job> attempt, const Job& last) {
  std::optional<TargetState> row;
  std::optional<JobStatus> first_ended_so;
  if (t) {
    row = tx.state.row_of(t);
    bool engine_ended_it =
        std::any_of(attempt.begin(), attempt.end(), [](const Job& j) { return j.cancelled_by_engine; });
    // Of several jobs one that failed says how the attempt went. What the engine ended was no attempt.
    auto failed = std::find_if(attempt.begin(), attempt.end(),
                               [](const Job& j) { return j.status != JobStatus::kSuccessful; });
    if (!engine_ended_it || !row->last_job) {
      row->last_job = failed == attempt.end() ? last.id : failed->id;
      row->last_status = failed == attempt.end() ? last.status : failed->status;
      row->last_version = last.version;
      row->last_ended_at = tx.now;
    }
    if (failed == attempt.end()) {
      remember_success(*row, last, tx.now);
    } else if (!engine_ended_it) {
      ++row->attempts;
      const JobStatus status = gravest(attempt);
      if (remember_ending(*row, last.version, status, tx.now)) first_ended_so = status;
    }
  }
  const bool stopped = std::any_of(attempt.begin(), attempt.end(), [](const Job& j) {
    return j.stopped_by && j.status != JobStatus::kSuccessful;
  });
  const bool successful = std::all_of(attempt.begin(), attempt.end(),
                                      [](const Job& j) { return j.status == JobStatus::kSuccessful; });
  for (Job& job : attempt) {
    job.live = false;
    tx.put(std::move(job));
  }
  note_member_attempt(tx, last, successful);
  if (!row) return;
  forget_denied(tx.state, t, *row);
  bool became_current = row->current_since == tx.now && row->current_version == last.version;
  tx.put(*std::move(row));
  // Nothing else would start it again: what is current is not redeployed, and rules may not allow it.
  if (stopped && (last.cause == JobCause::kRedeploy || last.cause == JobCause::kForce))
    hold_again(tx, t, last);
  if (became_current) policy::note_success(tx.state, tx.now, t, tx.state.at(t).current_version);
  const VersionIx v = tx.state.versions.find(last.version);
  if (first_ended_so && v) policy::note_ending(tx.state, tx.now, t, v, *first_ended_so);
}

}  // namespace

std::vector<Job> attempt_of(const State& state, JobIx j) {
  std::vector<Job> jobs;
  if (TargetIx t = state.jobs[j].target)
    for (JobIx other = state.at(t).first_job; other; other = state.jobs[other].next_on_target)
      jobs.push_back(state.jobs[other].row);
  else
    for (JobIx other : state.adrift_from(state.jobs[j].row.target)) jobs.push_back(state.jobs[other].row);
  return jobs;
}

// ---- Agents ------------------------------------------------------------------------------------------

Reply claim(Tx& tx, const ClaimJob& c) {
  if (c.instance.empty()) return invalid("instance", "must name the claiming instance");
  AgentIx a = tx.state.agents.find(c.agent);
  if (!a) return fail(ErrorCode::kNotFound, fmt::format("no job agent {}", c.agent.str()));
  const AgentType& type = agent_type(tx.state.agents[a].row.type);
  if (type.delivery == Delivery::kPush)
    return fail(ErrorCode::kConflict,
                fmt::format("jobs of a {} agent are sent to it, not claimed", type.name));
  if (!c.job) {
    // The same claim repeated returns the same job.
    const AgentSlot& agent = tx.state.agents[a];
    if (auto it = agent.claimed.find(c.instance); it != agent.claimed.end())
      return Answer{.id = it->second.begin()->uuid,
                    .job = tx.state.jobs[tx.state.jobs.find(*it->second.begin())].row};
    // The oldest first. Behind very many that are refused, what passes a freeze is likely to be the newest.
    for (size_t looked = 0; !agent.pending.empty() && looked < kMaxLooked; ++looked) {
      const JobId id = looked < kMaxLooked / 2 ? *agent.pending.begin() : *agent.pending.rbegin();
      auto job = hand_over(tx, tx.state.jobs.find(id), {c.instance, c.fences_itself});
      if (job) return Answer{.id = id.uuid, .job = *job};
      tx.state.set_aside(a, id);
    }
    return Answer{};  // nothing to do
  }
  JobIx j = TRY(find_live(tx.state, *c.job));
  const Job& row = tx.state.jobs[j].row;
  if (row.agent != c.agent)
    return fail(ErrorCode::kNotFound, fmt::format("job {} is not for this agent", c.job->str()));
  if (row.status == JobStatus::kQueued && row.holder == c.instance)
    return Answer{.id = row.id.uuid, .job = row};
  Job job = TRY(hand_over(tx, j, {c.instance, c.fences_itself}));
  return Answer{.id = job.id.uuid, .job = job};
}

Reply report(Tx& tx, const ReportJob& c) {
  JobIx j = TRY(find_live(tx.state, c.job));
  const Job& row = tx.state.jobs[j].row;
  if (!row.handed_over_at)
    return fail(ErrorCode::kConflict, "the job has not been handed to an agent: claim it first");
  if (!c.instance.empty() && !row.holder.empty() && row.holder != c.instance)
    return fail(ErrorCode::kConflict, fmt::format("the job is held by {}", row.holder));
  if (c.status == JobStatus::kPending || c.status == JobStatus::kQueued)
    return invalid("status", fmt::format("{} cannot be reported", to_string(c.status)));
  if (!c.instance.empty()) tx.state.set_lease(j, tx.uptime + kAgentLease);
  if (is_terminal(c.status)) {
    if (!c.external_id.empty() && row.external_id != c.external_id) {
      Job named = row;
      named.external_id = c.external_id;
      tx.put(std::move(named));
    }
    end_job(tx, j, c.status, c.message);
    return Answer{.id = c.job.uuid};
  }
  Job job = row;
  job.status = c.status;
  // Nobody knew who had it, since a backup was put back: somebody does.
  if (row.status == JobStatus::kActionRequired && job.holder.empty()) job.holder = c.instance;
  if (!job.started_at && c.status == JobStatus::kInProgress) job.started_at = tx.now;
  if (!c.message.empty()) job.message = c.message;
  if (!c.external_id.empty()) job.external_id = c.external_id;
  job.updated_at = tx.now;
  tx.put(std::move(job));
  return Answer{.id = c.job.uuid};
}

Reply heartbeat(Tx& tx, const Heartbeat& c) {
  Answer answer;
  for (JobId id : c.jobs) {
    JobIx j = tx.state.jobs.find(id);
    if (!j || is_terminal(tx.state.jobs[j].row.status) || tx.state.jobs[j].row.holder != c.instance) {
      answer.jobs.push_back(id);
      continue;
    }
    Duration lease = tx.state.jobs[j].lease_until;
    bool had_lapsed = lease <= tx.uptime || lease == kNoLease;
    tx.state.set_lease(j, tx.uptime + kAgentLease);
    Job job = tx.state.jobs[j].row;
    if (had_lapsed && job.status == JobStatus::kActionRequired) {  // the agent is back
      job.status = job.started_at ? JobStatus::kInProgress : JobStatus::kQueued;
      job.message.clear();
      job.updated_at = tx.now;
      tx.put(job);
    }
    if (job.cancel_requested_at) answer.jobs.push_back(id);
  }
  return answer;
}

// ---- People ------------------------------------------------------------------------------------------

Reply cancel(Tx& tx, const CancelJob& c) {
  JobIx j = TRY(find_live(tx.state, c.job));
  Job job = tx.state.jobs[j].row;
  tx.audit("job.cancel", c.job.str());
  if (!job.handed_over_at || job.status == JobStatus::kActionRequired) {
    end_job(tx, j, JobStatus::kCancelled, "cancelled by " + tx.actor);
    return Answer{.id = c.job.uuid};
  }
  if (job.cancel_requested_at && !job.stopped_by) return Answer{.id = c.job.uuid};
  if (job.cancel_requested_at) {  // a freeze only wanted it later
    job.stopped_by.reset();
    job.updated_at = tx.now;
    tx.put(std::move(job));
    return Answer{.id = c.job.uuid};
  }
  job.cancel_requested_at = job.updated_at = tx.now;
  bool pushed = job.holder.empty();
  tx.put(job);
  if (pushed) enqueue_cancel(tx, job);
  return Answer{.id = c.job.uuid};
}

Reply decide_job(Tx& tx, const DecideJob& c) {
  JobIx j = TRY(find_live(tx.state, c.job));
  if (!is_terminal(c.status)) return invalid("status", "must be a final one");
  if (tx.state.jobs[j].row.status != JobStatus::kActionRequired)
    return fail(ErrorCode::kConflict, "only a job that requires action can be decided by hand");
  tx.audit("job.decide", c.job.str());
  end_job(tx, j, c.status, c.reason.empty() ? "decided by " + tx.actor : c.reason);
  return Answer{.id = c.job.uuid};
}

// ---- Ends --------------------------------------------------------------------------------------------

void end_job(Tx& tx, JobIx j, JobStatus status, std::string message, bool by_engine) {
  CHECK(is_terminal(status), "a job ends in a terminal status");
  TargetIx t = tx.state.jobs[j].target;
  Job job = tx.state.jobs[j].row;
  CHECK(!is_terminal(job.status), "terminal is final");
  abandon_start(tx, job.id);
  job.status = status;
  // A freeze that stopped it takes no attempt, however its agent puts it.
  job.cancelled_by_engine = by_engine || (job.stopped_by && status != JobStatus::kSuccessful);
  if (!message.empty()) job.message = std::move(message);
  job.ended_at = job.updated_at = tx.now;

  std::vector<Job> attempt = attempt_of(tx.state, j);
  std::erase_if(attempt, [&](const Job& other) { return other.id == job.id; });
  bool others_ended =
      std::all_of(attempt.begin(), attempt.end(), [](const Job& o) { return is_terminal(o.status); });
  if (!others_ended) {
    tx.put(std::move(job));
    return;
  }
  attempt.push_back(job);
  end_attempt(tx, t, std::move(attempt), job);
}

void require_action(Tx& tx, JobIx j, std::string message) {
  Job job = tx.state.jobs[j].row;
  job.status = JobStatus::kActionRequired;
  job.message = std::move(message);
  job.updated_at = tx.now;
  std::string payload = fmt::format(R"({{"event":"job.action_required","job":"{}"}})", job.id.str());
  tx.put(std::move(job));
  enqueue_notice(tx, "operators", std::move(payload));
}

void job_timed_out(Tx& tx, JobIx j) {
  const Job& job = tx.state.jobs[j].row;
  if (is_terminal(job.status) || !job.timeout || !job.handed_over_at) return;
  if (*job.handed_over_at + *job.timeout > tx.now) return;  // handed over again since
  if (job.holder.empty()) enqueue_cancel(tx, job);
  end_job(tx, j, JobStatus::kFailure, fmt::format("timed out after {} s", job.timeout->us / 1000000));
}

void lease_fired(Tx& tx, JobIx j) {
  JobSlot& slot = tx.state.jobs[j];
  if (is_terminal(slot.row.status) || slot.row.holder.empty()) return;
  if (slot.lease_until > tx.uptime)
    return tx.state.lease_timers.add(slot.lease_until, TimerKind::kAgentLease, slot.row.id.uuid);
  slot.lease_until = kNoLease;  // its timer is spent: whoever renews it arms another
  if (slot.row.status == JobStatus::kActionRequired) return;
  if (slot.row.fences_itself)
    end_job(tx, j, JobStatus::kFailure, fmt::format("agent instance {} was lost", slot.row.holder));
  else
    require_action(tx, j,
                   fmt::format("agent instance {} was lost; the job may still be running", slot.row.holder));
}

}  // namespace ctrlplane
