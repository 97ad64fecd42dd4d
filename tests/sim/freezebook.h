// Which freezes stand over a version on a target, worked out from committed rows and from the description of
// freezes alone: slowly, from scratch, and without any of the code that decides.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/ledger.h"

namespace ctrlplane::sim {

// A selector that compiles and fails on every resource of these worlds: then a freeze covers all its scope.
inline constexpr std::string_view kFailingSelector = "int(resource.name) == 1";

bool is_active(const Freeze& f, Time now);

// By its scope alone; one whose entity is gone covers nothing.
bool is_in_scope(const Ledger& ledger, const Freeze& f, const TargetKey& target);
// By its scope and this selector. Resource, environment and deployment must exist.
bool is_covered(const Ledger& ledger, const Freeze& f, const std::optional<std::string>& selector,
                const TargetKey& target, const Version& version);

enum class Pass : uint8_t {
  kNone,
  kVersion,  // the version was published to bypass it
  kSkip,     // a skip names it
};
Pass pass_of(const Ledger& ledger, const Freeze& f, const TargetKey& target, const Version& version,
             Time now);

// A time in which a freeze covered the target; `to` may be in the future.
struct Stretch {
  Time from, to;
};
// Of all freezes that the version does not pass, over and present, in no order.
std::vector<Stretch> frozen_stretches(const Ledger& ledger, const TargetKey& target, const Version& version,
                                      Time now);

// Does one that was thawed at a pace still give out turns to this version here?
bool waits_for_turns(const Ledger& ledger, const TargetKey& target, const Version& version);

}  // namespace ctrlplane::sim
