#include "cel/value/time_text.h"

#include <chrono>

#include <fmt/core.h>

namespace ctrlplane::cel {
namespace {

// Reads exactly n digits and moves past them; -1 when there are not n.
int take_digits(std::string_view s, size_t& at, size_t n) {
  if (at + n > s.size()) return -1;
  int v = 0;
  for (size_t end = at + n; at < end; ++at) {
    if (s[at] < '0' || s[at] > '9') return -1;
    v = v * 10 + (s[at] - '0');
  }
  return v;
}

bool take(std::string_view s, size_t& at, char c, char other = 0) {
  if (at >= s.size() || (s[at] != c && (other == 0 || s[at] != other))) return false;
  ++at;
  return true;
}

// Fraction digits after the point as nanoseconds; digits past the ninth are cut. -1: no digits.
int64_t take_fraction(std::string_view s, size_t& at) {
  int64_t nanos = 0;
  size_t start = at;
  for (int scale = 100000000; at < s.size() && s[at] >= '0' && s[at] <= '9'; ++at, scale /= 10)
    nanos += int64_t{s[at] - '0'} * scale;
  return at == start ? -1 : nanos;
}

// Seconds east of UTC, or nothing.
std::optional<int> take_offset(std::string_view s, size_t& at) {
  if (take(s, at, 'Z', 'z')) return 0;
  bool minus = at < s.size() && s[at] == '-';
  if (!take(s, at, '+', '-')) return std::nullopt;
  int hours = take_digits(s, at, 2);
  if (hours < 0 || hours > 23 || !take(s, at, ':')) return std::nullopt;
  int minutes = take_digits(s, at, 2);
  if (minutes < 0 || minutes > 59) return std::nullopt;
  int seconds = hours * 3600 + minutes * 60;
  return minus ? -seconds : seconds;
}

std::string fraction_text(int64_t nanos) {
  if (nanos == 0) return "";
  if (nanos % 1000000 == 0) return fmt::format(".{:03}", nanos / 1000000);
  if (nanos % 1000 == 0) return fmt::format(".{:06}", nanos / 1000);
  return fmt::format(".{:09}", nanos);
}

struct Unit {
  std::string_view name;
  int64_t nanos;
};
constexpr Unit kUnits[] = {{"ns", 1},         {"us", 1000},       {"µs", 1000},        {"ms", 1000000},
                           {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};

// The longest unit wins, so that "ms" is not read as minutes.
const Unit* take_unit(std::string_view s, size_t& at) {
  const Unit* best = nullptr;
  for (const Unit& u : kUnits)
    if (s.substr(at).starts_with(u.name) && (best == nullptr || u.name.size() > best->name.size())) best = &u;
  if (best != nullptr) at += best->name.size();
  return best;
}

// One "12.5h" of a duration as nanoseconds.
std::optional<__int128> take_duration_part(std::string_view s, size_t& at) {
  constexpr __int128 kLimit = __int128{1} << 80;
  __int128 whole = 0;
  size_t start = at;
  for (; at < s.size() && s[at] >= '0' && s[at] <= '9'; ++at) {
    whole = whole * 10 + (s[at] - '0');
    if (whole > kLimit) return std::nullopt;
  }
  bool any = at > start;
  int64_t fraction = 0;
  if (take(s, at, '.')) {
    int64_t f = take_fraction(s, at);
    if (f < 0 && !any) return std::nullopt;
    any = true;
    fraction = f < 0 ? 0 : f;
  }
  if (!any) return std::nullopt;
  const Unit* unit = take_unit(s, at);
  if (unit == nullptr) return std::nullopt;
  if (whole > kLimit / unit->nanos) return std::nullopt;
  return whole * unit->nanos + __int128{fraction} * unit->nanos / kNanosPerSecond;
}

}  // namespace

std::optional<Value> parse_timestamp(std::string_view s) {
  size_t at = 0;
  int year = take_digits(s, at, 4);
  if (year < 0 || !take(s, at, '-')) return std::nullopt;
  int month = take_digits(s, at, 2);
  if (month < 1 || !take(s, at, '-')) return std::nullopt;
  int day = take_digits(s, at, 2);
  std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                   std::chrono::day{static_cast<unsigned>(day < 0 ? 0 : day)}};
  if (!date.ok() || !take(s, at, 'T', 't')) return std::nullopt;
  int hour = take_digits(s, at, 2);
  if (hour < 0 || hour > 23 || !take(s, at, ':')) return std::nullopt;
  int minute = take_digits(s, at, 2);
  if (minute < 0 || minute > 59 || !take(s, at, ':')) return std::nullopt;
  int second = take_digits(s, at, 2);
  if (second < 0 || second > 59) return std::nullopt;
  int64_t nanos = 0;
  if (take(s, at, '.')) nanos = take_fraction(s, at);
  if (nanos < 0) return std::nullopt;
  auto offset = take_offset(s, at);
  if (!offset || at != s.size()) return std::nullopt;
  int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  int64_t seconds = days * 86400 + hour * 3600 + minute * 60 + second - *offset;
  if (seconds < kMinTimestampSeconds || seconds > kMaxTimestampSeconds) return std::nullopt;
  return Value::timestamp(seconds, static_cast<uint32_t>(nanos));
}

std::string timestamp_text(const Value& t) {
  int64_t day = t.seconds() / 86400, rest = t.seconds() % 86400;
  if (rest < 0) --day, rest += 86400;
  std::chrono::year_month_day ymd{std::chrono::sys_days{std::chrono::days{day}}};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", static_cast<int>(ymd.year()),
                     static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()), rest / 3600,
                     rest / 60 % 60, rest % 60, fraction_text(t.nanos()));
}

std::optional<int64_t> parse_duration_nanos(std::string_view s) {
  bool minus = s.starts_with('-');
  if (minus || s.starts_with('+')) s.remove_prefix(1);
  if (s == "0") return 0;
  if (s.empty()) return std::nullopt;
  __int128 total = 0;
  for (size_t at = 0; at < s.size();) {
    auto part = take_duration_part(s, at);
    if (!part) return std::nullopt;
    total += *part;
    if (total > __int128{1} << 64) return std::nullopt;
  }
  if (minus) total = -total;
  if (total > INT64_MAX || total < INT64_MIN) return std::nullopt;
  return static_cast<int64_t>(total);
}

std::string duration_text(int64_t nanos) {
  // The magnitude in unsigned arithmetic, because the least int64 has no positive twin.
  uint64_t magnitude = nanos < 0 ? 0 - static_cast<uint64_t>(nanos) : static_cast<uint64_t>(nanos);
  std::string fraction = fraction_text(static_cast<int64_t>(magnitude % 1000000000));
  return fmt::format("{}{}{}s", nanos < 0 ? "-" : "", magnitude / 1000000000, fraction);
}

}  // namespace ctrlplane::cel
