// Instants and durations as microseconds in 64 bits. Reading a clock is base/clock.h's business:
// pure modules take `now` as an argument.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace ctrlplane {

struct Duration {
  int64_t us = 0;
  auto operator<=>(const Duration&) const = default;
};

constexpr Duration microseconds(int64_t n) { return {n}; }
constexpr Duration milliseconds(int64_t n) { return {n * 1000}; }
constexpr Duration seconds(int64_t n) { return {n * 1000000}; }
constexpr Duration minutes(int64_t n) { return seconds(n * 60); }
constexpr Duration hours(int64_t n) { return minutes(n * 60); }
constexpr Duration operator+(Duration a, Duration b) { return {a.us + b.us}; }
constexpr Duration operator-(Duration a, Duration b) { return {a.us - b.us}; }
constexpr Duration operator*(Duration a, int64_t n) { return {a.us * n}; }

// Microseconds since 1970-01-01T00:00:00Z.
struct Time {
  int64_t us = 0;
  auto operator<=>(const Time&) const = default;

  static constexpr Time never() { return {std::numeric_limits<int64_t>::max()}; }
};
constexpr Time operator+(Time t, Duration d) { return {t.us + d.us}; }
constexpr Time operator-(Time t, Duration d) { return {t.us - d.us}; }
constexpr Duration operator-(Time a, Time b) { return {a.us - b.us}; }

// RFC 3339 in UTC with as many fractional digits (0, 3 or 6) as the value needs.
std::string format_rfc3339(Time t);
// Takes any offset; nullopt if the text is not an RFC 3339 instant. Digits past microseconds are cut.
std::optional<Time> parse_rfc3339(std::string_view text);

// ISO 8601: `PT4H`, `P1DT30M`, `PT0.5S`. Weeks, days, hours, minutes and seconds: months and years have no
// fixed length.
std::string format_iso8601(Duration d);
std::optional<Duration> parse_iso8601_duration(std::string_view text);

}  // namespace ctrlplane
