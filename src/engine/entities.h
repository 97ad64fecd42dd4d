// Commands that write what people and CI declare.
#pragma once

#include "engine/commands.h"
#include "engine/tx.h"

namespace ctrlplane {

Reply create_workspace(Tx& tx, const CreateWorkspace& c);
Reply upsert_system(Tx& tx, const UpsertSystem& c);
Reply delete_system(Tx& tx, const DeleteSystem& c);
Reply upsert_environment(Tx& tx, const UpsertEnvironment& c);
Reply delete_environment(Tx& tx, const DeleteEnvironment& c);
Reply upsert_deployment(Tx& tx, const UpsertDeployment& c);
Reply delete_deployment(Tx& tx, const DeleteDeployment& c);
Reply link_deployment(Tx& tx, const LinkDeployment& c);
Reply link_environment(Tx& tx, const LinkEnvironment& c);
Reply create_version(Tx& tx, const CreateVersion& c);
Reply set_version_status(Tx& tx, const SetVersionStatus& c);
Reply upsert_provider(Tx& tx, const UpsertProvider& c);
Reply upsert_resource(Tx& tx, const UpsertResource& c);
Reply delete_resource(Tx& tx, const DeleteResource& c);
Reply upsert_agent(Tx& tx, const UpsertAgent& c);
Reply delete_agent(Tx& tx, const DeleteAgent& c);

// Form only: needs no state, so that bulk input is checked before the loop sees it.
Status validate_resource(std::string_view path, const ResourceInput& r);

}  // namespace ctrlplane
