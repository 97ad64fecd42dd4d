#include "schedule/expansion.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace ctrlplane::schedule {
namespace {

// Ends a search that steps over ever more times of day. Far above what a rule with starts needs.
constexpr int kMaxSteps = 500'000;

template <class Set>
bool has(Set set, int n) {
  return (set >> n & 1) != 0;
}

// The lowest member at or above n; -1 if there is none.
int member_from(uint64_t set, int n) {
  set = n > 63 ? 0 : set >> n << n;
  return set == 0 ? -1 : std::countr_zero(set);
}

// The first second of the day at or after `second` whose hour, minute and second are in; -1 if none is.
int time_from(const TimeParts& t, int second) {
  int h = second / 3600, m = second / 60 % 60, s = second % 60;
  int lowest_m = std::countr_zero(t.minutes), lowest_s = std::countr_zero(t.seconds);
  if (has(t.hours, h)) {
    if (has(t.minutes, m))
      if (int found = member_from(t.seconds, s); found >= 0) return h * 3600 + m * 60 + found;
    if (int found = member_from(t.minutes, m + 1); found >= 0) return h * 3600 + found * 60 + lowest_s;
  }
  int found = member_from(t.hours, h + 1);
  return found < 0 ? -1 : found * 3600 + lowest_m * 60 + lowest_s;
}

TimeParts mirror(const TimeParts& t) {
  TimeParts out;
  for (int h = 0; h < 24; ++h)
    if (has(t.hours, h)) out.hours |= 1u << (23 - h);
  for (int n = 0; n < 60; ++n) {
    if (has(t.minutes, n)) out.minutes |= uint64_t{1} << (59 - n);
    if (has(t.seconds, n)) out.seconds |= uint64_t{1} << (59 - n);
  }
  return out;
}

std::vector<int> members(uint64_t set) {
  std::vector<int> out;
  for (; set != 0; set &= set - 1) out.push_back(std::countr_zero(set));
  return out;
}

}  // namespace

Expansion::Expansion(Rule rule, Wall first)
    : rule_(std::move(rule)), mirrored_(mirror(rule_.times)), first_(first), first_period_(period_of(first)) {
  const TimeParts& t = rule_.times;
  offsets_[0] = rule_.frequency > Frequency::kHourly ? members(t.hours) : std::vector<int>{0};
  offsets_[1] = rule_.frequency > Frequency::kMinutely ? members(t.minutes) : std::vector<int>{0};
  offsets_[2] = rule_.frequency > Frequency::kSecondly ? members(t.seconds) : std::vector<int>{0};
  for (const auto& list : offsets_) per_unit_ *= static_cast<int64_t>(list.size());
  hopeless_ = !rule_.positions.empty() && std::ranges::none_of(rule_.positions, [&](int position) {
    return std::abs(position) <= units_in_period() * per_unit_;
  });
}

// At most; see chosen().
int Expansion::units_in_period() const {
  switch (rule_.frequency) {
    case Frequency::kWeekly: return 7;
    case Frequency::kMonthly: return 31;
    case Frequency::kYearly: return 366;
    default: return 1;
  }
}

bool Expansion::weekday_matches(const Date& date) const {
  const DayParts& d = rule_.days;
  int weekday = date.weekday();
  if (has(d.weekdays, weekday)) return true;
  if (!d.has_nth) return false;
  int day = d.nth_in_month ? date.month_day : date.year_day();
  int length = d.nth_in_month ? date.month_length() : date.year_length();
  return has(d.nth_weekdays[weekday], (day - 1) / 7 + 1) ||
         has(d.nth_weekdays_from_end[weekday], (length - day) / 7 + 1);
}

// A week belongs to the year that has most of its days, i.e. its fourth day.
bool Expansion::week_matches(const Date& date) const {
  const DayParts& d = rule_.days;
  Date fourth(date.number - floor_mod(date.weekday() - d.week_start, 7) + 3);
  int day = fourth.year_day();
  return has(d.weeks, (day - 1) / 7 + 1) || has(d.weeks_from_end, (fourth.year_length() - day) / 7 + 1);
}

// All but the month, which is looked at first because a whole one can be stepped over.
bool Expansion::day_matches(const Date& date) const {
  const DayParts& d = rule_.days;
  if (d.has_weekdays() && !weekday_matches(date)) return false;
  if (d.has_month_days() && !has(d.month_days, date.month_day) &&
      !has(d.month_days_from_end, date.month_length() - date.month_day + 1))
    return false;
  if (d.has_year_days() && !d.year_days.test(date.year_day()) &&
      !d.year_days_from_end.test(date.year_length() - date.year_day() + 1))
    return false;
  return !d.has_weeks() || week_matches(date);
}

// The number of the second, minute, … or year, as FREQ says, that the time is in.
int64_t Expansion::period_of(Wall wall) const {
  switch (rule_.frequency) {
    case Frequency::kSecondly: return wall;
    case Frequency::kMinutely: return floor_div(wall, kMinute);
    case Frequency::kHourly: return floor_div(wall, kHour);
    case Frequency::kDaily: return floor_div(wall, kDay);
    case Frequency::kWeekly: return floor_div(floor_div(wall, kDay) + 3 - rule_.days.week_start, 7);
    case Frequency::kMonthly: {
      Date date(floor_div(wall, kDay));
      return date.year * 12 + date.month - 1;
    }
    case Frequency::kYearly: return Date(floor_div(wall, kDay)).year;
  }
  return 0;
}

Wall Expansion::begin_of(int64_t period) const {
  switch (rule_.frequency) {
    case Frequency::kSecondly: return period;
    case Frequency::kMinutely: return period * kMinute;
    case Frequency::kHourly: return period * kHour;
    case Frequency::kDaily: return period * kDay;
    case Frequency::kWeekly: return (period * 7 - 3 + rule_.days.week_start) * kDay;
    case Frequency::kMonthly:
      if (period >= (kMaxYear + 1) * 12) return kMaxWall + 1;
      return day_number(static_cast<int>(floor_div(period, 12)), static_cast<int>(floor_mod(period, 12)) + 1,
                        1) *
             kDay;
    case Frequency::kYearly:
      return period > kMaxYear ? kMaxWall + 1 : day_number(static_cast<int>(period), 1, 1) * kDay;
  }
  return 0;
}

// How many periods after one that INTERVAL lets pass.
int64_t Expansion::misfit(int64_t period) const {
  return rule_.interval == 1 ? 0 : floor_mod(period - first_period_, rule_.interval);
}

// The nearest start of the rule without BYSETPOS from `at` on, not past `limit`.
std::optional<Wall> Expansion::step(Wall at, Direction direction, Wall limit) const {
  const bool forward = direction == Direction::kForward;
  for (int steps = 0; steps < kMaxSteps; ++steps) {
    if (forward ? at > limit : at < limit) return std::nullopt;
    if (rule_.interval != 1) {
      int64_t period = period_of(at);
      if (int64_t off = misfit(period); off != 0) {
        at = forward ? begin_of(period + rule_.interval - off) : begin_of(period - off + 1) - 1;
        continue;
      }
    }
    Date date(floor_div(at, kDay));
    if (rule_.days.months != 0 && !has(rule_.days.months, date.month)) {
      int64_t month_begin = date.number - date.month_day + 1;
      at = forward ? (month_begin + date.month_length()) * kDay : month_begin * kDay - 1;
      continue;
    }
    int second = static_cast<int>(at - date.number * kDay);
    int found = !day_matches(date) ? -1
                : forward          ? time_from(rule_.times, second)
                                   : time_from(mirrored_, static_cast<int>(kDay) - 1 - second);
    if (found < 0) {
      at = forward ? (date.number + 1) * kDay : date.number * kDay - 1;
      continue;
    }
    at = date.number * kDay + (forward ? found : kDay - 1 - found);
    if (rule_.frequency >= Frequency::kDaily || misfit(period_of(at)) == 0) {
      if (forward ? at > limit : at < limit) return std::nullopt;
      return at;
    }
  }
  return std::nullopt;
}

// The starts in one period that BYSETPOS chooses, in order. A period is a row of units (its matching days, or
// itself if it is shorter than a day), each with the same times, so that none need to be written out.
std::vector<Wall> Expansion::chosen(int64_t period) const {
  Wall begin = begin_of(period), end = begin_of(period + 1) - 1;
  std::vector<Wall> units;
  if (rule_.frequency < Frequency::kDaily) {
    if (step(begin, Direction::kForward, end)) units.push_back(begin);
  } else {
    for (int64_t day = begin / kDay; day * kDay <= end; ++day) {
      Date date(day);
      if ((rule_.days.months == 0 || has(rule_.days.months, date.month)) && day_matches(date))
        units.push_back(day * kDay);
    }
  }
  int64_t total = static_cast<int64_t>(units.size()) * per_unit_;
  std::vector<Wall> out;
  for (int position : rule_.positions) {
    int64_t index = position > 0 ? position - 1 : total + position;
    if (index < 0 || index >= total) continue;
    int64_t time = index % per_unit_;
    auto seconds = static_cast<int64_t>(offsets_[2].size()),
         minutes = static_cast<int64_t>(offsets_[1].size());
    out.push_back(units[index / per_unit_] + offsets_[0][time / seconds / minutes] * kHour +
                  offsets_[1][time / seconds % minutes] * kMinute + offsets_[2][time % seconds]);
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

// As step(), with BYSETPOS: looks into one period after the other that has starts at all.
std::optional<Wall> Expansion::step_positions(Wall at, Direction direction, Wall limit) const {
  const bool forward = direction == Direction::kForward;
  int64_t period = period_of(at);
  for (int steps = 0; steps < kMaxSteps; ++steps) {
    if (misfit(period) == 0) {
      std::vector<Wall> starts = chosen(period);
      auto found = forward ? std::ranges::lower_bound(starts, at) : std::ranges::upper_bound(starts, at);
      if (forward ? found != starts.end() : found != starts.begin()) {
        Wall start = forward ? *found : *(found - 1);
        return (forward ? start <= limit : start >= limit) ? std::optional(start) : std::nullopt;
      }
    }
    auto next = step(forward ? begin_of(period + 1) : begin_of(period) - 1, direction, limit);
    if (!next) return std::nullopt;
    period = period_of(*next);
  }
  return std::nullopt;
}

std::optional<Wall> Expansion::next(Wall from) const {
  Wall at = std::max(from, first_), limit = std::min(last_, at + kHorizonDays * kDay);
  if (at > limit || hopeless_) return std::nullopt;
  return rule_.positions.empty() ? step(at, Direction::kForward, limit)
                                 : step_positions(at, Direction::kForward, limit);
}

std::optional<Wall> Expansion::last(Wall from, Wall to) const {
  Wall at = std::min(to, last_), limit = std::max(from, first_);
  if (at < limit || hopeless_) return std::nullopt;
  return rule_.positions.empty() ? step(at, Direction::kBack, limit)
                                 : step_positions(at, Direction::kBack, limit);
}

Wall Expansion::nth(int64_t number) const {
  const Wall limit = std::min(kMaxWall, first_ + kCountDays * kDay);
  // Where every matching day has the same starts, whole days count at once.
  const bool uniform =
      rule_.positions.empty() && (rule_.frequency >= Frequency::kDaily || rule_.interval == 1);
  const int64_t per_day = std::popcount(rule_.times.hours) * std::popcount(rule_.times.minutes) *
                          std::popcount(rule_.times.seconds);
  Wall at = first_, latest = first_ - 1;
  while (number > 0) {
    auto start = next(at);
    if (!start || *start > limit) return latest;
    int64_t day = floor_div(*start, kDay);
    if (uniform && at <= day * kDay && number > per_day) {
      latest = day * kDay + kDay - 1;
      number -= per_day;
    } else {
      latest = *start;
      --number;
    }
    at = latest + 1;
  }
  return latest;
}

}  // namespace ctrlplane::schedule
