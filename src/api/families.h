// The families of routes, one unit each in routes/.
#pragma once

#include "api/route.h"

namespace ctrlplane::api {

Family instance_family();
Family replica_family();
Family account_family();
Family workspace_family();
Family member_family();
Family system_family();
Family environment_family();
Family deployment_family();
Family version_family();
Family resource_family();
Family provider_family();
Family selector_family();
Family agent_family();
Family job_family();
Family target_family();
Family policy_family();
Family approval_family();
Family explain_family();
Family bracket_family();
Family bracket_group_family();
Family concurrency_family();
Family freeze_family();
Family freeze_history_family();
Family freeze_check_family();
Family freeze_report_family();
Family channel_family();
Family event_family();
Family legacy_family();

}  // namespace ctrlplane::api
