// A job's dispatch context, in parts that many jobs share: each distinct part is one row.
#pragma once

#include "engine/tx.h"

namespace ctrlplane {

// Deployment, environment, version, agent, and the agent configuration merged from the last three
// (agent, deployment, version: later wins). Writes the part if it is new.
Digest shared_part(Tx& tx, DeploymentIx d, EnvironmentIx e, VersionIx v, AgentIx a);
Digest resource_part(Tx& tx, ResourceIx r);

}  // namespace ctrlplane
