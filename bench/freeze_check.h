// What the check for freezes costs, in memory: no loop, no clock, no store around it.
#pragma once

#include "bench/fleet.h"
#include "store/store.h"

namespace ctrlplane::bench {

struct CheckAims {
  double slowest_ns = 0;      // without selectors, of freezes of which none or one could match
  double growth = 0;          // with a thousand freezes elsewhere against with one
  double evaluations = 0;     // with selectors: in bare evaluations, of each freeze in scope
  double exempt_turn_ms = 0;  // of publishing an exempt version
};

// Prints a table for each part.
CheckAims measure_check(store::Store& store, const Fleet& fleet);

}  // namespace ctrlplane::bench
