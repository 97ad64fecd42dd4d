#include "cli/duration.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

namespace ctrlplane::cli {
namespace {

constexpr int64_t kSecond = 1'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;
constexpr int64_t kMost = 3653 * kDay;

struct Unit {
  char letter;
  int64_t us;
};

// Numbers with one of `units` behind each, every unit at most once and the larger first.
std::optional<int64_t> parse_parts(std::string_view text, std::span<const Unit> units) {
  int64_t total = 0;
  size_t next = 0;
  while (!text.empty()) {
    size_t digits = 0;
    int64_t n = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
      n = n * 10 + (text[digits++] - '0');
      if (n > kMost / kSecond) return std::nullopt;
    }
    if (digits == 0 || digits == text.size()) return std::nullopt;
    while (next < units.size() && units[next].letter != text[digits]) ++next;
    if (next == units.size() || n > kMost / units[next].us) return std::nullopt;
    total += n * units[next++].us;
    if (total > kMost) return std::nullopt;
    text.remove_prefix(digits + 1);
  }
  return total;
}

constexpr std::array<Unit, 5> kShort = {
    {{'w', 7 * kDay}, {'d', kDay}, {'h', kHour}, {'m', kMinute}, {'s', kSecond}}};
}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.starts_with('P')) {
    auto iso = parse_iso8601_duration(text);
    return iso && iso->us >= 0 && iso->us <= kMost ? iso : std::nullopt;
  }
  auto us = parse_parts(text, kShort);
  return us ? std::optional(Duration{*us}) : std::nullopt;
}

std::string short_duration(Duration d) {
  if (d.us < kMinute) return fmt::format("{}s", std::max<int64_t>(d.us, 0) / kSecond);
  if (d.us < kHour) return fmt::format("{}m", d.us / kMinute);
  if (d.us < 2 * kDay) return fmt::format("{}h", d.us / kHour);
  return fmt::format("{}d", d.us / kDay);
}

std::string long_duration(Duration d) {
  if (d.us < kMinute) return short_duration(d);
  const auto* larger = std::ranges::find_if(kShort, [&](const Unit& u) { return d.us >= u.us; });
  if (larger == kShort.begin()) ++larger;  // weeks are not what people count in here
  const Unit& smaller = *(larger + 1);
  std::string text = fmt::format("{}{}", d.us / larger->us, larger->letter);
  if (int64_t rest = d.us % larger->us / smaller.us) text += fmt::format("{}{}", rest, smaller.letter);
  return text;
}

Outcome<Duration> duration_given(std::string_view flag, std::string_view text) {
  auto d = parse_duration(text);
  if (!d) return wrong_use(fmt::format("{} takes a duration like 4h or 1h30m, not '{}'", flag, text));
  if (d->us == 0) return wrong_use(fmt::format("{} must be longer than nothing", flag));
  return *d;
}

Outcome<Time> instant_given(std::string_view flag, std::string_view text) {
  auto t = parse_rfc3339(text);
  if (!t)
    return wrong_use(fmt::format("{} takes an instant like 2026-04-01T18:00:00Z, not '{}'", flag, text));
  return *t;
}

}  // namespace ctrlplane::cli
