#include "schedule/starts.h"

#include <algorithm>

#include <fmt/core.h>

namespace ctrlplane::schedule {
namespace {

// The zone that a rule is in: the one named beside it, or in its DTSTART. "UTC" beside it says nothing, since
// that is what stands there by default.
Result<std::string> choose_zone(const std::string& given, const std::string& tzid) {
  if (tzid.empty() || tzid == given) return given;
  if (given == "UTC") return tzid;
  return invalid("timezone", fmt::format("it is {}, but the rule's DTSTART is in {}", given, tzid));
}

Result<Zone> load_zone(const std::string& name, bool from_rule) {
  if (auto zone = Zone::load(name)) return *zone;
  return invalid(from_rule ? "rrule" : "timezone",
                 fmt::format("no time zone \"{}\"; use an IANA name like Europe/Berlin", name.substr(0, 64)));
}

Wall start_of(const RuleText& text, const Zone& zone, Time anchor) {
  if (!text.start) return zone.wall(floor_div(anchor.us, 1'000'000));
  return text.start->utc ? zone.wall(text.start->wall) : text.start->wall;
}

Wall end_of(const Rule& rule, const Zone& zone, const Expansion& expansion) {
  Wall end = kMaxWall;
  if (rule.until) end = rule.until->utc ? zone.latest_wall(rule.until->wall) : rule.until->wall;
  if (rule.count) end = expansion.nth(*rule.count);
  return end;
}

}  // namespace

Result<Starts> Starts::make(const std::string& rrule, const std::string& zone_name, Time anchor) {
  RuleText text = TRY(parse_rule_text(rrule));
  std::string name = TRY(choose_zone(zone_name, text.zone));
  Zone zone = TRY(load_zone(name, name != zone_name));
  Wall first = start_of(text, zone, std::clamp(anchor, kEarliest, kLatest));
  fill_from_start(text.rule, first, !text.start);

  Starts starts(Expansion(text.rule, first), zone, std::move(name));
  Wall end = end_of(text.rule, zone, starts.expansion_);
  if (end < first && text.rule.until) return invalid("rrule", "UNTIL is before the rule begins");
  auto found = starts.expansion_.next(first);
  if (!found)
    return invalid("rrule", fmt::format("no day and time fits all parts within {} years of {}",
                                        kHorizonDays / 365, format_rfc3339(starts.at(first))));
  if (*found > end) return invalid("rrule", "UNTIL is before the first time that fits");
  starts.expansion_.end_at(end);
  starts.first_ = starts.at(*found);
  return starts;
}

Wall Starts::latest_wall(Time t) const {
  return zone_.latest_wall(floor_div(std::clamp(t, kEarliest, kLatest).us, 1'000'000));
}

std::optional<Time> Starts::first_after(Time t) const {
  auto found = expansion_.next(latest_wall(t) + 1);
  return found ? std::optional(at(*found)) : std::nullopt;
}

std::optional<Time> Starts::last_in(Time after, Time to) const {
  auto found = expansion_.last(latest_wall(after) + 1, latest_wall(to));
  return found ? std::optional(at(*found)) : std::nullopt;
}

}  // namespace ctrlplane::schedule
