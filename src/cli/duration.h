// Durations as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace ctrlplane::cli {

// "90s", "1h30m", "2d", or ISO 8601 without months and years ("PT1H30M", "P2DT3H"). Nothing negative, no
// bare numbers, nothing over ten years.
std::optional<Duration> parse_duration(std::string_view text);
// The largest unit only: "3m", "2d".
std::string short_duration(Duration d);

}  // namespace ctrlplane::cli
