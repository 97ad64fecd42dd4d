// The text of a recurrence, read: the parts of RFC 5545 section 3.3.10 as sets of bits.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schedule/calendar.h"

namespace ctrlplane::schedule {

enum class Frequency { kSecondly, kMinutely, kHourly, kDaily, kWeekly, kMonthly, kYearly };

// Which days are in. An empty set lets every day pass. Bit n stands for n; for sets counted from the end,
// bit 1 is the last. `nth_weekdays[d]` has bit n for "the n-th weekday d" (Monday is 0).
struct DayParts {
  uint32_t months = 0;
  uint32_t month_days = 0, month_days_from_end = 0;
  std::bitset<367> year_days, year_days_from_end;
  uint64_t weeks = 0, weeks_from_end = 0;
  uint32_t weekdays = 0;
  std::array<uint64_t, 7> nth_weekdays{}, nth_weekdays_from_end{};
  bool has_nth = false;
  bool nth_in_month = false;  // the n-th of the month; else of the year
  int week_start = 0;

  bool has_month_days() const { return month_days != 0 || month_days_from_end != 0; }
  bool has_year_days() const { return year_days.any() || year_days_from_end.any(); }
  bool has_weeks() const { return weeks != 0 || weeks_from_end != 0; }
  bool has_weekdays() const { return weekdays != 0 || has_nth; }
};

// Which times of day are in, one bit per value. Empty: not given.
struct TimeParts {
  uint32_t hours = 0;
  uint64_t minutes = 0, seconds = 0;
};

// A date-time as RFC 5545 writes it: with a Z in UTC, else as the wall shows it.
struct DateTime {
  Wall wall = 0;
  bool utc = false;
  bool date_only = false;
};

struct Rule {
  Frequency frequency = Frequency::kDaily;
  int64_t interval = 1;
  std::optional<int64_t> count;
  std::optional<DateTime> until;  // a date alone means the end of that day
  DayParts days;
  TimeParts times;
  std::vector<int> positions;  // BYSETPOS
};

struct RuleText {
  Rule rule;
  std::optional<DateTime> start;  // DTSTART
  std::string zone;               // its TZID, if any
};

// Reads `[DTSTART[;TZID=zone]:date-time\n][RRULE:]FREQ=...;...`. Upper and lower case are the same, except in
// TZID. Refuses with path "rrule": what RFC 5545 forbids is refused rather than guessed at.
Result<RuleText> parse_rule_text(std::string_view text);

// Fills in what a rule leaves to its start: the time of day, and the weekday, month or day of month. With
// `implied` (nobody wrote the start down) the times finer than one that the rule names are zero instead:
// BYHOUR=9 in a rule made at 14:23:41 means 09:00:00, not 09:23:41.
void fill_from_start(Rule& rule, Wall start, bool implied);

}  // namespace ctrlplane::schedule
