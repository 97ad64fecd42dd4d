#include "api/families.h"

namespace ctrlplane::api {

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      instance_family(),      replica_family(),  account_family(),        workspace_family(),
      member_family(),        system_family(),   environment_family(),    deployment_family(),
      version_family(),       resource_family(), provider_family(),       selector_family(),
      agent_family(),         job_family(),      target_family(),         policy_family(),
      approval_family(),      explain_family(),  bracket_family(),        bracket_group_family(),
      concurrency_family(),   freeze_family(),   freeze_history_family(), freeze_check_family(),
      freeze_report_family(), channel_family(),  event_family(),          legacy_family(),
  };
  return all;
}

}  // namespace ctrlplane::api
