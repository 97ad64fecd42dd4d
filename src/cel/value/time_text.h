// Timestamps and durations as text, to the nanosecond. A timestamp lies in the years 1 to 9999; a
// duration fits 64 bits of nanoseconds (about 292 years either way).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cel/value/value.h"

namespace ctrlplane::cel {

constexpr int64_t kMinTimestampSeconds = -62135596800;  // 0001-01-01T00:00:00Z
constexpr int64_t kMaxTimestampSeconds = 253402300799;  // 9999-12-31T23:59:59Z
constexpr int64_t kNanosPerSecond = 1000000000;

// RFC 3339 with any offset; nothing if it is not one or lies outside the range.
std::optional<Value> parse_timestamp(std::string_view text);
// "2009-02-13T23:31:30Z", with as many fractional digits as the value needs.
std::string timestamp_text(const Value& timestamp);

// "1h45m", "-1.5s", "300ms"; units h, m, s, ms, us, ns.
std::optional<int64_t> parse_duration_nanos(std::string_view text);
// Always in seconds: "6300s", "-0.5s".
std::string duration_text(int64_t nanos);

}  // namespace ctrlplane::cel
