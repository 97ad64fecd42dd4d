#include "base/time.h"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

namespace ctrlplane {
namespace {

constexpr int64_t kUsPerDay = 86400ll * 1000000;

// Reads exactly n digits at `at`; -1 when there are not n digits.
int digits(std::string_view text, size_t at, size_t n) {
  if (at + n > text.size()) return -1;
  int v = 0;
  for (size_t i = at; i < at + n; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    v = v * 10 + (text[i] - '0');
  }
  return v;
}

// Exactly n of them: `value` has no more.
void append_digits(std::string& out, int64_t value, size_t n) {
  out.append(n, '0');
  for (size_t at = out.size(); value > 0; value /= 10) out[--at] = static_cast<char>('0' + value % 10);
}

bool has(std::string_view text, size_t at, char c) { return at < text.size() && text[at] == c; }

}  // namespace

std::string format_rfc3339(Time t) {
  int64_t day = t.us / kUsPerDay, rest = t.us % kUsPerDay;
  if (rest < 0) --day, rest += kUsPerDay;
  std::chrono::year_month_day ymd{std::chrono::sys_days{std::chrono::days{day}}};
  const int year = static_cast<int>(ymd.year());
  std::string out;
  if (year >= 0 && year <= 9999)
    append_digits(out, year, 4);
  else
    out = fmt::format("{:04}", year);
  int64_t s = rest / 1000000, us = rest % 1000000;
  append_digits(out += '-', static_cast<unsigned>(ymd.month()), 2);
  append_digits(out += '-', static_cast<unsigned>(ymd.day()), 2);
  append_digits(out += 'T', s / 3600, 2);
  append_digits(out += ':', s / 60 % 60, 2);
  append_digits(out += ':', s % 60, 2);
  if (us % 1000 != 0)
    append_digits(out += '.', us, 6);
  else if (us != 0)
    append_digits(out += '.', us / 1000, 3);
  return out += 'Z';
}

std::optional<Time> parse_rfc3339(std::string_view text) {
  int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  if (!has(text, 4, '-') || !has(text, 7, '-') || !has(text, 13, ':') || !has(text, 16, ':'))
    return std::nullopt;
  if (!has(text, 10, 'T') && !has(text, 10, 't') && !has(text, 10, ' ')) return std::nullopt;
  std::chrono::year_month_day ymd{std::chrono::year{year}, std::chrono::month(unsigned(month)),
                                  std::chrono::day(unsigned(day))};
  if (!ymd.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;

  size_t at = 19;
  int64_t us = 0;
  if (has(text, at, '.')) {
    int64_t unit = 100000;
    size_t first = ++at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10)
      us += unit * (text[at] - '0');
    if (at == first) return std::nullopt;
  }
  int64_t offset_minutes = 0;
  if (has(text, at, 'Z') || has(text, at, 'z')) {
    ++at;
  } else if (has(text, at, '+') || has(text, at, '-')) {
    int oh = digits(text, at + 1, 2), om = digits(text, at + 4, 2);
    if (oh < 0 || oh > 23 || om < 0 || om > 59 || !has(text, at + 3, ':')) return std::nullopt;
    offset_minutes = (oh * 60 + om) * (text[at] == '-' ? -1 : 1);
    at += 6;
  } else {
    return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;
  int64_t days = std::chrono::sys_days{ymd}.time_since_epoch().count();
  return Time{days * kUsPerDay + ((hour * 60ll + minute - offset_minutes) * 60 + second) * 1000000 + us};
}

std::string format_iso8601(Duration d) {
  int64_t us = d.us;
  std::string text = us < 0 ? "-P" : "P";
  if (us < 0) us = -us;
  int64_t days = us / kUsPerDay;
  us %= kUsPerDay;
  if (days) text += fmt::format("{}D", days);
  if (us == 0) return days ? text : text + "T0S";
  text += 'T';
  int64_t hours = us / 3600000000, minutes = us / 60000000 % 60, seconds = us / 1000000 % 60;
  if (hours) text += fmt::format("{}H", hours);
  if (minutes) text += fmt::format("{}M", minutes);
  if (us % 1000000)
    text += fmt::format("{}.{:06}S", seconds, us % 1000000);
  else if (seconds)
    text += fmt::format("{}S", seconds);
  return text;
}

std::optional<Duration> parse_iso8601_duration(std::string_view text) {
  static constexpr std::string_view kUnits = "WDHMS";  // in the order they may come
  static constexpr int64_t kSizes[] = {7 * kUsPerDay, kUsPerDay, 3600000000, 60000000, 1000000};
  constexpr int64_t kMost = int64_t{1} << 60;
  if (!text.starts_with('P') || text.size() < 3) return std::nullopt;
  text.remove_prefix(1);
  int64_t total = 0;
  size_t next_unit = 0;
  bool in_time = false;
  while (!text.empty()) {
    if (text[0] == 'T') {
      if (in_time || text.size() == 1) return std::nullopt;
      in_time = true;
      next_unit = std::max<size_t>(next_unit, 2);
      text.remove_prefix(1);
    }
    size_t n = text.find_first_not_of("0123456789");
    if (n == 0 || n == std::string_view::npos || n > 12) return std::nullopt;
    int64_t count = std::stoll(std::string(text.substr(0, n)));
    int64_t fraction = 0;  // in microseconds
    if (text[n] == '.') {
      size_t end = text.find_first_not_of("0123456789", n + 1);
      if (end == std::string_view::npos || end == n + 1 || text[end] != 'S') return std::nullopt;
      std::string six(text.substr(n + 1, std::min<size_t>(end - n - 1, 6)));
      six.resize(6, '0');
      fraction = std::stoll(six);
      n = end;
    }
    size_t unit = kUnits.find(text[n], next_unit);
    if (unit == std::string_view::npos || (unit >= 2) != in_time) return std::nullopt;
    if (count > (kMost - total) / kSizes[unit]) return std::nullopt;
    total += count * kSizes[unit] + fraction;
    next_unit = unit + 1;
    text.remove_prefix(n + 1);
  }
  return Duration{total};
}

}  // namespace ctrlplane
