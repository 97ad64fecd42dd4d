// What policies forbid does not start, and what they allow is not forgotten.
#include <algorithm>

#include <fmt/core.h>

#include "sim/bracketbook.h"
#include "sim/checker.h"
#include "sim/freezebook.h"

namespace ctrlplane::sim {
namespace {

// How long something must have been allowed before it counts as forgotten.
constexpr Duration kAWhile = minutes(1);
// The same where freezes that were thawed at a pace give out turns.
constexpr Duration kALongWhile = minutes(6);
// Jobs on one target within a while: then it cannot make up its mind.
constexpr int kTooMany = 60;

bool by_engine(JobCause cause) {
  return cause == JobCause::kPolicy || cause == JobCause::kRetry || cause == JobCause::kRollback;
}

bool contains(const std::vector<VersionId>& list, VersionId v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

// Core semantics, "Selecting a version", 5 and 6.
bool returns(const Ledger& ledger, const TargetState& row, const Version& v) {
  const Version* current = ledger.current_of(row.key);
  if (!current) return false;
  return current->id == v.id || (ran_before(row, v.id) && is_newer(*current, v));
}

// In a group attempts are counted from its own first one.
bool begins_in_group(const Ledger& ledger, const Job& job) {
  if (!job.group) return false;
  auto m = ledger.members.find({*job.group, job.target.deployment});
  return m != ledger.members.end() && m->second.attempts == 0;
}

std::string name_of(const Ledger& ledger, const TargetKey& key) {
  return fmt::format("{} in {} on {}", ledger.deployments.at(key.deployment).name,
                     ledger.environments.at(key.environment).name, ledger.resources.at(key.resource).name);
}

}  // namespace

// ---- What starts ---------------------------------------------------------------------------------------

// Called with the ledger as it was when the job was decided.
void Checker::judge(WorkspaceId w, const Job& job) {
  const Ledger& ledger = ledgers_[w];
  Chain& chain = chains_[{w, job.target}];
  const Chain before = chain;
  if (chain.release != job.release || begins_in_group(ledger, job) || job.cause == JobCause::kRedeploy ||
      job.cause == JobCause::kForce || job.cause == JobCause::kRollback) {
    chain.release = job.release;
    chain.failures = 0;
  }
  if (job.created_at >= chain.busy_since + kAWhile) chain.made = 0;
  if (chain.made++ == 0) chain.busy_since = job.created_at;
  if (chain.made == kTooMany)
    violate(0, fmt::format("job {} is number {} on one target within a minute", job.id.str(), kTooMany));
  ++judged_["jobs"];
  if (!ledger.exists(job.target))
    return violate(0, fmt::format("job {} is for a target that does not exist", job.id.str()));
  const Version& version = ledger.versions.at(job.version);
  const TargetState* row = ledger.row_of(job.target);
  if (!row) return violate(0, fmt::format("job {} is for a target that has no row", job.id.str()));
  const bool runs_it = row->current_version == version.id;
  if (version.status != VersionStatus::kReady && !(runs_it && version.status == VersionStatus::kPaused))
    violate(0, fmt::format("job {} starts a version that is {}", job.id.str(), to_string(version.status)));
  auto member = job.group ? ledger.members.find({*job.group, job.target.deployment}) : ledger.members.end();
  // A group at work prepares and closes with what it has locked, and goes back to what ran.
  const bool as_locked = member != ledger.members.end() &&
                         (member->second.role != MemberRole::kWork || job.cause == JobCause::kRollback);
  if (!runs_it && !as_locked && !ledger.is_for(version, job.target))
    violate(0, fmt::format("job {} ({}) starts {}, which is not for {}", job.id.str(), to_string(job.cause),
                           version.tag, name_of(ledger, job.target)));
  if (version.target_selector) ++judged_["jobs of scoped versions"];
  judge_slots(w, job);
  if (waits_again(w, job)) return;  // judged when it is handed over
  judge_start(w, job);
  if (job.group) return judge_group_job(w, job, before);
  if (auto own = bracket_of(ledger, job.target); own && by_engine(job.cause))
    if (!RuleBook(ledger, job.target).is_skipped(own->rule->id, version, job.created_at))
      violate(0, fmt::format("job {} ({}) starts a member of a bracket without its group", job.id.str(),
                             to_string(job.cause)));
  for (GroupId id : open_groups_[w])
    if (const BracketGroup& g = ledger.groups.at(id); g.active() && g.resource == job.target.resource &&
                                                      g.environment == job.target.environment &&
                                                      ledger.members.contains({id, job.target.deployment}))
      violate(0, fmt::format("job {} ({}) starts beside group {}, which is at work there", job.id.str(),
                             to_string(job.cause), id.str()));
  if (job.cause == JobCause::kForce) {
    ++judged_["jobs forced"];
    return;
  }
  RuleBook book(ledger, job.target);
  const bool returning = job.cause == JobCause::kRollback || returns(ledger, *row, version);
  if (book.size() > 0) ++judged_[returning ? "jobs going back under rules" : "jobs under rules"];
  for (const PolicyRule* rule : book.rules()) ++judged_["  " + rule->type];
  if (auto no = refusal_of(ledger, job, job.created_at))
    violate(0, fmt::format("job {} ({}) of {} on {} against {}: it {}", job.id.str(), to_string(job.cause),
                           version.tag, name_of(ledger, job.target), no->rule, no->why));
  judge_cause(ledger, book, job, before);
}

std::optional<No> Checker::refusal_of(const Ledger& ledger, const Job& job, Time now) {
  const TargetState* row = ledger.row_of(job.target);
  const Version& version = ledger.versions.at(job.version);
  const bool returning = job.cause == JobCause::kRollback || (row && returns(ledger, *row, version));
  const Asked asked = job.cause == JobCause::kRedeploy ? Asked::kAlone : Asked::kAll;
  return RuleBook(ledger, job.target).refusal(version, now, returning, asked);
}

// Why it says it was made must be so.
void Checker::judge_cause(const Ledger& ledger, const RuleBook& book, const Job& job, const Chain& chain) {
  const TargetState& row = *ledger.row_of(job.target);
  auto no = [&](std::string_view why) {
    violate(0, fmt::format("job {} ({}) on {}: {}", job.id.str(), to_string(job.cause),
                           name_of(ledger, job.target), why));
  };
  const bool repeated = chain.release == job.release && chain.failures > 0;
  if (job.cause == JobCause::kRetry) {
    if (!repeated) return no("nothing had failed before");
    auto terms = book.retry_terms(chain.failures, chain.last);
    if (!terms) return no("the failure before is not one to repeat");
    if (!terms->any || chain.failures > terms->most)
      return no(fmt::format("{} attempts have failed, {} may be repeated", chain.failures, terms->most));
    if (job.created_at < chain.ended + terms->wait) no("it comes too early");
    ++judged_["retries"];
  }
  if (job.cause == JobCause::kPolicy && repeated) no("it failed before, and no retry rule made this job");
  if (job.cause == JobCause::kRollback) {
    if (!ran_before(row, job.version)) no("what it goes back to never ran there");
    if (row.denied.empty()) no("nothing is ruled out there");
    ++judged_["rollbacks"];
  }
  if (!by_engine(job.cause)) return;
  if (contains(row.denied, job.version)) no("its version is ruled out there by a rollback");
  const Version* current = ledger.current_of(job.target);
  if (job.cause != JobCause::kRollback && current && is_newer(*current, ledger.versions.at(job.version)) &&
      !must_be_left(ledger, book, row))
    no("it goes back without a reason");
}

void Checker::note_end(WorkspaceId w, const Job& job) {
  if (job.cancelled_by_engine) return;                                 // superseded: counts as no attempt
  if (job.stopped_by && job.status != JobStatus::kSuccessful) return;  // nor does what a freeze stopped
  Chain& chain = chains_[{w, job.target}];
  chain.tried.insert(job.version);
  chain.last = job.status;
  chain.ended = *job.ended_at;
  chain.failures = job.status == JobStatus::kSuccessful ? 0 : chain.failures + 1;
}

// ---- What does not -------------------------------------------------------------------------------------

// What runs was taken back, or a selector or a rollback rules it out.
bool Checker::must_be_left(const Ledger& ledger, const RuleBook& book, const TargetState& row) {
  const Version* current = ledger.current_of(row.key);
  if (!current) return true;
  if (current->status == VersionStatus::kFailed || current->status == VersionStatus::kRejected) return true;
  return contains(row.denied, current->id) || book.is_excluded(*current);
}

const Version* Checker::due_on(const Ledger& ledger, const TargetKey& target, Time now) {
  const TargetState* known = ledger.row_of(target);
  const TargetState row = known ? *known : TargetState{.key = target};
  std::vector<const Version*> newest_first;
  for (const auto& [id, v] : ledger.versions)
    if (v.deployment == target.deployment && !v.retired) newest_first.push_back(&v);
  std::sort(newest_first.begin(), newest_first.end(),
            [](const Version* a, const Version* b) { return is_newer(*a, *b); });
  RuleBook book(ledger, target);
  for (const Version* v : newest_first) {
    if (row.current_version == v->id) {
      if (!must_be_left(ledger, book, row)) return nullptr;
      continue;
    }
    if (v->status != VersionStatus::kReady || contains(row.denied, v->id)) continue;
    if (!ledger.is_for(*v, target)) continue;
    bool behind_rollback = std::any_of(row.denied.begin(), row.denied.end(), [&](VersionId denied) {
      return is_newer(ledger.versions.at(denied), *v);
    });
    if (behind_rollback && !ran_before(row, v->id)) continue;
    const bool returning = returns(ledger, row, *v);
    const std::vector<Stretch> frozen = frozen_stretches(ledger, target, *v, now);
    auto allowed_at = [&](Time t) {
      return !book.refusal(*v, t, returning) &&
             std::none_of(frozen.begin(), frozen.end(),
                          [&](const auto& s) { return s.from <= t && t < s.to; });
    };
    const Duration a_while = waits_for_turns(ledger, target, *v) ? kALongWhile : kAWhile;
    const bool was_allowed = allowed_at(now - a_while), is_allowed = allowed_at(now);
    if (was_allowed && is_allowed) return v;
    if (was_allowed || is_allowed) return nullptr;     // it has just become so
    if (row.desired_version == v->id) return nullptr;  // what is wanted and must wait is not exchanged
  }
  return nullptr;
}

// What a bracket would lock for the target; null: what runs stays, or nothing may be had.
const Version* Checker::newest_lockable(const Ledger& ledger, const TargetKey& target, Time now) {
  const TargetState* known = ledger.row_of(target);
  const TargetState row = known ? *known : TargetState{.key = target};
  RuleBook book(ledger, target);
  const Version* newest = nullptr;
  const bool leave = must_be_left(ledger, book, row);
  const Version* current = ledger.current_of(target);
  for (const auto& [id, v] : ledger.versions) {
    if (v.deployment != target.deployment || v.retired || row.current_version == id) continue;
    if (v.status != VersionStatus::kReady || contains(row.denied, id)) continue;
    if (!ledger.is_for(v, target)) continue;
    if ((newest && is_newer(*newest, v)) || (current && !leave && is_newer(*current, v))) continue;
    const bool behind_rollback = std::any_of(row.denied.begin(), row.denied.end(), [&](VersionId denied) {
      return is_newer(ledger.versions.at(denied), v);
    });
    if (behind_rollback && !ran_before(row, id)) continue;
    if (!book.refusal(v, now, returns(ledger, row, v), Asked::kLock)) newest = &v;
  }
  return newest;
}

void Checker::nothing_is_forgotten(WorkspaceId w, Time now) {
  const Ledger& ledger = ledgers_[w];
  freezes_are_in_time(w, now);
  what_is_free_goes(w, now);
  groups_go_on(w, now);
  const bool limits_are_free = all_limits_are_free(ledger) && limits_changed_[w] + kAWhile <= now;
  for (const auto& [d, deployment] : ledger.deployments)
    for (const auto& [e, environment] : ledger.environments)
      for (const TargetKey& target : ledger.targets_in(d, e)) {
        const Chain& chain = chains_[{w, target}];
        ++judged_["targets looked at in the calm"];
        if (!active_[{w, target}].empty() || chain.ended + kAWhile > now) continue;
        if (is_at_work_for(w, target)) continue;
        if (bracket_of(ledger, target)) {
          group_is_opened(w, target, now);
          continue;
        }
        if (!limits_are_free && !limits_over(ledger, target).empty()) continue;
        const Version* v = due_on(ledger, target, now);
        if (!v) continue;
        if (chain.tried.contains(v->id)) continue;
        violate(4, fmt::format("{} was forgotten: it neither runs nor has tried version {}, which is allowed",
                               name_of(ledger, target), v->tag));
      }
}

}  // namespace ctrlplane::sim
