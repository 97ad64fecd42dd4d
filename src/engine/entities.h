// Commands that write what people and CI declare.
#pragma once

#include "engine/commands.h"
#include "engine/tx.h"

namespace ctrlplane {

Reply create_workspace(Tx& tx, const CreateWorkspace& c);
Reply update_workspace(Tx& tx, const UpdateWorkspace& c);
Reply delete_workspace(Tx& tx, const DeleteWorkspace& c);
Reply create_user(Tx& tx, const CreateUser& c);
Reply update_user(Tx& tx, const UpdateUser& c);
Reply delete_user(Tx& tx, const DeleteUser& c);
Reply create_api_key(Tx& tx, const CreateApiKey& c);
Reply delete_api_key(Tx& tx, const DeleteApiKey& c);
Reply create_session(Tx& tx, const CreateSession& c);
Reply delete_session(Tx& tx, const DeleteSession& c);
Reply set_member(Tx& tx, const SetMember& c);
Reply remove_member(Tx& tx, const RemoveMember& c);
Reply bootstrap(Tx& tx, const Bootstrap& c);
Reply upsert_system(Tx& tx, const UpsertSystem& c);
Reply delete_system(Tx& tx, const DeleteSystem& c);
Reply upsert_environment(Tx& tx, const UpsertEnvironment& c);
Reply delete_environment(Tx& tx, const DeleteEnvironment& c);
Reply upsert_deployment(Tx& tx, const UpsertDeployment& c);
Reply delete_deployment(Tx& tx, const DeleteDeployment& c);
Reply link_deployment(Tx& tx, const LinkDeployment& c);
Reply link_environment(Tx& tx, const LinkEnvironment& c);
VersionSettings version_settings(const State& state);
// May a version be scoped as the command says?
Status valid_scope(const State& state, const CreateVersion& c);
Reply set_version_settings(Tx& tx, const SetVersionSettings& c);
Reply create_version(Tx& tx, const CreateVersion& c);
Reply set_version_status(Tx& tx, const SetVersionStatus& c);
Reply set_version_dependency(Tx& tx, const SetVersionDependency& c);
Reply delete_version_dependency(Tx& tx, const DeleteVersionDependency& c);
Reply upsert_policy(Tx& tx, const UpsertPolicy& c);
Reply delete_policy(Tx& tx, const DeletePolicy& c);
Reply set_approval(Tx& tx, const SetApproval& c);
Reply create_skip(Tx& tx, const CreateSkip& c);
Reply delete_skip(Tx& tx, const DeleteSkip& c);
Reply force_deploy(Tx& tx, const ForceDeploy& c);
Reply clear_rollback(Tx& tx, const ClearRollback& c);
Reply upsert_provider(Tx& tx, const UpsertProvider& c);
Reply delete_provider(Tx& tx, const DeleteProvider& c);
Reply upsert_resource(Tx& tx, const UpsertResource& c);
Reply delete_resource(Tx& tx, const DeleteResource& c);
Reply upsert_agent(Tx& tx, const UpsertAgent& c);
Reply delete_agent(Tx& tx, const DeleteAgent& c);

// Its timer fired: the row goes, if it is due.
void session_expired(Tx& tx, SessionId id);
void skip_expired(Tx& tx, SkipId id);

// Form only: needs no state, so that bulk input is checked before the loop sees it.
Status validate_resource(std::string_view path, const ResourceInput& r);

}  // namespace ctrlplane
