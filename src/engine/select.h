// Which version a target should run. Pure: state and now in, a verdict out.
#pragma once

#include "state/state.h"

namespace ctrlplane {

struct Selection {
  enum class Kind : uint8_t {
    kVersion,  // this one
    kHold,     // what is desired stays desired
    kNothing,  // nothing may run here, and nothing is held for
  } kind;
  VersionIx version = {};
};

// Versions newer than the current one, newest first; older ones only when the current one has become
// ineligible. A temporary no holds; only a permanent one moves a target back to what it runs.
Selection select_version(const State& state, Time now, TargetIx t);

// Never to be started again anywhere, and no reason to stay.
bool is_ruled_out(VersionStatus s);

// Same target, version and variables = same release.
ReleaseId release_id(const TargetKey& target, VersionId version, const Digest& variables);

}  // namespace ctrlplane
