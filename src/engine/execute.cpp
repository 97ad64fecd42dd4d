#include "engine/execute.h"

#include "engine/admission.h"
#include "engine/brackets.h"
#include "engine/entities.h"
#include "engine/freezes.h"
#include "engine/jobs.h"
#include "engine/notify.h"
#include "engine/outbox.h"
#include "engine/reconcile.h"
#include "engine/resources.h"
#include "engine/select.h"

namespace ctrlplane {
namespace {

Reply redeploy(Tx& tx, const RedeployTarget& c) {
  TargetIx t = tx.state.target(c.target);
  if (!t || !tx.state.target_exists(t)) return fail(ErrorCode::kNotFound, "no such release target");
  TargetState row = tx.state.row_of(t);
  const TargetSlot& slot = tx.state.at(t);
  if (!slot.desired_version) return fail(ErrorCode::kConflict, "no version is desired on this target yet");
  auto jobs = TRY(start(tx, {t, slot.desired_version, slot.desired_release, JobCause::kRedeploy}, row));
  tx.audit("target.redeploy", c.target.str());
  return Answer{.id = jobs.front().uuid, .created = true, .jobs = jobs};
}

struct Runner {
  Tx& tx;
  Reply operator()(const CreateWorkspace& c) { return create_workspace(tx, c); }
  Reply operator()(const UpdateWorkspace& c) { return update_workspace(tx, c); }
  Reply operator()(const DeleteWorkspace& c) { return delete_workspace(tx, c); }
  Reply operator()(const CreateUser& c) { return create_user(tx, c); }
  Reply operator()(const UpdateUser& c) { return update_user(tx, c); }
  Reply operator()(const DeleteUser& c) { return delete_user(tx, c); }
  Reply operator()(const CreateApiKey& c) { return create_api_key(tx, c); }
  Reply operator()(const DeleteApiKey& c) { return delete_api_key(tx, c); }
  Reply operator()(const CreateSession& c) { return create_session(tx, c); }
  Reply operator()(const DeleteSession& c) { return delete_session(tx, c); }
  Reply operator()(const SetMember& c) { return set_member(tx, c); }
  Reply operator()(const RemoveMember& c) { return remove_member(tx, c); }
  Reply operator()(const Bootstrap& c) { return bootstrap(tx, c); }
  Reply operator()(const UpsertSystem& c) { return upsert_system(tx, c); }
  Reply operator()(const DeleteSystem& c) { return delete_system(tx, c); }
  Reply operator()(const UpsertEnvironment& c) { return upsert_environment(tx, c); }
  Reply operator()(const DeleteEnvironment& c) { return delete_environment(tx, c); }
  Reply operator()(const UpsertDeployment& c) { return upsert_deployment(tx, c); }
  Reply operator()(const DeleteDeployment& c) { return delete_deployment(tx, c); }
  Reply operator()(const LinkDeployment& c) { return link_deployment(tx, c); }
  Reply operator()(const LinkEnvironment& c) { return link_environment(tx, c); }
  Reply operator()(const CreateVersion& c) { return create_version(tx, c); }
  Reply operator()(const SetVersionStatus& c) { return set_version_status(tx, c); }
  Reply operator()(const SetVersionDependency& c) { return set_version_dependency(tx, c); }
  Reply operator()(const DeleteVersionDependency& c) { return delete_version_dependency(tx, c); }
  Reply operator()(const UpsertPolicy& c) { return upsert_policy(tx, c); }
  Reply operator()(const DeletePolicy& c) { return delete_policy(tx, c); }
  Reply operator()(const SetApproval& c) { return set_approval(tx, c); }
  Reply operator()(const CreateSkip& c) { return create_skip(tx, c); }
  Reply operator()(const DeleteSkip& c) { return delete_skip(tx, c); }
  Reply operator()(const CreateFreeze& c) { return create_freeze(tx, c); }
  Reply operator()(const UpdateFreeze& c) { return update_freeze(tx, c); }
  Reply operator()(const ThawFreeze& c) { return thaw_freeze(tx, c); }
  Reply operator()(const SetFreezeSettings& c) { return set_freeze_settings(tx, c); }
  Reply operator()(const SetVersionSettings& c) { return set_version_settings(tx, c); }
  Reply operator()(const ActOnGroup& c) { return act_on_group(tx, c); }
  Reply operator()(const UpsertChannel& c) { return upsert_channel(tx, c); }
  Reply operator()(const DeleteChannel& c) { return delete_channel(tx, c); }
  Reply operator()(const TestChannel& c) { return test_channel(tx, c); }
  Reply operator()(const UpsertProvider& c) { return upsert_provider(tx, c); }
  Reply operator()(const DeleteProvider& c) { return delete_provider(tx, c); }
  Reply operator()(const UpsertResource& c) { return upsert_resource(tx, c); }
  Reply operator()(const DeleteResource& c) { return delete_resource(tx, c); }
  Reply operator()(const SetProviderResources&) { return fail(ErrorCode::kInternal, "a set runs in steps"); }
  Reply operator()(const UpsertAgent& c) { return upsert_agent(tx, c); }
  Reply operator()(const DeleteAgent& c) { return delete_agent(tx, c); }
  Reply operator()(const ClaimJob& c) { return claim(tx, c); }
  Reply operator()(const ReportJob& c) { return report(tx, c); }
  Reply operator()(const Heartbeat& c) { return heartbeat(tx, c); }
  Reply operator()(const CancelJob& c) { return cancel(tx, c); }
  Reply operator()(const DecideJob& c) { return decide_job(tx, c); }
  Reply operator()(const RedeployTarget& c) { return redeploy(tx, c); }
  Reply operator()(const ForceDeploy& c) { return force_deploy(tx, c); }
  Reply operator()(const ClearRollback& c) { return clear_rollback(tx, c); }
  Reply operator()(const BeginSend& c) { return begin_send(tx, c); }
  Reply operator()(const FinishSend& c) { return finish_send(tx, c); }
  Reply operator()(const Query& c) { return Answer{.text = TRY(c.run(tx.state, tx.now))}; }
};

}  // namespace

void Tx::audit(std::string_view action, std::string subject, std::string details) {
  put(AuditEntry{ids.make<AuditId>(), now, actor, std::string(action), std::move(subject),
                 std::move(details)});
}

void cancel_waiting_jobs(Tx& tx, TargetIx t) {
  std::vector<JobId> waiting;
  for (JobIx j = tx.state.at(t).first_job; j; j = tx.state.jobs[j].next_on_target)
    if (tx.state.jobs[j].row.status == JobStatus::kPending) waiting.push_back(tx.state.jobs[j].row.id);
  for (JobId id : waiting)
    end_job(tx, tx.state.jobs.find(id), JobStatus::kCancelled, "the release target no longer exists", true);
}

std::optional<Reply> replay(const State& state, const Request& request) {
  if (!request.idempotency) return std::nullopt;
  auto it = state.idempotency.find(request.idempotency->key);
  if (it == state.idempotency.end()) return std::nullopt;
  if (it->second.body != request.idempotency->body)
    return fail(ErrorCode::kConflict, "this Idempotency-Key was used for another request");
  return Answer{.id = it->second.subject,
                .created = it->second.status == 201,
                .replayed = true,
                .text = it->second.reply};
}

void remember(Tx& tx, const Request& request, const Answer& answer) {
  if (!request.idempotency) return;
  tx.put(IdempotencyRecord{request.idempotency->key, request.idempotency->body, answer.created ? 201 : 200,
                           answer.id, answer.text, tx.now});
}

Reply execute(Tx& tx, const Request& request) {
  if (auto earlier = replay(tx.state, request)) return *earlier;
  tx.actor = request.actor;
  Reply reply = std::visit(Runner{tx}, request.command);
  if (reply && request.render) reply->text = request.render(tx.state, tx.now, *reply);
  if (reply) remember(tx, request, *reply);
  CHECK(reply || !tx.changed(), "a refused command changed something");
  return reply;
}

}  // namespace ctrlplane
