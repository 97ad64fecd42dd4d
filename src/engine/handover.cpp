#include "engine/handover.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/freezes.h"
#include "engine/reconcile.h"
#include "engine/settings.h"
#include "policy/freezes.h"

namespace ctrlplane {
namespace {

// What a freeze has held is decided about again before it goes: something newer may be wanted by now, or its
// window may have closed.
Status may_go_on(Tx& tx, const JobSlot& slot) {
  const Job& job = slot.row;
  if (!policy::was_held(tx.state, tx.now, slot.target, slot.version, job.created_at)) return {};
  const Plan p = plan(tx.state, tx.now, slot.target);
  if (std::find(p.supersede.begin(), p.supersede.end(), job.id) != p.supersede.end()) {
    tx.state.mark_dirty(slot.target);
    return fail(ErrorCode::kConflict, "it was held by a freeze and is not to be started any more");
  }
  if (auto turn = policy::resume_turn(tx.state, tx.now, slot.target, slot.version)) {
    tx.state.wake_at(slot.target, *turn);
    return fail(ErrorCode::kFrozen,
                fmt::format("held work is let go at a pace; its turn comes {}", format_rfc3339(*turn)));
  }
  return {};
}

}  // namespace

Result<Job> hand_over(Tx& tx, JobIx j, const Recipient& to) {
  const JobSlot& slot = tx.state.jobs[j];
  if (slot.row.status != JobStatus::kPending)
    return fail(ErrorCode::kConflict, fmt::format("job is {}", to_string(slot.row.status)));
  if (!slot.target || !tx.state.target_exists(slot.target))
    return fail(ErrorCode::kConflict, "the release target no longer exists");
  if (tx.state.at(slot.target).desired_release != slot.row.release)
    return fail(ErrorCode::kConflict, "another release is desired by now");
  if (!slot.version) return fail(ErrorCode::kConflict, "its version is gone");
  const GroupIx group = slot.row.group ? tx.state.groups.find(*slot.row.group) : GroupIx{};
  if (FreezeIx f = policy::frozen_by(tx.state, tx.now, slot.target, slot.version, group))
    return frozen(tx.state, f);
  TRY(may_go_on(tx, slot));
  note_passage(tx, slot.target, slot.version);
  Job job = slot.row;
  job.status = JobStatus::kQueued;
  job.holder = to.instance;
  job.fences_itself = to.fences_itself;
  job.handed_over_at = job.updated_at = tx.now;
  tx.put(job);
  if (group && !tx.state.groups[group].row.handed_over_at) {
    BracketGroup row = tx.state.groups[group].row;
    row.handed_over_at = tx.now;
    tx.put(std::move(row));
  }
  if (!to.instance.empty()) tx.state.set_lease(j, tx.uptime + kAgentLease);
  return job;
}

void assume_handed_over(Job& job, Time now) {
  if (!job.handed_over_at) job.handed_over_at = now;
}

void take_back(Tx& tx, JobIx j) {
  Job job = tx.state.jobs[j].row;
  job.status = JobStatus::kPending;
  job.handed_over_at = std::nullopt;
  job.updated_at = tx.now;
  tx.put(std::move(job));
}

}  // namespace ctrlplane
