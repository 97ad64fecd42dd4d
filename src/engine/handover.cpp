#include "engine/handover.h"

#include <fmt/core.h>

#include "engine/settings.h"

namespace ctrlplane {

Result<Job> hand_over(Tx& tx, JobIx j, const Recipient& to) {
  const JobSlot& slot = tx.state.jobs[j];
  if (slot.row.status != JobStatus::kPending)
    return fail(ErrorCode::kConflict, fmt::format("job is {}", to_string(slot.row.status)));
  if (!slot.target || !tx.state.target_exists(slot.target))
    return fail(ErrorCode::kConflict, "the release target no longer exists");
  if (tx.state.at(slot.target).desired_release != slot.row.release)
    return fail(ErrorCode::kConflict, "another release is desired by now");
  Job job = slot.row;
  job.status = JobStatus::kQueued;
  job.holder = to.instance;
  job.fences_itself = to.fences_itself;
  job.handed_over_at = job.updated_at = tx.now;
  tx.put(job);
  if (!to.instance.empty()) tx.state.set_lease(j, tx.uptime + kAgentLease);
  return job;
}

void take_back(Tx& tx, JobIx j) {
  Job job = tx.state.jobs[j].row;
  job.status = JobStatus::kPending;
  job.handed_over_at = std::nullopt;
  job.updated_at = tx.now;
  tx.put(std::move(job));
}

}  // namespace ctrlplane
