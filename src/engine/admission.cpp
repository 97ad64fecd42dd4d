#include "engine/admission.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/bracket_order.h"
#include "engine/context.h"
#include "engine/freezes.h"
#include "engine/jobs.h"
#include "engine/select.h"
#include "model/agent_type.h"
#include "policy/freezes.h"
#include "policy/judge.h"
#include "policy/open_time.h"

namespace ctrlplane {
namespace {

using Maybe = std::optional<Refusal>;

Maybe target_is_gone(const State& state, const StartRequest& q) {
  if (state.target_exists(q.target)) return {};
  return Refusal{"the release target no longer exists"};
}

Maybe release_is_active(const State& state, const StartRequest& q) {
  JobIx j = state.at(q.target).first_job;
  if (!j) return {};
  return Refusal{fmt::format("job {} is still active on this target", state.jobs[j].row.id.str())};
}

// Also for what a person forces.
Maybe is_frozen(const State& state, Time now, const StartRequest& q) {
  FreezeIx f = policy::frozen_by(state, now, q.target, q.version, q.group);
  if (!f) return {};
  return Refusal{.why = policy::frozen_message(state.freezes[f].row), .frozen_by = f};
}

Maybe its_turn_comes_later(const State& state, Time now, const StartRequest& q) {
  if (q.cause == JobCause::kForce || q.cause == JobCause::kRedeploy) return {};
  if (q.group && state.groups[q.group].row.started()) return {};
  auto turn = policy::resume_turn(state, now, q.target, q.version);
  if (!turn) return {};
  return Refusal{fmt::format("held work is let go at a pace; its turn comes {}", format_rfc3339(*turn)),
                 turn};
}

Maybe version_is_not_deployable(const State& state, const StartRequest& q) {
  const VersionSlot& v = state.versions[q.version];
  if (v.erased) return Refusal{"the version was deleted"};
  if (v.row.status == VersionStatus::kReady) return {};
  bool runs_here = state.at(q.target).current_version == q.version;
  if (v.row.status == VersionStatus::kPaused && runs_here) return {};
  return Refusal{fmt::format("version {} is {}", v.row.tag, to_string(v.row.status))};
}

// What runs here stays, and may be deployed again. A group at work prepares and closes its resource with what
// it has locked, and goes back to what ran.
Maybe version_is_for_others(const State& state, const StartRequest& q) {
  if (state.at(q.target).current_version == q.version || state.in_scope(q.version, q.target)) return {};
  if (q.group) {
    const DeploymentId deployment = state.deployments[state.at(q.target).deployment].row.id;
    const MemberSlot* m = state.groups[q.group].member(deployment);
    if (q.cause == JobCause::kRollback || (m && is_hook(*m))) return {};
  }
  return Refusal{fmt::format("version {} is not for this target: its targetSelector does not match",
                             state.versions[q.version].row.tag)};
}

// A person's redeploy, a forced start and a rollback begin a new chain of attempts.
bool begins_a_chain(const StartRequest& q) {
  return q.new_chain || q.cause == JobCause::kRedeploy || q.cause == JobCause::kForce ||
         q.cause == JobCause::kRollback;
}

// Without a retry rule a release has one attempt. With several, every one of them must agree.
Maybe attempts_are_used_up(const State& state, Time now, const StartRequest& q, const TargetState& row) {
  if (begins_a_chain(q) || row.chain_release != q.release || row.attempts == 0) return {};
  const policy::RuleSet& rules = policy::rules_of(state, q.target);
  if (rules.retries.empty()) return Refusal{fmt::format("{} of 1 attempts used", row.attempts), {}, true};
  Time ended = row.last_ended_at.value_or(now), ready = ended;
  for (const policy::RetryTerms* terms : rules.retries) {
    if (row.attempts > terms->max_retries)
      return Refusal{fmt::format("{} of {} attempts used", row.attempts, terms->max_retries + 1), {}, true};
    JobStatus last = row.last_status.value_or(JobStatus::kFailure);
    if (std::find(terms->on.begin(), terms->on.end(), last) == terms->on.end())
      return Refusal{
          fmt::format("the last attempt ended as {}, which is not repeated", to_string(last)), {}, true};
    ready = std::max(ready, ended + terms->wait_before(row.attempts));
  }
  if (now < ready) return Refusal{fmt::format("the next attempt is at {}", format_rfc3339(ready)), ready};
  return {};
}

Maybe release_is_not_desired(const StartRequest& q, const TargetState& row) {
  if (row.desired_release == q.release) return {};
  return Refusal{"another release is desired by now"};
}

Maybe rules_say_no(const State& state, Time now, const StartRequest& q) {
  if (q.cause == JobCause::kForce || q.group) return {};
  policy::Waiver waiver =
      q.cause == JobCause::kRollback ? policy::Waiver::kReturn : waiver_for(state, q.target, q.version);
  policy::Judgement j = policy::judge(state, now, q.target, q.version, waiver);
  if (j.verdict == policy::Verdict::kAllowed) return {};
  if (auto x = policy::first_no(state, now, q.target, q.version, waiver))
    return Refusal{x->policy ? fmt::format("policy {}: {}", x->policy->name, x->evaluation.message)
                             : x->evaluation.message,
                   j.next_at};
  return Refusal{"a policy does not allow it", j.next_at};
}

// What belongs to a bracket is started by its group, in its turn; or by a person, alone, while no group is at
// work on the resource.
Maybe bracket_says_no(const State& state, Time now, const StartRequest& q) {
  if (q.group) {
    const GroupSlot& group = state.groups[q.group];
    const TargetSlot& slot = state.at(q.target);
    const MemberSlot* m = group.member(state.deployments[slot.deployment].row.id);
    if (!m || !group.row.active()) return Refusal{"its bracket group does not execute"};
    auto wait = m->row.outcome == MemberOutcome::kRollingBack ? must_wait_to_go_back(state, group, *m)
                                                              : must_wait(state, now, group, *m);
    return wait ? Maybe(Refusal{*wait}) : std::nullopt;
  }
  if (GroupIx g = active_group_of(state, q.target))
    return Refusal{fmt::format("Bracket group {} executing on this resource", state.groups[g].row.id.str())};
  const bool by_person = q.cause == JobCause::kForce || q.cause == JobCause::kRedeploy;
  if (by_person || !policy::bracket_of(state, q.target)) return {};
  if (policy::is_bracket_skipped(state, now, q.target, q.version)) return {};
  return Refusal{"it belongs to a bracket, whose groups start it"};
}

std::vector<RuleId> slots_for(const State& state, const StartRequest& q) {
  std::vector<RuleId> needed = policy::slots_needed(state, q.target);
  // A group has taken what it needs; a rule that came later does not stop it half-way.
  if (q.group)
    std::erase_if(needed, [&](RuleId rule) {
      return !state.holds_slot(rule, state.resources[state.at(q.target).resource].row.id);
    });
  return needed;
}

// The last check: only who may do everything else waits in line.
Maybe no_slot_is_free(const State& state, Time now, const StartRequest& q) {
  const std::vector<RuleId> needed = slots_for(state, q);
  if (needed.empty()) return {};
  auto no = no_slot(state, needed, policy::place_in_line(state, now, q.target, q.version));
  if (!no) return {};
  // A window that closes on it meanwhile takes it out of the line.
  return Refusal{.why = no->why, .next_at = policy::next_boundary(state, now, q.target), .no_slot = no};
}

Maybe nobody_takes_it(const State& state, const StartRequest& q) {
  if (!state.agents_for(state.at(q.target).deployment).empty()) return {};
  return Refusal{"no job agent matches the deployment's agent selector"};
}

Job new_job(Tx& tx, const StartRequest& q, const TargetKey& key, AgentIx a) {
  const TargetSlot& target = tx.state.at(q.target);
  Job job{.id = tx.ids.make<JobId>(), .target = key, .release = q.release};
  job.version = tx.state.versions[q.version].row.id;
  job.agent = tx.state.agents[a].row.id;
  job.cause = q.cause;
  job.shared_part = shared_part(tx, target.deployment, target.environment, q.version, a);
  job.resource_part = resource_part(tx, target.resource);
  job.created_at = job.updated_at = tx.now;
  job.timeout = tx.state.deployments[target.deployment].row.job_timeout;
  if (q.group) job.group = tx.state.groups[q.group].row.id;
  job.slots = slots_for(tx.state, q);
  return job;
}

void enqueue_start(Tx& tx, const Job& job, std::string_view channel) {
  OutboxItem item{.id = tx.ids.make<OutboxId>(), .kind = OutboxKind::kStart};
  item.job = job.id;
  item.channel = channel;
  item.created_at = item.next_attempt_at = tx.now;
  tx.put(std::move(item));
}

std::vector<JobId> make_jobs(Tx& tx, const StartRequest& q, const TargetKey& key) {
  std::vector<JobId> started;
  for (AgentIx a : tx.state.agents_for(tx.state.at(q.target).deployment)) {
    Job job = new_job(tx, q, key, a);
    const AgentType& type = agent_type(tx.state.agents[a].row.type);
    started.push_back(job.id);
    tx.put(job);
    if (type.delivery == Delivery::kPush) enqueue_start(tx, job, type.name);
  }
  return started;
}

Maybe other_reasons(const State& state, Time now, const StartRequest& q, const TargetState& row) {
  if (auto no = version_is_not_deployable(state, q)) return no;
  if (auto no = version_is_for_others(state, q)) return no;
  if (auto no = release_is_not_desired(q, row)) return no;
  if (auto no = attempts_are_used_up(state, now, q, row)) return no;
  if (auto no = bracket_says_no(state, now, q)) return no;
  if (auto no = rules_say_no(state, now, q)) return no;
  if (auto no = nobody_takes_it(state, q)) return no;
  if (auto no = its_turn_comes_later(state, now, q)) return no;
  return no_slot_is_free(state, now, q);
}

}  // namespace

std::optional<Refusal> refusal(const State& state, Time now, const StartRequest& q, const TargetState& row) {
  if (auto no = target_is_gone(state, q)) return no;
  if (auto no = release_is_active(state, q)) return no;
  if (auto no = is_frozen(state, now, q)) return no;
  return other_reasons(state, now, q, row);
}

std::optional<Refusal> refusal_but_for_freezes(const State& state, Time now, const StartRequest& q,
                                               const TargetState& row) {
  if (auto no = target_is_gone(state, q)) return no;
  if (auto no = release_is_active(state, q)) return no;
  return other_reasons(state, now, q, row);
}

Result<std::vector<JobId>> start(Tx& tx, const StartRequest& q, TargetState row) {
  if (auto no = refusal(tx.state, tx.now, q, row))
    return no->frozen_by ? frozen(tx.state, no->frozen_by) : fail(ErrorCode::kConflict, no->why);
  note_passage(tx, q.target, q.version);
  if (row.chain_release != q.release || begins_a_chain(q)) {
    row.chain_release = q.release;
    row.attempts = 0;
  }
  const TargetKey key = row.key;
  if (!q.group) take_slots(tx, slots_for(tx.state, q), key.resource, std::nullopt);
  tx.put(Release{q.release, key, tx.state.versions[q.version].row.id, Digest{}, tx.now});
  tx.put(std::move(row));

  return make_jobs(tx, q, key);
}

void hold_again(Tx& tx, TargetIx t, const Job& stopped) {
  const StartRequest q{t, tx.state.versions.find(stopped.version), stopped.release, stopped.cause};
  if (!q.version || target_is_gone(tx.state, q) || release_is_active(tx.state, q)) return;
  // A group that has begun meanwhile has the resource to itself.
  if (active_group_of(tx.state, t) || version_is_for_others(tx.state, q)) return;
  if (version_is_not_deployable(tx.state, q) || tx.state.at(t).desired_release != stopped.release) return;
  const TargetKey key = tx.state.key_of(t);
  // What no freeze holds any more is not looked at again before it goes.
  if (!is_frozen(tx.state, tx.now, q) && rules_say_no(tx.state, tx.now, q)) return;
  if (no_slot_is_free(tx.state, tx.now, q)) return;
  note_passage(tx, t, q.version);
  take_slots(tx, slots_for(tx.state, q), key.resource, std::nullopt);
  make_jobs(tx, q, key);
}

}  // namespace ctrlplane
