// Between wall-clock time and instants, by one rule for the days on which clocks are changed:
//
// - A wall time that a change skips stands for the moment of the change: where 02:00 becomes 03:00, 02:30 is
//   03:00. It is never dropped.
// - A wall time that comes twice stands for the first.
//
// So wall times in order are instants in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <cctz/time_zone.h>

#include "schedule/calendar.h"

namespace ctrlplane::schedule {

class Zone {
 public:
  // By its IANA name; nullopt if there is none of that name.
  static std::optional<Zone> load(const std::string& name);

  // In seconds since 1970-01-01T00:00:00Z.
  int64_t instant(Wall wall) const;
  // What the clock on the wall shows.
  Wall wall(int64_t instant) const;
  // The latest wall time whose instant is not later. Differs from wall() while an hour is repeated.
  Wall latest_wall(int64_t instant) const;

 private:
  explicit Zone(cctz::time_zone zone);

  cctz::time_zone zone_;
  std::optional<int64_t> fixed_offset_;  // of a zone whose clocks are never changed
};

}  // namespace ctrlplane::schedule
