#include "engine/admission.h"

#include <fmt/core.h>

#include "engine/context.h"
#include "engine/jobs.h"
#include "engine/select.h"
#include "model/agent_type.h"

namespace ctrlplane {
namespace {

using Refusal = std::optional<std::string>;

Refusal target_is_gone(const State& state, const StartRequest& q) {
  if (state.target_exists(q.target)) return {};
  return "the release target no longer exists";
}

Refusal release_is_active(const State& state, const StartRequest& q) {
  JobIx j = state.at(q.target).first_job;
  if (!j) return {};
  return fmt::format("job {} is still active on this target", state.jobs[j].row.id.str());
}

Refusal version_is_not_deployable(const State& state, const StartRequest& q) {
  const VersionSlot& v = state.versions[q.version];
  if (v.erased) return "the version was deleted";
  if (v.row.status == VersionStatus::kReady) return {};
  bool runs_here = state.at(q.target).current_version == q.version;
  if (v.row.status == VersionStatus::kPaused && runs_here) return {};
  return fmt::format("version {} is {}", v.row.tag, to_string(v.row.status));
}

// Without a retry rule a release has one attempt; a person's redeploy starts a new chain.
Refusal attempts_are_used_up(const StartRequest& q, const TargetState& row) {
  if (q.cause == JobCause::kRedeploy) return {};
  if (row.chain_release != q.release || row.attempts == 0) return {};
  return fmt::format("{} of 1 attempts used", row.attempts);
}

Refusal release_is_not_desired(const StartRequest& q, const TargetState& row) {
  if (row.desired_release == q.release) return {};
  return "another release is desired by now";
}

Refusal nobody_takes_it(const State& state, const StartRequest& q) {
  if (!state.agents_for(state.at(q.target).deployment).empty()) return {};
  return "no job agent matches the deployment's agent selector";
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
  return job;
}

void enqueue_start(Tx& tx, const Job& job, std::string_view channel) {
  OutboxItem item{.id = tx.ids.make<OutboxId>(), .kind = OutboxKind::kStart};
  item.job = job.id;
  item.channel = channel;
  item.created_at = item.next_attempt_at = tx.now;
  tx.put(std::move(item));
}

}  // namespace

std::optional<std::string> refusal(const State& state, Time, const StartRequest& q, const TargetState& row) {
  if (auto no = target_is_gone(state, q)) return no;
  if (auto no = release_is_active(state, q)) return no;
  if (auto no = version_is_not_deployable(state, q)) return no;
  if (auto no = release_is_not_desired(q, row)) return no;
  if (auto no = attempts_are_used_up(q, row)) return no;
  return nobody_takes_it(state, q);
}

Result<std::vector<JobId>> start(Tx& tx, const StartRequest& q, TargetState row) {
  if (auto no = refusal(tx.state, tx.now, q, row)) return fail(ErrorCode::kConflict, *no);
  if (row.chain_release != q.release || q.cause == JobCause::kRedeploy) {
    row.chain_release = q.release;
    row.attempts = 0;
  }
  const TargetKey key = row.key;
  tx.put(Release{q.release, key, tx.state.versions[q.version].row.id, Digest{}, tx.now});
  tx.put(std::move(row));

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

}  // namespace ctrlplane
