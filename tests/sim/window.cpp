#include "sim/window.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/check.h"

namespace ctrlplane::sim {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = 24 * 3600;

int64_t number(std::string_view text) {
  int64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  CHECK(error == std::errc{} && end == text.data() + text.size(), text);
  return n;
}

// The value of NAME=value, up to the next semicolon.
std::string_view part(std::string_view rule, std::string_view name) {
  size_t at = rule.find(name);
  if (at == std::string_view::npos) return {};
  std::string_view rest = rule.substr(at + name.size());
  return rest.substr(0, rest.find(';'));
}

std::vector<int64_t> numbers(std::string_view list) {
  std::vector<int64_t> out;
  while (!list.empty()) {
    size_t comma = list.find(',');
    out.push_back(number(list.substr(0, comma)));
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  }
  return out;
}

// 20260101T001500Z; worlds live on the first of January.
Time instant(std::string_view text) {
  std::string rfc = std::string(text.substr(0, 4)) + "-";
  rfc += std::string(text.substr(4, 2)) + "-" + std::string(text.substr(6, 2)) + "T";
  rfc += std::string(text.substr(9, 2)) + ":" + std::string(text.substr(11, 2)) + ":";
  rfc += std::string(text.substr(13, 2)) + "Z";
  auto t = parse_rfc3339(rfc);
  CHECK(t.has_value(), text);
  return *t;
}

}  // namespace

Windows::Windows(std::string_view rrule, Duration length, Time created_at)
    : first_{created_at.us / kSecond * kSecond}, length_(length) {
  if (rrule.starts_with("DTSTART:")) first_ = instant(rrule.substr(8, 16));
  std::string_view frequency = part(rrule, "FREQ=");
  std::vector<int64_t> at_hours = numbers(part(rrule, "BYHOUR=")), at = numbers(part(rrule, "BYMINUTE="));
  std::string_view interval = part(rrule, "INTERVAL=");
  int64_t n = interval.empty() ? 1 : number(interval);
  if (at.empty()) {
    CHECK(at_hours.empty() && (frequency == "HOURLY" || frequency == "MINUTELY"), rrule);
    every_ = frequency == "HOURLY" ? hours(n) : minutes(n);
    return;
  }
  CHECK(n == 1 && (at_hours.empty() ? frequency == "HOURLY" : frequency == "DAILY"), rrule);
  if (at_hours.empty())
    for (int64_t h = 0; h < 24; ++h) at_hours.push_back(h);
  for (int64_t h : at_hours)
    for (int64_t m : at) of_day_.push_back(h * 3600 + m * 60);
  std::sort(of_day_.begin(), of_day_.end());
}

void Windows::each_start(Time from, Time to, auto&& fn) const {
  if (every_.us > 0) {
    int64_t skip = std::max<int64_t>(0, (from.us - first_.us) / every_.us - 1);
    for (Time t = first_ + every_ * skip; t < to; t = t + every_)
      if (t >= from) fn(t);
    return;
  }
  for (int64_t day = from.us / kSecond / kDay; Time{day * kDay * kSecond} < to; ++day)
    for (int64_t s : of_day_)
      if (Time t{(day * kDay + s) * kSecond}; t >= first_ && t >= from && t < to) fn(t);
}

bool Windows::contains(Time t) const {
  bool found = false;
  each_start(t - length_ + microseconds(1), t + microseconds(1), [&](Time) { found = true; });
  return found;
}

void Windows::add_boundaries(Time from, Time to, std::vector<Time>& out) const {
  each_start(from - length_, to, [&](Time start) {
    for (Time t : {start, start + length_})
      if (t > from && t < to) out.push_back(t);
  });
}

}  // namespace ctrlplane::sim
