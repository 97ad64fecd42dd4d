// The check that comes before every rule, and that no person's force passes: is this version frozen on this
// target? A function of (state, now) like the rules, but of no policy.
#pragma once

#include <vector>

#include "policy/rule.h"

namespace ctrlplane::policy {

// A freeze that stops the version on the target now; none if it may go.
// A job of a bracket group may go where the group may: see exempts_group.
FreezeIx frozen_by(const State& state, Time now, TargetIx target, VersionIx version, GroupIx group = {});

// Does the freeze let the whole group pass: because all it changes is exempt, because a person lets it
// finish, or because the freeze lets brackets finish of which an agent had a job before it began?
bool exempts_group(const State& state, Time now, const Freeze& freeze, GroupIx group);

// Was the version exempt from it, and by what?
struct Exemption {
  bool bypass = false;               // by the version itself
  const PolicySkip* skip = nullptr;  // or by a skip that names the freeze
  explicit operator bool() const { return bypass || skip; }
};

struct Covering {
  FreezeIx freeze;
  Exemption exemption;
};
// All that cover the target for the version now, also those it is exempt from: most specific first, then
// newest.
std::vector<Covering> freezes_over(const State& state, Time now, TargetIx target, VersionIx version);

// With words. Allowed, and without a message, if nothing covers the target.
Evaluation evaluate_freezes(const Question& q);

// The sentence that people read.
std::string frozen_message(const Freeze& f);

// Has a freeze that is over now, or has left the target, held the version on it at any time since then?
bool was_held(const State& state, Time now, TargetIx target, VersionIx version, Time since);

// When a target gives up waiting for its turn after a freeze that was thawed with a pace; nullopt: it need
// not wait. Turns are given out in the order in which they are asked for.
std::optional<Time> resume_turn(const State& state, Time now, TargetIx target, VersionIx version);

// From `since` on, when freezes stood over the target for the version: sorted, apart, the last maybe without
// an end. Time under them does not count for roll-outs.
struct Standstill {
  Time from, to;
};
std::vector<Standstill> standstills(const Question& q, Time since);

}  // namespace ctrlplane::policy
