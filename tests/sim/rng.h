// The one source of chance in a simulated world: one seed, one history.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "base/uuid.h"

namespace ctrlplane::sim {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(mix64(seed)) {}
  uint64_t next() { return mix64(state_ += 0x9e3779b97f4a7c15ull); }
  uint64_t below(uint64_t n) { return n == 0 ? 0 : next() % n; }
  bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }
  Duration between(Duration a, Duration b) {
    return {a.us + static_cast<int64_t>(below(static_cast<uint64_t>(b.us - a.us + 1)))};
  }
  Uuid uuid() { return Uuid::from_halves(next(), next()); }

 private:
  uint64_t state_;
};

}  // namespace ctrlplane::sim
