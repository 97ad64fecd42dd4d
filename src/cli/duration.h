// Durations as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "cli/failure.h"

namespace ctrlplane::cli {

// "90s", "1h30m", "2d", or ISO 8601 without months and years ("PT1H30M", "P2DT3H"). Nothing negative, no
// bare numbers, nothing over ten years.
std::optional<Duration> parse_duration(std::string_view text);
// The largest unit only: "3m", "2d".
std::string short_duration(Duration d);
// The two largest: "3h59m", "2d4h", "45s".
std::string long_duration(Duration d);

// What was given to `flag`; wrong use that names the flag if it cannot be read. A duration is more than
// nothing; an instant is RFC 3339.
Outcome<Duration> duration_given(std::string_view flag, std::string_view text);
Outcome<Time> instant_given(std::string_view flag, std::string_view text);

}  // namespace ctrlplane::cli
