// The starts of a rule in wall-clock time, found by stepping over what cannot match: a search costs the same
// a minute and a century after the rule began, forwards and backwards.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/calendar.h"
#include "schedule/rule.h"

namespace ctrlplane::schedule {

// How far ahead of a question a search looks, and how long a rule with COUNT can last.
inline constexpr int64_t kHorizonDays = 36525;
inline constexpr int64_t kCountDays = 2 * kHorizonDays;

class Expansion {
 public:
  // The starts of the rule (complete, see fill_from_start) from `first` on. COUNT and UNTIL are the caller's.
  Expansion(Rule rule, Wall first);

  // The first start at or after `from`, at most kHorizonDays ahead.
  std::optional<Wall> next(Wall from) const;
  // The last start in [from, to].
  std::optional<Wall> last(Wall from, Wall to) const;

  // The rule ends with this start.
  void end_at(Wall last) { last_ = last; }
  // The start with that number, counted from 1. If there are fewer within kCountDays: the last of them.
  Wall nth(int64_t number) const;

 private:
  enum class Direction { kBack, kForward };

  int units_in_period() const;
  bool day_matches(const Date& date) const;
  bool weekday_matches(const Date& date) const;
  bool week_matches(const Date& date) const;

  int64_t period_of(Wall wall) const;
  Wall begin_of(int64_t period) const;
  int64_t misfit(int64_t period) const;

  std::optional<Wall> step(Wall at, Direction direction, Wall limit) const;
  std::optional<Wall> step_positions(Wall at, Direction direction, Wall limit) const;
  std::vector<Wall> chosen(int64_t period) const;

  Rule rule_;
  bool hopeless_ = false;  // no period has as many starts as the least of BYSETPOS asks for
  TimeParts mirrored_;     // the times of day counted from midnight backwards
  Wall first_, last_ = kMaxWall;
  int64_t first_period_;
  std::vector<int> offsets_[3];  // hours, minutes, seconds that one unit of a period has
  int64_t per_unit_ = 1;         // starts in one such unit: a day, or the hour, minute or second itself
};

}  // namespace ctrlplane::schedule
