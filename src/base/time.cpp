#include "base/time.h"

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

bool has(std::string_view text, size_t at, char c) { return at < text.size() && text[at] == c; }

}  // namespace

std::string format_rfc3339(Time t) {
  int64_t day = t.us / kUsPerDay, rest = t.us % kUsPerDay;
  if (rest < 0) --day, rest += kUsPerDay;
  std::chrono::year_month_day ymd{std::chrono::sys_days{std::chrono::days{day}}};
  int64_t s = rest / 1000000, us = rest % 1000000;
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(ymd.year()),
                                static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()),
                                s / 3600, s / 60 % 60, s % 60);
  if (us % 1000 != 0) return out + fmt::format(".{:06}Z", us);
  if (us != 0) return out + fmt::format(".{:03}Z", us / 1000);
  return out + "Z";
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

}  // namespace ctrlplane
