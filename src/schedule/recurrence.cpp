#include "schedule/recurrence.h"

#include <algorithm>

#include <fmt/core.h>

#include "schedule/starts.h"

namespace ctrlplane::schedule {
namespace {

constexpr Duration kMaxDuration = hours(24 * 3660);
constexpr Duration kHorizon = hours(24 * kHorizonDays);
constexpr Duration kBlock = hours(24);
constexpr size_t kMaxBlocks = 4096;
constexpr Duration kTick = microseconds(1);

Time askable(Time t) { return std::clamp(t, kEarliest, kLatest); }

}  // namespace

Result<Recurrence> Recurrence::make(const Options& options) {
  if (options.duration <= Duration{}) return invalid("durationMinutes", "it must be more than 0");
  if (options.duration > kMaxDuration)
    return invalid("durationMinutes",
                   fmt::format("it must be at most {}, which is ten years", kMaxDuration.us / minutes(1).us));
  Starts starts = TRY(Starts::make(options.rrule, options.zone, options.anchor));
  return Recurrence(std::make_shared<const Starts>(std::move(starts)), options.duration);
}

Recurrence::Recurrence(std::shared_ptr<const Starts> starts, Duration duration)
    : starts_(std::move(starts)),
      duration_(duration),
      reach_(std::min(duration * 600, duration + hours(24 * 366))) {}

const std::string& Recurrence::zone() const { return starts_->zone_name(); }

// Each step goes on with the last window that begins before the run ends: two steps gain a duration.
void Recurrence::extend_end(Run& run, Time limit) const {
  while (!run.end_known && run.end < limit) {
    Time last = run.end - duration_;
    auto later = starts_->last_in(last, run.end);
    if (later)
      run.end = *later + duration_;
    else
      run.end_known = true;
  }
}

void Recurrence::extend_start(Run& run, Time limit) const {
  while (!run.start_known && run.start > limit) {
    auto earlier = starts_->first_after(run.start - duration_ - kTick);
    if (earlier && *earlier < run.start)
      run.start = *earlier;
    else
      run.start_known = true;
  }
}

std::optional<Window> Recurrence::containing(Time t) const {
  t = askable(t);
  if (gap_ && gap_->holds(t)) return std::nullopt;
  if (!current_ || t < current_->start || t >= current_->end) {
    auto start = starts_->last_in(t - duration_, t);
    if (!start) return std::nullopt;
    current_ = Run{*start, *start + duration_};
  }
  extend_start(*current_, t - reach_);
  extend_end(*current_, t + reach_);
  return Window{std::max(current_->start, t - reach_), std::min(current_->end, t + reach_)};
}

// The first start after t, or after the window around it.
std::optional<Time> Recurrence::start_after(Time t, const std::optional<Window>& inside) const {
  Time closed = inside ? inside->end : t;
  if (gap_ && gap_->holds(closed)) return gap_->to;
  auto start = starts_->first_after(inside ? closed - kTick : closed);
  // A window cut off at the reach is still open at its "end".
  bool really_closed = !inside || (current_->end_known && current_->end == closed);
  if (start && really_closed) gap_ = Gap{closed, *start};
  return start;
}

std::optional<Window> Recurrence::next_after(Time t) const {
  t = askable(t);
  auto start = start_after(t, containing(t));
  if (!start) return std::nullopt;
  // Within a window that was cut off at the reach the next one is a part of the same run.
  bool same_run = current_ && current_->start <= *start && *start <= current_->end;
  if (!same_run && (!ahead_ || ahead_->start != *start)) ahead_ = Run{*start, *start + duration_, true};
  Run& run = same_run ? *current_ : *ahead_;
  extend_end(run, *start + reach_);
  return Window{*start, std::min(run.end, *start + reach_)};
}

// The end of one window that t is in; another may go on.
std::optional<Time> Recurrence::open_until(Time t) const {
  auto start = starts_->last_in(t - duration_, t);
  return start ? std::optional(*start + duration_) : std::nullopt;
}

Duration Recurrence::open_in(Time from, Time to) const {
  Duration open;
  while (from < to) {
    if (auto end = open_until(from)) {
      end = std::min(*end, to);
      open = open + (*end - from);
      from = *end;
    } else {
      from = starts_->first_after(from).value_or(to);
    }
  }
  return open;
}

Duration Recurrence::open_in_block(int64_t block) const {
  if (auto known = blocks_.find(block); known != blocks_.end()) return known->second;
  if (blocks_.size() >= kMaxBlocks) blocks_.clear();
  Time begin{block * kBlock.us};
  return blocks_[block] = open_in(begin, begin + kBlock);
}

Duration Recurrence::open_time(Time from, Time to) const {
  from = std::max(askable(from), starts_->first());
  to = std::min(askable(to), from + kHorizon);
  if (from >= to) return {};
  int64_t first = floor_div(from.us, kBlock.us) + 1, last = floor_div(to.us, kBlock.us);
  if (first > last) return open_in(from, to);
  Duration open = open_in(from, Time{first * kBlock.us});
  for (int64_t block = first; block < last; ++block) open = open + open_in_block(block);
  return open + open_in(Time{last * kBlock.us}, to);
}

std::optional<Time> Recurrence::after_open_time(Time from, Duration needed) const {
  if (needed <= Duration{}) return from;
  Time t = std::max(askable(from), starts_->first());
  const Time limit = t + kHorizon;
  while (t < limit) {
    int64_t block = floor_div(t.us, kBlock.us);
    if (t.us == block * kBlock.us) {
      if (Duration open = open_in_block(block); open < needed) {
        needed = needed - open;
        t = t + kBlock;
        if (open != Duration{}) continue;
        auto start = starts_->first_after(t - kTick);
        if (!start) return std::nullopt;
        t = std::max(t, Time{floor_div(start->us, kBlock.us) * kBlock.us});
        continue;
      }
    }
    auto end = open_until(t);
    if (!end) {
      auto start = starts_->first_after(t);
      if (!start) return std::nullopt;
      t = *start;
      continue;
    }
    Time stop = std::min(*end, Time{(block + 1) * kBlock.us});
    if (stop - t >= needed) return t + needed;
    needed = needed - (stop - t);
    t = stop;
  }
  return std::nullopt;
}

}  // namespace ctrlplane::schedule
