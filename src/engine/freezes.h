// Freezes: their life from creation to thaw or expiry, and what they do to work. That nothing starts under
// one is seen to in admission and hand-over; whether one stands in the way is for policy/freezes to say.
#pragma once

#include "engine/commands.h"
#include "engine/tx.h"

namespace ctrlplane {

Reply create_freeze(Tx& tx, const CreateFreeze& c);
Reply update_freeze(Tx& tx, const UpdateFreeze& c);
Reply thaw_freeze(Tx& tx, const ThawFreeze& c);
Reply set_freeze_settings(Tx& tx, const SetFreezeSettings& c);

// When it ended, and by whom.
std::string ending_of(const Freeze& f);

// kFrozen, and which freeze it is.
std::unexpected<Error> frozen(const State& state, FreezeIx by);

FreezeSettings freeze_settings(const State& state);

// Form only: needs no state. The row that the command would make, with what is derived from `now`.
Result<Freeze> draft_of(const State& state, Time now, const CreateFreeze& c);

// A timer of it fired: it begins, is about to expire, or expires.
void freeze_due(Tx& tx, FreezeId id);

// Asks some of the jobs in flight to stop that a freeze wants stopped.
void stop_some_jobs(Tx& tx);

// A version that is exempt from freezes was published: tells those that it concerns already.
void note_bypass(Tx& tx, VersionIx version);
// The version is about to start on the target: tells the freezes that it passes, each once.
void note_passage(Tx& tx, TargetIx target, VersionIx version);
// A person who may lets the version pass, here, whatever freezes stand in its way.
void pass_freezes(Tx& tx, TargetIx target, VersionIx version, const std::string& reason);

}  // namespace ctrlplane
