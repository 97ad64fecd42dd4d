// The k=v of a command line.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "cli/failure.h"

namespace ctrlplane::cli {

// Texts by name. A name that comes twice is wrong use.
Outcome<boost::json::object> text_pairs(const std::vector<std::string>& pairs);
// `a.b=v` is a member of a member; v is read as YAML, so that 3 is a number and "3" in quotes is a text.
Outcome<boost::json::object> config_pairs(const std::vector<std::string>& pairs);

}  // namespace ctrlplane::cli
