// Numbers of the core, in one place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace ctrlplane {

inline constexpr Duration kAgentLease = minutes(5);
inline constexpr Duration kIdempotencyWindow = hours(24);
// A deployment's newest versions stay selectable without being referred to by a target.
inline constexpr size_t kHotVersions = 100;
// So many scoped ones, whatever their selectors.
inline constexpr size_t kHotScopedVersions = 1000;
inline constexpr Duration kFirstBackoff = seconds(1);
inline constexpr Duration kMaxBackoff = minutes(5);
// Longer than any send may take: after that a message that has not arrived never will.
inline constexpr Duration kSendGrace = seconds(60);
inline constexpr int64_t kMaxNoticeAttempts = 20;

}  // namespace ctrlplane
