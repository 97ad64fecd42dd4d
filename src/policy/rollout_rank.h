// A target's place in the roll-out of a version: its rank by hash among the targets of (deployment,
// environment) that the version is for.
#pragma once

#include <cstdint>
#include <string_view>

#include "state/state.h"

namespace ctrlplane::policy {

// FNV-1a, 64 bits, of two texts, one after the other.
uint64_t fnv1a(std::string_view first, std::string_view second);

// That of the target's key followed by the version's id, both as text.
uint64_t rollout_hash(const TargetKey& key, VersionId version);

struct Rank {
  size_t position = 0, of = 0;
};
// How long after the start its turn is: so long after the one before; or all within the interval, in whole
// seconds.
Duration linear_offset(Rank rank, Duration interval);
Duration normalized_offset(Rank rank, Duration interval);

// Kept in the state's memo: worked out once per version and environment, and again when targets come or go.
Rank rollout_rank(const State& state, TargetIx target, VersionIx version);

}  // namespace ctrlplane::policy
