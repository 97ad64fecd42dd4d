// The only door to the machine's clocks. `wall` may step back and forth; `boot` counts on through
// suspend and is never compared between machines.
#pragma once

#include "base/time.h"

namespace ctrlplane {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time wall() const = 0;
  virtual Duration boot() const = 0;
};

class SystemClock final : public Clock {
 public:
  Time wall() const override;
  Duration boot() const override;
};

}  // namespace ctrlplane
