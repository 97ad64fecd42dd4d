// When a command has to be stopped so that it is dead before the server takes the job for lost. Pure: all
// instants are of one boot clock.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace ctrlplane::agent {

struct LeaseEnd {
  Duration term_at;  // ask the command to stop
  Duration kill_at;  // stop asking
};

// `sent` is when the last request that renewed the lease left here: the server counts from later, never from
// earlier. Between asking and the lease's end lie `grace` and 15 s in reserve, for a slow kill and for
// clocks that run unevenly; a short lease is halved instead. `kill_at` always leaves a third of that reserve.
constexpr LeaseEnd lease_end(Duration sent, Duration lease, Duration grace) {
  constexpr Duration kReserve = seconds(15);
  Duration end = sent + lease;
  Duration margin = std::min(grace + kReserve, Duration{lease.us / 2});
  Duration last_moment = end - std::min(Duration{kReserve.us / 3}, Duration{margin.us / 2});
  Duration term_at = end - margin;
  return {term_at, std::min(term_at + grace, last_moment)};
}

}  // namespace ctrlplane::agent
