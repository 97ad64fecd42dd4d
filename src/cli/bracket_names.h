// Which bracket group, and which of its members, a person means.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "cli/client.h"
#include "cli/failure.h"
#include "cli/kinds.h"

namespace ctrlplane::cli {

const Kind& group_kind();

// What `status` of the list of groups takes for those that have not ended.
inline constexpr std::string_view kOpenStatuses = "collecting,ready,queued,executing,stuck";

// From its id, the beginning of it, "bracket-group/ID" as -o name writes it, or the name or identifier of the
// resource that it works on, if that has exactly one group that has not ended. The beginning of an id is
// looked for among all open groups and the newest ended ones.
Outcome<std::string> group_id(Client& client, std::string reference);
// W/bracket-groups/{id}
Outcome<std::string> group_path(Client& client, std::string reference);

// As group_id; a resource's name is enough if the resource is in quarantine, though its group has ended.
Outcome<std::string> quarantined_group_path(Client& client, std::string reference);

// The deployment of a member of the group (as GET bracket-groups/{id} shows it), by its name, its id or the
// beginning of its id.
Outcome<std::string> member_deployment(const boost::json::value& group, std::string_view reference);

}  // namespace ctrlplane::cli
