// What people do about bracket groups. A command only writes down what they want: the group is marked, and
// the next reconcile step acts on it.
#include <fmt/core.h>

#include "engine/bracket_order.h"
#include "engine/bracket_run.h"
#include "engine/brackets.h"
#include "engine/select.h"
#include "engine/validate.h"
#include "model/json_writer.h"

namespace ctrlplane {
namespace {

using Outcome = MemberOutcome;

std::string_view word_of(GroupAction a) {
  constexpr std::string_view kWords[] = {"close_now", "retry", "skip_member",
                                         "finish",    "abort", "clear_quarantine"};
  return kWords[static_cast<size_t>(a)];
}

Status conflict(const BracketGroup& row, std::string_view what) {
  return fail(ErrorCode::kConflict, fmt::format("the group is {}{}", to_string(row.status),
                                                what.empty() ? "" : fmt::format(": {}", what)));
}

Status close_now(Tx& tx, BracketGroup row) {
  if (row.status != GroupStatus::kCollecting) return conflict(row, "its window has closed already");
  row.closed_by = tx.actor;
  tx.put(std::move(row));
  return {};
}

// The newest eligible version in place of the lock.
Status lock_newest(Tx& tx, const GroupSlot& group, const MemberSlot& m, BracketMember& row) {
  const TargetIx t = target_of(tx.state, group, m);
  if (!t)
    return fail(ErrorCode::kConflict,
                fmt::format("{} is not on this resource any more", name_of(tx.state, m)));
  const Selection s = select_version(tx.state, tx.now, t, policy::Ask::kLock);
  if (s.kind != Selection::Kind::kVersion)
    return fail(ErrorCode::kConflict, fmt::format("no version of {} is eligible", name_of(tx.state, m)));
  row.version = tx.state.versions[s.version].row.id;
  row.locked_at = tx.now;
  if (row.participation == Participation::kRedeploy && s.version != tx.state.at(t).current_version)
    row.participation = Participation::kChanged;
  return {};
}

Status retry(Tx& tx, const GroupSlot& group, const ActOnGroup& c) {
  if (!group.row.active()) return conflict(group.row, "only a group at work can be retried");
  std::vector<BracketMember> rows;
  for (const MemberSlot& m : group.members) {
    if (c.deployment && m.row.deployment != *c.deployment) continue;
    if (m.row.outcome != Outcome::kFailed) continue;
    BracketMember row = m.row;
    const bool back = group.row.course == GroupCourse::kRollBack && !is_hook(m);
    row.outcome = back ? Outcome::kRollingBack : Outcome::kWaiting;
    row.attempts = back ? row.attempts : 0;
    row.finished_at.reset();
    if (c.relock && !back) TRY(lock_newest(tx, group, m, row));
    rows.push_back(std::move(row));
  }
  if (rows.empty())
    return conflict(group.row, c.deployment ? "that member has not failed" : "no member has failed");
  for (BracketMember& row : rows) tx.put(std::move(row));
  return {};
}

Status skip_member(Tx& tx, const GroupSlot& group, const ActOnGroup& c) {
  if (!c.deployment) return invalid("deploymentId", "must say which member is left out");
  if (group.row.ended() || !group.row.ready_at) return conflict(group.row, "nothing is locked in it");
  const MemberSlot* m = group.member(*c.deployment);
  if (!m || !takes_part(*m)) return invalid("deploymentId", "does not take part in this group");
  if (is_running(tx.state, group, *m))
    return fail(ErrorCode::kConflict,
                fmt::format("{} is running: cancel its job first", name_of(tx.state, *m)));
  if (m->row.outcome != Outcome::kWaiting && m->row.outcome != Outcome::kFailed)
    return fail(ErrorCode::kConflict,
                fmt::format("{} is {}", name_of(tx.state, *m), to_string(m->row.outcome)));
  BracketMember row = m->row;
  row.outcome = Outcome::kSkipped;
  row.finished_at = tx.now;
  tx.put(std::move(row));
  return {};
}

Status finish(Tx& tx, BracketGroup row) {
  if (!row.active()) return conflict(row, "only a group at work can be let finish");
  row.finish_by = tx.actor;
  // Jobs of it that a freeze holds may be asked for again.
  if (ResourceIx r = tx.state.resources.find(row.resource))
    for (TargetIx t : tx.state.resources[r].targets) tx.state.mark_dirty(t);
  tx.put(std::move(row));
  return {};
}

Status abort(Tx& tx, BracketGroup row, const ActOnGroup& c) {
  if (row.ended()) return conflict(row, "");
  const std::string note = fmt::format("aborted by {}{}{}", tx.actor, c.reason.empty() ? "" : ": ", c.reason);
  if (row.status == GroupStatus::kCollecting)
    return conflict(row, "nothing is locked that could be given up; it would only open again");
  if (!row.started() && !row.active()) {
    end_group(tx, row.id, {.status = GroupStatus::kCancelled, .note = note, .rule_out = true});
    return {};
  }
  if (!c.run_post_hooks || !row.started()) {  // where nothing was opened nothing is to be closed
    end_group(tx, row.id, {.status = GroupStatus::kFailed, .note = note, .quarantine = true});
    return {};
  }
  row.course = GroupCourse::kWindDown;
  row.note = note;
  tx.put(std::move(row));
  return {};
}

Status clear_quarantine(Tx& tx, const GroupSlot& group) {
  const Quarantine* in = tx.state.quarantine(group.row.rule, group.row.resource);
  if (!in) return fail(ErrorCode::kConflict, "the resource is not in quarantine");
  Quarantine cleared = *in;
  cleared.cleared_by = tx.actor;
  cleared.cleared_at = tx.now;
  forgive(tx, group);
  const GroupId id = cleared.group;
  tx.put(std::move(cleared));
  if (GroupIx g = tx.state.groups.find(id); g && tx.state.groups[g].row.ended()) retire_group(tx, g);
  return {};
}

}  // namespace

Reply act_on_group(Tx& tx, const ActOnGroup& c) {
  TRY(optional_text("reason", c.reason));
  const GroupIx g = tx.state.groups.find(c.group);
  if (!g) return fail(ErrorCode::kNotFound, fmt::format("no bracket group {} that is open", c.group.str()));
  const GroupSlot& group = tx.state.groups[g];
  const BracketGroup row = group.row;
  switch (c.action) {
    case GroupAction::kCloseNow: TRY(close_now(tx, row)); break;
    case GroupAction::kRetry: TRY(retry(tx, group, c)); break;
    case GroupAction::kSkipMember: TRY(skip_member(tx, group, c)); break;
    case GroupAction::kFinish: TRY(finish(tx, row)); break;
    case GroupAction::kAbort: TRY(abort(tx, row, c)); break;
    case GroupAction::kClearQuarantine: TRY(clear_quarantine(tx, group)); break;
  }
  JsonWriter details;
  details.open().member("rule", row.rule).member("resource", row.resource).member("reason", c.reason);
  if (c.deployment) details.member("deployment", *c.deployment);
  tx.audit(fmt::format("bracket.{}", word_of(c.action)), c.group.str(), details.close().take());
  return Answer{.id = c.group.uuid};
}

}  // namespace ctrlplane
