// A clock that stands still while a target's deployment windows are closed.
#pragma once

#include "policy/rule.h"

namespace ctrlplane::policy {

// When `needed` of open time has passed since `from`. Windows that are skipped do not count; without windows,
// or on a target that has nothing deployed (windows do not concern it), that is simply later. nullopt: never.
std::optional<Time> after_open_time(const Question& q, Time from, Duration needed);

// The same for these windows, all of which must be open at once.
std::optional<Time> after_open_time(const std::vector<const Rule*>& windows, Time from, Duration needed);

}  // namespace ctrlplane::policy
