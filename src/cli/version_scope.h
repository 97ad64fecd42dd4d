// The scope of a version as a person reads it: which release targets of its deployment it is for.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "cli/console.h"

namespace ctrlplane::cli {

// What a list says of a version: "all", "3 of 50", or "some" where the server does not count it any more.
std::string scope_of(const boost::json::value& version);

// "3 of 50 targets, 2 undetermined"; `scope` as the server counts it.
std::string scope_text(const boost::json::value& scope);
// What makes a second look at a scope worth while; nothing where it is as one would expect. `included`: so
// are targets on which the selector cannot be evaluated.
std::vector<std::string> doubts_about(const boost::json::value& scope, bool included);

// The release targets that the answer to a dry run lists.
std::string preview_table(const Console& console, bool wide, const boost::json::value& answer);

}  // namespace ctrlplane::cli
