// Which version a target should run. Pure: state and now in, a verdict out.
#pragma once

#include "policy/judge.h"
#include "state/state.h"

namespace ctrlplane {

struct Selection {
  enum class Kind : uint8_t {
    kVersion,  // this one
    kHold,     // what is desired stays desired
    kNothing,  // nothing may run here, and nothing is held for
  } kind;
  VersionIx version = {};
  std::optional<Time> next_at = {};  // when time alone may change the answer
  Time since = {};                   // kVersion: when rules came to allow it; its publication at the earliest
};

// Versions newer than the current one, newest first, and the first that every rule allows; older ones only
// when the current one has become ineligible. A temporary no holds; only a permanent one moves a target back
// to what it runs.
// A version that is not for the target does not exist for it; one that it runs stays all the same.
// With kLock: what a bracket group would lock; then nothing is held for.
Selection select_version(const State& state, Time now, TargetIx t, policy::Ask ask = policy::Ask::kAll);

// A bracket decides for its members, unless a person has said that it is not to stand in the way: then
// `chosen` is what the target should run.
bool is_left_to_bracket(const State& state, Time now, TargetIx t, Selection& chosen);

// Never to be started again anywhere, and no reason to stay.
bool is_ruled_out(VersionStatus s);
// Paused goes nowhere new, and stays where a job of it is active.
bool is_deployable(const State& state, const TargetSlot& target, VersionIx v);
// Does a lock on it hold? Paused it does where it is what runs.
bool is_good_lock(const State& state, TargetIx t, VersionIx v);
// Would the lock hold, if only the version were for the target?
bool is_lock_out_of_scope(const State& state, TargetIx t, VersionIx v);
// A rollback rule has ruled it out on this target.
bool is_denied(const TargetSlot& target, VersionIx v);
// Older than something that was rolled back here.
bool is_behind_rollback(const State& state, const TargetSlot& target, VersionIx v);
// Which rules count: fewer where the target goes back to what ran here before.
policy::Waiver waiver_for(const State& state, TargetIx t, VersionIx v);

// Does a rollback rule act on how the last attempt ended here?
bool says_go_back(const State& state, TargetIx t);

// Same target, version and variables = same release.
ReleaseId release_id(const TargetKey& target, VersionId version, const Digest& variables);

}  // namespace ctrlplane
