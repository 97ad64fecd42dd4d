// Brackets and their groups as a person reads them.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "cli/console.h"
#include "cli/table.h"

namespace ctrlplane::cli {

// How a group's status, or a member's state, looks.
Tone tone_of_group(std::string_view status);

// Since when the group is in its status: an instant, as the server sent it.
std::string group_since(const boost::json::value& group);

// What a group waits for, or who runs.
std::string group_waits(const boost::json::value& group, Time now);

// The answer to GET brackets: the rules with their counts, the open groups, and who is in quarantine.
std::string brackets_text(const Console& console, bool wide, const boost::json::value& answer);

// A group in full: what it is and waits for, then its members as a tree, then what a person can do about it.
// `wide`: also its timeline and its jobs.
std::string group_text(const Console& console, bool wide, const boost::json::value& group);

// The answer to GET concurrency.
std::string concurrency_text(const Console& console, const boost::json::value& answer);
// "[##--------] 2/2 of 10"
std::string gauge(int64_t active, int64_t most, int64_t total);

}  // namespace ctrlplane::cli
