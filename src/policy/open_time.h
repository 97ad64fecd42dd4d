// A clock that stands still while a target's deployment windows are closed, and while it is frozen; and when
// they change next.
#pragma once

#include "policy/freezes.h"

namespace ctrlplane::policy {

// When `needed` of open time has passed since `from`. Windows that are skipped and freezes that the version
// is exempt from do not count, nor do windows on a target that has nothing deployed: they do not concern it.
// nullopt: never, as far as is known now.
std::optional<Time> after_open_time(const Question& q, Time from, Duration needed);

// The same for these windows, all of which must be open at once, outside of these standstills (sorted,
// apart).
std::optional<Time> after_open_time(const std::vector<const Rule*>& windows, Time from, Duration needed,
                                    const std::vector<Standstill>& standstills = {});

// When a window of the target, open or closed now, changes next; nullopt: never, or none concerns it.
std::optional<Time> next_boundary(const State& state, Time now, TargetIx target);

}  // namespace ctrlplane::policy
