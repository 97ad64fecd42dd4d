// Freezes as a person reads them in five seconds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "cli/console.h"
#include "cli/freeze_names.h"

namespace ctrlplane::cli {

inline constexpr size_t kJobsShown = 20;

// What it is: state, scope (`where`: "environment prod"), reason, beginning and end, id, and what it covers
// where the answer has an impact. No list of jobs.
std::string freeze_text(const Console& console, const boost::json::value& freeze, const std::string& where);
// The lines of an impact: how many targets and held jobs. Nothing if there is none.
std::string impact_text(const boost::json::value& impact);

// The jobs that agents have; the first of an impact's, the rest as a number. `titles` are of those first
// ones: "api 1.4.2 on prod/eu-1"; empty: the target's key.
std::string in_flight_text(const Console& console, const boost::json::value& impact,
                           std::string_view in_flight, const std::vector<std::string>& titles);
// The jobs that in_flight_text shows.
std::vector<std::string> shown_jobs(const boost::json::value& impact);

// The two commands that may come next; nothing for one that has ended.
std::string next_commands(const boost::json::value& freeze);

// Its history, a line each.
std::string events_text(const Console& console, const boost::json::value& freeze);

std::string freezes_table(const Console& console, bool wide, const boost::json::array& freezes,
                          const ScopeNames& names);

// The answer to `freeze check` about `where`.
std::string check_text(const Console& console, const boost::json::value& answer, const std::string& where);

}  // namespace ctrlplane::cli
