// Lists and single things in the form that was asked for.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "cli/console.h"
#include "cli/failure.h"
#include "cli/kinds.h"

namespace ctrlplane::cli {

enum class Output { kTable, kWide, kJson, kYaml, kName };

// Empty: a table.
Outcome<Output> parse_output(std::string_view word);

// JSON and YAML: an array of the items as the server sent them. Names: a line `kind/name` each.
std::string list_text(const Console& console, Output output, const Kind& kind,
                      const boost::json::array& items);
// The same for one; JSON and YAML without an array around it.
std::string item_text(const Console& console, Output output, const Kind& kind,
                      const boost::json::value& item);
// "system/shop"
std::string item_name(const Kind& kind, const boost::json::value& item);
// The value itself as JSON or YAML.
std::string value_text(Output output, const boost::json::value& value);

}  // namespace ctrlplane::cli
