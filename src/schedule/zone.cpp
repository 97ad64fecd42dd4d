#include "schedule/zone.h"

#include <algorithm>

#include <cctz/civil_time.h>

namespace ctrlplane::schedule {
namespace {

using Instant = cctz::time_point<cctz::seconds>;

// Names reach the file system: only what an IANA name can look like passes. "localtime" is the machine's
// business, and "right/" counts leap seconds.
bool looks_like_zone_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name.front() == '/') return false;
  if (name == "localtime" || name.starts_with("right/")) return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '/' || c == '+' || c == '-';
  });
}

cctz::time_zone::civil_lookup look_up(const cctz::time_zone& zone, Wall wall) {
  return zone.lookup(cctz::civil_second() + wall);
}

}  // namespace

std::optional<Zone> Zone::load(const std::string& name) {
  cctz::time_zone zone;
  if (!looks_like_zone_name(name) || !cctz::load_time_zone(name, &zone)) return std::nullopt;
  return Zone(zone);
}

Zone::Zone(cctz::time_zone zone) : zone_(zone) {
  cctz::time_zone::civil_transition change;
  if (!zone.next_transition(Instant::min(), &change)) fixed_offset_ = zone.lookup(Instant()).offset;
}

int64_t Zone::instant(Wall wall) const {
  if (fixed_offset_) return wall - *fixed_offset_;
  auto found = look_up(zone_, wall);
  bool skipped = found.kind == cctz::time_zone::civil_lookup::SKIPPED;
  return (skipped ? found.trans : found.pre).time_since_epoch().count();
}

Wall Zone::wall(int64_t instant) const {
  if (fixed_offset_) return instant + *fixed_offset_;
  return instant + zone_.lookup(Instant(cctz::seconds(instant))).offset;
}

Wall Zone::latest_wall(int64_t instant) const {
  Wall shown = wall(instant);
  if (fixed_offset_) return shown;
  auto found = look_up(zone_, shown);
  if (found.kind != cctz::time_zone::civil_lookup::REPEATED) return shown;
  // The second time round, the first has gone on to where the clocks were turned back.
  if (Instant(cctz::seconds(instant)) < found.trans) return shown;
  return shown + (found.trans - found.pre).count() - 1;
}

}  // namespace ctrlplane::schedule
