// Windows of time that recur: an RFC 5545 rule of starts, each lasting as long, in a time zone.
//
// What holds where RFC 5545 leaves room:
// - A rule is worked out in the wall-clock time of its zone. A start that the change to summer time skips is
//   moved to the moment of the change (02:30 becomes 03:00 where 02:00 to 03:00 is missing), never dropped;
//   one that comes twice is taken the first time. Durations are absolute: a window of 8 hours is 8 hours on
//   every day. For rules by the hour or finer this means that the hour which comes twice has starts only the
//   first time.
// - The rule begins at its DTSTART, which counts as a start only if it fits the rule. Without DTSTART in its
//   text it begins at the anchor; then BYHOUR=9 alone means 09:00:00, without the anchor's minute and second.
// - DTSTART with a Z is an instant; the rule still runs in the zone. DTSTART with a TZID names the zone.
// - UNTIL includes its own moment; a date alone includes that day.
// - BYSETPOS chooses from whole periods, also from the one that the rule begins in.
// - Without BYDAY, BYWEEKNO means all seven days.
//
// Pure: it reads zone files when made, and no clock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "base/time.h"

namespace ctrlplane::schedule {

class Starts;

struct Window {
  Time start, end;  // start <= t < end
  bool operator==(const Window&) const = default;
};

// Answers depend on the question alone, never on earlier ones, which are remembered only to be quicker. That
// memory makes it usable by one thread at a time; a copy is cheap and may go to another thread.
//
// Windows that overlap or touch count as one that goes on. It is followed for 600 times the duration, and at
// most for the duration and a year, to either side of the question: an answer that far away means "at least".
// Searches end 100 years after the question; a rule with COUNT ends at the latest 200 years after its start.
class Recurrence {
 public:
  struct Options {
    std::string rrule;  // [DTSTART[;TZID=zone]:date-time\n][RRULE:]FREQ=...;...
    Duration duration;
    std::string zone = "UTC";  // IANA name
    Time anchor;               // DTSTART, unless the rule has one
  };

  // Refuses with kInvalid and path "rrule", "timezone" or "durationMinutes".
  static Result<Recurrence> make(const Options& options);

  // The window that t is in.
  std::optional<Window> containing(Time t) const;
  // The first window that starts after t, and after the window that t is in; nullopt when the rule has ended.
  std::optional<Window> next_after(Time t) const;

  // How much of [from, to) lies inside windows. Looks at 100 years at most.
  Duration open_time(Time from, Time to) const;
  // When `needed` of open time has passed since `from`; `from` itself if nothing is needed; nullopt: never.
  std::optional<Time> after_open_time(Time from, Duration needed) const;

  // The zone the rule runs in: Options::zone, or the TZID of its DTSTART.
  const std::string& zone() const;

 private:
  // Time known to be open throughout, and whether it is closed right before and after.
  struct Run {
    Time start, end;
    bool start_known = false, end_known = false;
  };
  // Time known to be closed throughout, up to the start of a window.
  struct Gap {
    Time from, to;
    bool holds(Time t) const { return from <= t && t < to; }
  };

  Recurrence(std::shared_ptr<const Starts> starts, Duration duration);

  void extend_end(Run& run, Time limit) const;
  void extend_start(Run& run, Time limit) const;
  std::optional<Time> start_after(Time t, const std::optional<Window>& inside) const;
  std::optional<Time> open_until(Time t) const;
  Duration open_in(Time from, Time to) const;
  Duration open_in_block(int64_t block) const;

  std::shared_ptr<const Starts> starts_;  // immutable, so copies share it
  Duration duration_, reach_;

  mutable std::optional<Run> current_, ahead_;
  mutable std::optional<Gap> gap_;
  mutable std::unordered_map<int64_t, Duration> blocks_;  // open time of days in UTC
};

}  // namespace ctrlplane::schedule
