#include "engine/reconcile.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/admission.h"
#include "engine/bracket_order.h"
#include "engine/brackets.h"
#include "engine/entities.h"
#include "engine/freezes.h"
#include "engine/jobs.h"
#include "engine/select.h"
#include "policy/brackets.h"
#include "policy/freezes.h"
#include "policy/judge.h"

namespace ctrlplane {
namespace {

constexpr size_t kMembershipUnit = 64;
constexpr size_t kUnheardUnit = 64;

std::vector<JobId> not_handed_over(const State& state, TargetIx t, const ReleaseId& wanted) {
  std::vector<JobId> out;
  for (JobIx j = state.at(t).first_job; j; j = state.jobs[j].next_on_target) {
    const Job& job = state.jobs[j].row;
    if (job.status == JobStatus::kPending && job.release != wanted) out.push_back(job.id);
  }
  return out;
}

// `until`: what time alone may change.
bool may_still_start(const State& state, Time now, TargetIx t, const JobSlot& job,
                     std::optional<Time>& until) {
  // A bracket has come that starts it with the others; what a person deployed again goes alone.
  if (job.row.cause != JobCause::kRedeploy && policy::bracket_of(state, t) &&
      !policy::is_bracket_skipped(state, now, t, job.version))
    return bool(policy::frozen_by(state, now, t, job.version));
  const policy::Judgement says = policy::judge(state, now, t, job.version, waiver_for(state, t, job.version));
  if (says.next_at) until = until ? std::min(*until, *says.next_at) : says.next_at;
  return says.verdict == policy::Verdict::kAllowed || says.frozen;
}

// A held job that would not be allowed to start by now goes; its target waits as if it had never been made.
void add_no_longer_allowed(const State& state, Time now, TargetIx t, Plan& p) {
  for (JobIx j = state.at(t).first_job; j; j = state.jobs[j].next_on_target) {
    const JobSlot& slot = state.jobs[j];
    if (slot.row.status != JobStatus::kPending || !slot.version || slot.row.cause == JobCause::kForce ||
        slot.row.group)
      continue;
    if (std::find(p.supersede.begin(), p.supersede.end(), slot.row.id) != p.supersede.end()) continue;
    if (!policy::was_held(state, now, t, slot.version, slot.row.created_at)) continue;
    if (!may_still_start(state, now, t, slot, p.look_again)) p.supersede.push_back(slot.row.id);
  }
}

// Jobs that were not handed over because they were frozen may be asked for again, and are sent.
void send_held(Tx& tx, TargetIx t) {
  tx.state.recall_held(t);
  for (JobIx j = tx.state.at(t).first_job; j; j = tx.state.jobs[j].next_on_target) {
    const JobSlot& slot = tx.state.jobs[j];
    auto id = slot.row.status == JobStatus::kPending ? tx.state.outbox_of(slot.row.id) : std::nullopt;
    if (!id || tx.state.outbox.at(*id).next_attempt_at != Time::never()) continue;
    const GroupIx group = slot.row.group ? tx.state.groups.find(*slot.row.group) : GroupIx{};
    if (!slot.version || policy::frozen_by(tx.state, tx.now, t, slot.version, group)) continue;
    OutboxItem item = tx.state.outbox.at(*id);
    item.next_attempt_at = tx.now;
    tx.put(std::move(item));
  }
}

void apply_desired(TargetState& row, const State& state, const Plan& p) {
  row.desired_release = p.version ? std::optional(p.release) : std::nullopt;
  row.desired_version = p.version ? std::optional(state.versions[p.version].row.id) : std::nullopt;
}

void supersede(Tx& tx, const std::vector<JobId>& jobs, std::string_view why) {
  for (JobId id : jobs)
    if (JobIx j = tx.state.jobs.find(id)) end_job(tx, j, JobStatus::kCancelled, std::string(why), true);
}

// What failed last was ruled out here, and what ran before may be half replaced.
bool must_be_restored(const TargetSlot& slot) {
  const bool begun = slot.chain_release == slot.current_release && slot.attempts > 0;
  return slot.last_version && is_denied(slot, slot.last_version) && !begun;
}

// The target is gone for good: what was not handed over must not start. What runs goes on to its end, and
// what has ended waits for it: the attempt counts as a whole should the target return.
void tidy_stranded(Tx& tx, JobId id) {
  JobIx j = tx.state.jobs.find(id);
  if (!j || tx.state.jobs[j].target) return;
  if (tx.state.jobs[j].row.status == JobStatus::kPending) {
    end_job(tx, j, JobStatus::kCancelled, "the release target no longer exists", true);
    return;
  }
  std::vector<Job> attempt = attempt_of(tx.state, j);
  if (!std::all_of(attempt.begin(), attempt.end(), [](const Job& o) { return is_terminal(o.status); }))
    return;
  for (Job& ended : attempt) {
    ended.live = false;
    tx.put(std::move(ended));
  }
}

}  // namespace

Plan plan(const State& state, Time now, TargetIx t) {
  Plan p;
  const TargetSlot& slot = state.at(t);
  if (!state.target_exists(t)) {
    p.supersede = not_handed_over(state, t, ReleaseId{});
    return p;
  }
  Selection chosen{Selection::Kind::kHold};
  if (is_left_to_bracket(state, now, t, chosen)) {
    p.bracketed = true;
    p.version = slot.desired_version;
    p.release = slot.desired_release;
    if (auto wait = member_wait(state, now, t)) {
      if (wait->version) p.version = wait->version;
      p.waiting_for = wait->why;
      p.look_again = wait->next_at;
    }
    p.supersede = not_handed_over(state, t, p.release);
    add_no_longer_allowed(state, now, t, p);
    return p;
  }
  p.version = slot.desired_version;
  p.release = slot.desired_release;
  if (chosen.kind != Selection::Kind::kHold) {
    p.version = chosen.version;
    p.release = {};
    if (chosen.version && chosen.version == slot.current_version)
      p.release = slot.current_release;
    else if (chosen.version)
      p.release = release_id(state.key_of(t), state.versions[chosen.version].row.id, Digest{});
    p.set_desired = p.release != slot.desired_release;
  }
  p.look_again = chosen.next_at;
  p.supersede = not_handed_over(state, t, p.release);
  add_no_longer_allowed(state, now, t, p);
  if (!p.version) return p;
  // A rollback has ruled it out, and what the target goes back to is frozen: it waits for that.
  if (is_denied(slot, p.version)) return p;
  const bool is_current = p.release == slot.current_release;
  const bool chain_goes_on = slot.chain_release == p.release && slot.attempts > 0;
  if (is_current && must_be_restored(slot))
    p.cause = JobCause::kRollback;
  else if (is_current && !(chain_goes_on && !policy::rules_of(state, t).retries.empty()))
    return p;
  else if (chain_goes_on)
    p.cause = JobCause::kRetry;
  else if (is_behind_rollback(state, slot, p.version))
    p.cause = JobCause::kRollback;

  TargetState row = state.row_of(t);
  apply_desired(row, state, p);
  StartRequest request{t, p.version, p.release, p.cause};
  auto no = refusal(state, now, request, row);
  p.start = !no;
  if (!no) return p;
  p.waiting_for = no->why;
  p.no_slot = no->no_slot;
  if (no->next_at) p.look_again = p.look_again ? std::min(*p.look_again, *no->next_at) : no->next_at;
  // What runs here, and failed when it was deployed again, stays: there is no telling that the one before is
  // better.
  if (no->attempts_used_up && !is_current && says_go_back(state, t)) p.deny = p.version;
  return p;
}

void reconcile(Tx& tx, TargetIx t) {
  advance_brackets_of(tx, t);
  Plan p = plan(tx.state, tx.now, t);
  // Who may start does so from its place in line, and leaves it then.
  if (!p.bracketed && !p.start) wait_for_slots(tx.state, t, p.no_slot);
  if (p.look_again) tx.state.wake_at(t, *p.look_again);
  send_held(tx, t);
  if (p.empty()) return;
  if (!p.supersede.empty()) {
    bool gone = !tx.state.target_exists(t);
    supersede(tx, p.supersede, gone ? "the release target no longer exists" : "superseded");
    p = plan(tx.state, tx.now, t);  // the place they held is free now
  }
  TargetState row = tx.state.row_of(t);
  if (p.set_desired) apply_desired(row, tx.state, p);
  if (p.deny) {
    row.denied.push_back(tx.state.versions[p.deny].row.id);
    tx.audit("target.rollback", row.key.str(),
             fmt::format(R"({{"version":"{}"}})", tx.state.versions[p.deny].row.id.str()));
  }
  if (p.start) {
    // Writes the row too.
    CHECK(start(tx, {t, p.version, p.release, p.cause}, row).has_value(),
          "admission refused what it had allowed");
    wait_for_slots(tx.state, t, std::nullopt);
  } else if (p.set_desired || p.deny) {
    tx.put(std::move(row));
  }
}

bool has_work(const State& state) {
  return !state.settled() || policy::is_edited(state) || state.any_changed_pairs() ||
         state.any_changed_scopes() || state.any_stranded() || state.any_unheard() || state.any_to_stop() ||
         state.any_idle_slots() || state.any_stirred_lines() || state.any_dirty_groups() || state.any_dirty();
}

bool work(Tx& tx) {
  if (!tx.state.settled()) {
    std::vector<TargetKey> gone;
    tx.state.advance(kMembershipUnit, gone);
    for (const TargetKey& key : gone) tx.erase(TargetState{.key = key});
    // Links and selectors decide whom rules look at, also where no target came or went.
    if (tx.state.settled() && tx.state.take_relinked()) policy::note_edit(tx.state);
    return true;
  }
  if (tx.state.any_to_stop()) {
    stop_some_jobs(tx);
    return true;
  }
  if (policy::is_edited(tx.state)) {
    policy::note_edit(tx.state);
    return true;
  }
  if (tx.state.any_changed_pairs()) {
    for (auto [d, e] : tx.state.take_changed_pairs()) policy::note_membership(tx.state, tx.now, d, e);
    return true;
  }
  if (tx.state.any_changed_scopes()) {
    for (auto [v, e] : tx.state.take_changed_scopes()) policy::note_scope(tx.state, tx.now, v, e);
    return true;
  }
  if (tx.state.any_idle_slots()) {
    if (auto slot = tx.state.pop_idle_slot()) release_slot(tx, *slot);
    return true;
  }
  if (auto g = tx.state.pop_dirty_group()) {
    advance_group(tx, *g);
    return true;
  }
  if (auto job = tx.state.pop_stranded()) {
    tidy_stranded(tx, *job);
    return true;
  }
  if (auto t = tx.state.pop_dirty()) {
    reconcile(tx, *t);
    return true;
  }
  if (tx.state.any_stirred_lines()) {
    wake_lines(tx.state);
    return true;
  }
  if (!tx.state.any_unheard()) return false;
  std::vector<Entity> rows;
  tx.state.take_unheard(kUnheardUnit, rows);
  for (Entity& row : rows) tx.erase(std::move(row));
  return true;
}

bool run_due_timers(Tx& tx, size_t limit) {
  for (; limit > 0; --limit) {
    auto lease = tx.state.lease_timers.pop_due(tx.uptime);
    if (!lease) break;
    if (JobIx j = tx.state.jobs.find(JobId{lease->subject})) lease_fired(tx, j);
  }
  for (; limit > 0; --limit) {
    auto timer = tx.state.timers.pop_due(tx.now);
    if (!timer) return false;
    JobIx j = tx.state.jobs.find(JobId{timer->subject});
    switch (timer->kind) {
      case TimerKind::kAgentLease: break;  // above
      case TimerKind::kJobTimeout:
        if (j) job_timed_out(tx, j);
        break;
      case TimerKind::kIdempotencyExpiry:
        tx.erase(IdempotencyRecord{.key = Digest{timer->subject.bytes}});
        break;
      case TimerKind::kSkipExpiry:
        if (!policy::outlives_expiry(tx.state, SkipId{timer->subject}))
          skip_expired(tx, SkipId{timer->subject});
        break;
      case TimerKind::kFreezeDue: freeze_due(tx, FreezeId{timer->subject}); break;
      case TimerKind::kTargetDue: tx.state.target_due(timer->subject); break;
      case TimerKind::kSessionExpiry: session_expired(tx, SessionId{timer->subject}); break;
    }
  }
  return true;
}

namespace {

std::string describe(const State& state, const Plan& p) {
  return fmt::format("{}{}{}{}{}", p.version ? state.versions[p.version].row.tag : "nothing",
                     p.set_desired ? ", new desired" : "", p.start ? ", start" : "", p.deny ? ", deny" : "",
                     p.supersede.empty() ? "" : ", supersede");
}

// A job that was held and may not start any more is refused when somebody asks for it, and goes then: that a
// window has closed meanwhile wakes nobody.
bool is_only_late(const State& state, TargetIx t, const Plan& p) {
  return !p.start && !p.set_desired && !p.deny &&
         std::all_of(p.supersede.begin(), p.supersede.end(), [&](JobId id) {
           return state.jobs[state.jobs.find(id)].row.release == state.at(t).desired_release;
         });
}

bool a_group_could_begin(const State& state, Time now, TargetIx t) {
  const auto& groups = state.resources[state.at(t).resource].groups;
  return std::any_of(groups.begin(), groups.end(), [&](GroupIx g) {
    return state.groups[g].row.status == GroupStatus::kReady && !start_blocker(state, now, g);
  });
}

}  // namespace

std::string audit_target(State& state, Time now, TargetIx t) {
  if (!state.settled() || state.any_dirty()) return {};
  const Plan p = plan(state, now, t);
  std::string missed;
  if (!p.empty() && !is_only_late(state, t, p)) missed = describe(state, p);
  // Deeper in a line there may be some who wait for nothing any more: they are looked at in their turn. Of a
  // bracket's targets one stands there for its group.
  if (!p.no_slot && !policy::bracket_of(state, t) && keeps_a_slot_free(state, t))
    missed = "keeps a slot free that others wait for";
  if (a_group_could_begin(state, now, t)) missed = "its group could begin";
  if (!p.empty() || !missed.empty()) state.mark_dirty(t);
  return missed;
}

}  // namespace ctrlplane
