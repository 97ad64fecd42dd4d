// A freeze is a barrier: what it covers is not handed to an agent while it is active, by any path. Judged at
// the commit of each hand-over, by the rows as they were at that place in the order of changes.
#include <algorithm>

#include <fmt/core.h>

#include "sim/bracketbook.h"
#include "sim/checker.h"
#include "sim/freezebook.h"

namespace ctrlplane::sim {
namespace {

using store::Cell;
using store::table_named;

// What an owner in good health needs at most until it does what is due.
constexpr Duration kInTime = minutes(1);
// Whatever nothing has held for so long in the calm, and still waits, waits for nobody.
constexpr Duration kForgotten = minutes(25);

std::string name_of(const Freeze& f) {
  return fmt::format("freeze {} ({}{}{})", f.id.str(), to_string(f.scope), f.selector ? ", " : "",
                     f.selector.value_or(""));
}

bool has(const std::vector<VersionId>& list, VersionId v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

bool is_stopped(const Job& job) { return job.stopped_by && job.status != JobStatus::kSuccessful; }

}  // namespace

// ---- What starts ---------------------------------------------------------------------------------------

// No freeze stands over it that it does not pass.
void Checker::judge_barrier(WorkspaceId w, const Job& job, Time now, std::string_view what) {
  const Ledger& ledger = ledgers_[w];
  const Version& version = ledger.versions.at(job.version);
  bool any = false;
  for (const auto& [id, f] : ledger.freezes) {
    if (!is_active(f, now)) continue;
    any = true;
    if (!is_covered(ledger, f, f.selector, job.target, version)) continue;
    const Pass pass = pass_of(ledger, f, job.target, version, now);
    if (pass == Pass::kNone && passes_with_group(w, f, job, now)) {
      ++frozen_[fmt::format("  {}, with its group", what)];
      continue;
    }
    if (pass == Pass::kNone)
      violate(1, fmt::format("job {} ({}) of {} was {} at {} under {}, active since {}", job.id.str(),
                             to_string(job.cause), version.tag, what, format_rfc3339(now), name_of(f),
                             format_rfc3339(f.effective_at)));
    else if (!has(f.passed, version.id))
      violate(1, fmt::format("job {} of {} passed {} and it does not say so", job.id.str(), version.tag,
                             name_of(f)));
    if (pass == Pass::kVersion) ++frozen_[fmt::format("  {}, exempt by its version", what)];
    if (pass == Pass::kSkip) ++frozen_[fmt::format("  {}, exempt by a skip", what)];
  }
  if (any) ++frozen_[fmt::format("{} while something was frozen", what)];
}

// What a person started and a freeze stopped is made again at once, and held.
bool Checker::is_again(WorkspaceId w, const Job& job) const {
  if (job.cause != JobCause::kRedeploy && job.cause != JobCause::kForce) return false;
  auto last = last_jobs_.find({w, job.target});
  if (last == last_jobs_.end()) return false;
  const JobView& before = jobs_.at({w, last->second});
  return before.stopped && before.release == job.release && before.cause == job.cause;
}

bool Checker::waits_again(WorkspaceId w, const Job& job) {
  if (!jobs_.at({w, job.id}).again) return false;
  const std::vector<Stretch> frozen =
      frozen_stretches(ledgers_[w], job.target, ledgers_[w].versions.at(job.version), job.created_at);
  const bool is_held = std::any_of(frozen.begin(), frozen.end(), [&](const Stretch& s) {
    return s.from <= job.created_at && job.created_at < s.to;
  });
  if (is_held) ++frozen_["jobs stopped that wait again"];
  return is_held;
}

void Checker::judge_start(WorkspaceId w, const Job& job) { judge_barrier(w, job, job.created_at, "made"); }

void Checker::judge_hand_over(const store::Commit& commit, const Job& job) {
  WorkspaceId w = commit.workspace;
  const Ledger& ledger = ledgers_[w];
  const Time now = *job.handed_over_at;
  ++frozen_["handed over"];
  if (now < commit_since_ || now > commit.now)
    violate(7, fmt::format("job {} was handed over at {}, which is not the time of its commit", job.id.str(),
                           format_rfc3339(now)));
  if (!ledger.exists(job.target))
    return violate(0, fmt::format("job {} was handed over for a target that does not exist", job.id.str()));
  judge_barrier(w, job, now, "handed over");
  if (!job.group) return judge_resumption(ledger, job, now);
  GroupView& group = groups_[{w, *job.group}];
  if (!group.handed_over) group.handed_over = now;
}

// What a freeze has held is decided about again before it goes.
void Checker::judge_resumption(const Ledger& ledger, const Job& job, Time now) {
  const Version& version = ledger.versions.at(job.version);
  const std::vector<Stretch> frozen = frozen_stretches(ledger, job.target, version, now);
  if (std::none_of(frozen.begin(), frozen.end(),
                   [&](const Stretch& s) { return s.from < now && s.to > job.created_at; }))
    return;
  ++frozen_["jobs let go after a freeze"];
  if (job.cause == JobCause::kForce) return;
  // A cooldown is between the version on its way and the next one: the job itself is on its way.
  if (auto no = refusal_of(ledger, job, now); no && no->rule != "versionCooldown")
    violate(0, fmt::format("job {} ({}) of {}, made at {}, was let go at {} after a freeze against {}: it {}",
                           job.id.str(), to_string(job.cause), version.tag, format_rfc3339(job.created_at),
                           format_rfc3339(now), no->rule, no->why));
}

// ---- Freezes -------------------------------------------------------------------------------------------

// Called before the row is folded in.
void Checker::check_freeze(const store::Commit& commit, const Freeze& row) {
  WorkspaceId w = commit.workspace;
  const Ledger& ledger = ledgers_[w];
  touched_.insert(row.id);
  auto known = ledger.freezes.find(row.id);
  if (known == ledger.freezes.end()) {
    ++frozen_[fmt::format("freezes of {} {}", row.scope == FreezeScope::kEnvironment ? "an" : "a",
                          to_string(row.scope))];
    if (row.selector) ++frozen_["freezes with a selector"];
    if (row.effective_at > row.created_at) ++frozen_["freezes planned"];
    return note_in_flight(w, row);
  }
  const Freeze& before = known->second;
  if (before.thawed_at) {
    Freeze same = row;
    same.retired = before.retired;
    if (same != before) violate(0, fmt::format("{} changed after its end", name_of(row)));
    return;
  }
  if (row.selector != before.selector) check_new_selector(commit, before, row);
  const bool had_expired = before.expires_at && *before.expires_at <= commit_since_;
  if (had_expired && row.expires_at != before.expires_at)
    violate(0, fmt::format("{} was given another end after it had expired", name_of(row)));
  if (row.expires_at && before.expires_at && *row.expires_at > *before.expires_at)
    ++frozen_["freezes extended"];
  if (!row.thawed_at) return;
  ++frozen_[row.thawed_by.empty() ? "freezes expired" : "freezes thawed"];
  if (*row.thawed_at > commit.now) violate(0, fmt::format("{} ended in the future", name_of(row)));
  if (row.thawed_by.empty()) {
    if (row.thawed_at != row.expires_at)
      violate(0, fmt::format("{} expired at another time than it says", name_of(row)));
  } else if (row.expires_at && *row.expires_at <= *row.thawed_at) {
    violate(0, fmt::format("{} was thawed at {}, after it had expired at {}", name_of(row),
                           format_rfc3339(*row.thawed_at), format_rfc3339(*row.expires_at)));
  }
}

// What it covered until then stays known.
void Checker::check_new_selector(const store::Commit& commit, const Freeze& before, const Freeze& row) {
  ++frozen_["freezes with another selector"];
  const bool was_active = is_active(before, commit_since_) && is_active(before, commit.now);
  if (row.spans.size() == before.spans.size()) {
    if (was_active) violate(0, fmt::format("{} forgot its former selector", name_of(row)));
    return;
  }
  const FreezeSpan& span = row.spans.back();
  const Time from = before.spans.empty() ? before.effective_at : before.spans.back().to;
  if (row.spans.size() != before.spans.size() + 1 || span.from != from || span.selector != before.selector ||
      span.to < commit_since_ || span.to > commit.now)
    violate(0, fmt::format("{} does not remember its former selector as it was", name_of(row)));
}

// The jobs that agents have at this place in the order of changes.
void Checker::note_in_flight(WorkspaceId w, const Freeze& row) {
  const Ledger& ledger = ledgers_[w];
  InFlightJobs& at = in_flight_[{w, row.id}];
  for (const auto& [place, jobs] : active_) {
    if (place.first != w) continue;
    for (JobId id : jobs) {
      const JobView& job = jobs_.at({w, id});
      if (!job.handed_over_at) continue;
      if (!ledger.exists(job.target))
        at.unclear.insert(id);
      else if (is_covered(ledger, row, row.selector, job.target, ledger.versions.at(job.version)))
        at.covered.insert(id);
    }
  }
}

void Checker::freeze_acknowledged(WorkspaceId w, FreezeId freeze, const std::set<JobId>& in_flight) {
  auto it = in_flight_.find({w, freeze});
  if (it == in_flight_.end())
    return violate(1, fmt::format("freeze {} was acknowledged and is not committed", freeze.str()));
  ++frozen_["freezes acknowledged"];
  frozen_["  jobs in flight listed"] += in_flight.size();
  const InFlightJobs& at = it->second;
  for (JobId id : at.covered)
    if (!in_flight.contains(id))
      violate(1, fmt::format("job {} was with its agent when freeze {} began and is not listed", id.str(),
                             freeze.str()));
  for (JobId id : in_flight)
    if (!at.covered.contains(id) && !at.unclear.contains(id))
      violate(
          1, fmt::format("job {} is listed as in flight under freeze {} and is not", id.str(), freeze.str()));
}

void Checker::refused_as_frozen(WorkspaceId w, JobId job, const std::string& freeze) {
  ++frozen_["claims refused"];
  const auto& freezes = ledgers_[w].freezes;
  if (std::none_of(freezes.begin(), freezes.end(), [&](const auto& f) { return f.first.str() == freeze; }))
    violate(1, fmt::format("a claim of job {} was refused for freeze {}, which is not committed", job.str(),
                           freeze));
}

void Checker::check_freeze_event(WorkspaceId w, const FreezeEvent& event) {
  touched_.insert(event.freeze);
  int count = ++events_[{w, event.freeze}][event.action];
  ++frozen_[fmt::format("  events: {}", to_string(event.action))];
  if (count > 1 && (event.action == FreezeAction::kActivated || event.action == FreezeAction::kExpired ||
                    event.action == FreezeAction::kThawed))
    violate(0, fmt::format("freeze {} was {} {} times", event.freeze.str(), to_string(event.action), count));
}

// At the end of a commit: rows and their history say the same.
void Checker::check_touched_freezes(WorkspaceId w) {
  for (FreezeId id : std::exchange(touched_, {})) {
    auto it = ledgers_[w].freezes.find(id);
    if (it == ledgers_[w].freezes.end()) {
      violate(0, fmt::format("freeze {} has a history and no row", id.str()));
      continue;
    }
    const Freeze& f = it->second;
    auto& events = events_[{w, id}];
    auto expect = [&](FreezeAction action, size_t times) {
      if (static_cast<size_t>(events[action]) != times)
        violate(0, fmt::format("{} was {} {} times, not {}", name_of(f), to_string(action), events[action],
                               times));
    };
    expect(FreezeAction::kActivated, f.activated_at ? 1 : 0);
    expect(FreezeAction::kExpired, f.thawed_at && f.thawed_by.empty() ? 1 : 0);
    expect(FreezeAction::kThawed, f.thawed_at && !f.thawed_by.empty() ? 1 : 0);
    expect(FreezeAction::kBypassed, f.passed.size());
    if (f.activated_at && *f.activated_at < f.effective_at)
      violate(0, fmt::format("{} was activated before its time", name_of(f)));
  }
}

// ---- What was stopped ----------------------------------------------------------------------------------

void Checker::judge_stop(WorkspaceId w, const Job& job) {
  const Ledger& ledger = ledgers_[w];
  ++frozen_["jobs asked to stop"];
  auto no = [&](std::string_view why) {
    violate(0, fmt::format("job {} was stopped by a freeze: {}", job.id.str(), why));
  };
  auto it = ledger.freezes.find(*job.stopped_by);
  if (it == ledger.freezes.end()) return no("there is none");
  const Freeze& f = it->second;
  if (f.in_flight != InFlight::kCancel) no("it was to finish");
  if (!job.handed_over_at) no("nobody had it");
  if (!is_active(f, job.updated_at)) no("it is not active");
  if (!ledger.exists(job.target)) return;
  const Version& version = ledger.versions.at(job.version);
  if (!is_covered(ledger, f, f.selector, job.target, version)) no("it is not covered");
  if (pass_of(ledger, f, job.target, version, job.updated_at) != Pass::kNone) no("it was exempt");
}

void Checker::note_stop(WorkspaceId w, const Job& job) {
  if (!is_stopped(job)) return;
  ++frozen_["jobs stopped"];
  const TargetState* row = ledgers_[w].row_of(job.target);
  if (row) stopped_[{w, job.target}] = row->attempts;
}

// By groups that end in this commit: what they had locked last, and what they tried before.
std::set<VersionId> Checker::given_up_by_groups(WorkspaceId w, const TargetKey& target) {
  const Ledger& ledger = ledgers_[w];
  std::set<VersionId> all;
  for (const auto& [id, g] : ledger.groups) {
    if (g.resource != target.resource || g.environment != target.environment || g.retired) continue;
    auto m = ledger.members.find({id, target.deployment});
    if (!g.finished_at || *g.finished_at < commit_since_ || m == ledger.members.end()) continue;
    if (m->second.version) all.insert(*m->second.version);
    const auto& jobs = groups_[{w, id}].jobs;
    if (auto of = jobs.find(target.deployment); of != jobs.end())
      for (JobId job : of->second) all.insert(jobs_.at({w, job}).version);
  }
  return all;
}

// Called before the row is folded in.
void Checker::check_attempts(WorkspaceId w, const TargetState& row) {
  const Place place{w, row.key};
  const TargetState* before = ledgers_[w].row_of(row.key);
  if (auto it = stopped_.find(place); it != stopped_.end()) {
    if (row.attempts > it->second)
      violate(0, fmt::format("a job that a freeze stopped used an attempt of {}", row.key.str()));
    stopped_.erase(it);
  }
  if (std::set(row.denied.begin(), row.denied.end()).size() != row.denied.size())
    violate(0, fmt::format("a version was ruled out twice on {}", row.key.str()));
  // What a group of it could not bring about is ruled out for all its members.
  const std::set<VersionId> of_groups = given_up_by_groups(w, row.key);
  for (VersionId v : row.denied)
    if ((!before || !has(before->denied, v)) && chains_[place].failures == 0 && !of_groups.contains(v))
      violate(0,
              fmt::format("version {} was ruled out on {}, and nothing had failed", v.str(), row.key.str()));
}

// ---- In the calm ---------------------------------------------------------------------------------------

void Checker::freezes_are_in_time(WorkspaceId w, Time now) {
  for (const auto& [id, f] : ledgers_[w].freezes) {
    if (f.thawed_at) continue;
    if (f.expires_at && *f.expires_at + kInTime < now)
      violate(4, fmt::format("{} should have expired at {} and has not", name_of(f),
                             format_rfc3339(*f.expires_at)));
    if (f.effective_at + kInTime < now && !f.activated_at)
      violate(4, fmt::format("{} should have begun at {} and has not", name_of(f),
                             format_rfc3339(f.effective_at)));
  }
}

void Checker::what_is_free_goes(WorkspaceId w, Time now) {
  const Ledger& ledger = ledgers_[w];
  for (const auto& [key, job] : jobs_) {
    if (key.first != w || job.status != JobStatus::kPending || job.created_at + kForgotten > now) continue;
    if (!ledger.exists(job.target)) continue;
    const std::vector<Stretch> frozen =
        frozen_stretches(ledger, job.target, ledger.versions.at(job.version), now);
    if (std::none_of(frozen.begin(), frozen.end(), [&](const Stretch& s) { return s.to > now - kForgotten; }))
      violate(4, fmt::format("job {} waits though nothing has held it for long", key.second.str()));
  }
}

void Checker::nothing_is_held(WorkspaceId w, Time now) {
  for (const auto& [id, f] : ledgers_[w].freezes) {
    if (!f.thawed_at) violate(4, fmt::format("{} has not ended", name_of(f)));
    if (f.thawed_at && f.effective_at < *f.thawed_at && events_[{w, id}][FreezeAction::kActivated] != 1)
      violate(0, fmt::format("{} was active, and its history does not say so", name_of(f)));
  }
  const store::Table& t = table_named("outbox");
  for (const auto& [key, row] : store_.rows(w, t))
    if (std::get<std::string>(row[t.column("status")]) == "pending" &&
        std::get<int64_t>(row[t.column("next_attempt_at")]) == Time::never().us)
      violate(4, fmt::format("outbox row {} is held though nothing is frozen", std::get<Uuid>(key[0]).str()));
  for (const auto& [place, last] : last_jobs_)
    if (place.first == w) goes_on(w, jobs_.at({w, last}), last, now);
}

// What a freeze stopped starts again unless something else is wanted by now.
void Checker::goes_on(WorkspaceId w, const JobView& job, JobId id, Time now) {
  const Ledger& ledger = ledgers_[w];
  if (!job.stopped || !is_terminal(job.status) || job.status == JobStatus::kSuccessful) return;
  const TargetState* row = ledger.row_of(job.target);
  if (!row || !ledger.exists(job.target) || row->desired_release != job.release) return;
  if (ledger.versions.at(job.version).status != VersionStatus::kReady || has(row->denied, job.version))
    return;
  ++frozen_["jobs stopped and still wanted"];
  if (job.group || bracket_of(ledger, job.target) || is_at_work_for(w, job.target))
    return;  // in a group, or later
  if (!all_limits_are_free(ledger)) return;
  if (job.cause == JobCause::kRetry) {  // by rules that may have gone
    const JobStatus last = row->last_status.value_or(JobStatus::kFailure);
    const auto terms = RuleBook(ledger, job.target).retry_terms(row->attempts, last);
    if (!terms || !terms->any || row->attempts > terms->most) return;
  }
  if (refusal_of(ledger, {.target = job.target, .version = job.version, .cause = job.cause}, now)) return;
  violate(4, fmt::format("job {} ({}) was stopped by a freeze and never started again", id.str(),
                         to_string(job.cause)));
}

}  // namespace ctrlplane::sim
