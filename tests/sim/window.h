// The recurring windows that simulated worlds use, worked out by counting: in UTC, and of these forms.
//
//   [DTSTART:yyyymmddThhmmssZ\n][RRULE:]FREQ=HOURLY|MINUTELY[;INTERVAL=n]
//   FREQ=HOURLY;BYMINUTE=m,m
//   FREQ=DAILY;BYHOUR=h,h;BYMINUTE=m,m
#pragma once

#include <string_view>
#include <vector>

#include "base/time.h"

namespace ctrlplane::sim {

class Windows {
 public:
  // `rrule` as it stands in a JSON text: a line break is a backslash and an n.
  Windows(std::string_view rrule, Duration length, Time created_at);

  bool contains(Time t) const;
  // Every start and end in (from, to).
  void add_boundaries(Time from, Time to, std::vector<Time>& out) const;

 private:
  void each_start(Time from, Time to, auto&& fn) const;

  Time first_;  // nothing starts earlier
  Duration length_;
  Duration every_;  // zero: at these seconds of the day
  std::vector<int64_t> of_day_;
};

}  // namespace ctrlplane::sim
