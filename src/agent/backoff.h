// How long to wait before the next try.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace ctrlplane::agent {

class Backoff {
 public:
  Backoff(Duration first, Duration longest) : first_(first), longest_(longest), next_(first) {}

  // Doubles from call to call up to the longest. `random` (0 to 1) takes off up to half, so that many
  // agents that lost one server do not come back in step.
  Duration next(double random) {
    Duration whole = next_;
    next_ = std::min(next_ * 2, longest_);
    return {whole.us - static_cast<int64_t>(static_cast<double>(whole.us) * random / 2)};
  }
  void reset() { next_ = first_; }

 private:
  Duration first_, longest_, next_;
};

}  // namespace ctrlplane::agent
