#include "policy/open_time.h"

#include <algorithm>

#include "policy/judge.h"
#include "policy/skips.h"

namespace ctrlplane::policy {
namespace {

constexpr int kMaxSteps = 10'000;  // boundaries looked at; a rule that needs more never comes to its turn

// Until when the present state (open or closed) lasts at least, as far as one window is concerned.
struct Phase {
  bool open;
  std::optional<Time> until;
};

Phase phase_of(const Rule& rule, Time t) {
  auto inside = rule.window()->containing(t);
  bool open = inside.has_value() == rule.window_allows();
  if (inside) return {open, inside->end};
  auto next = rule.window()->next_after(t);
  return {open, next ? std::optional(next->start) : std::nullopt};
}

Phase phase_of(const std::vector<Standstill>& standstills, Time t) {
  for (const Standstill& s : standstills) {
    if (t < s.from) return {true, s.from};
    if (t < s.to) return {false, s.to == Time::never() ? std::nullopt : std::optional(s.to)};
  }
  return {true, std::nullopt};
}

}  // namespace

std::optional<Time> after_open_time(const Question& q, Time from, Duration needed) {
  std::vector<const Rule*> windows;
  if (q.slot().current_version)
    for (const BoundRule& b : q.rules->rules)
      if (b.rule && b.rule->window() && !skip_of(q, b.row->id)) windows.push_back(b.rule);
  return after_open_time(windows, from, needed, standstills(q, from));
}

std::optional<Time> after_open_time(const std::vector<const Rule*>& windows, Time from, Duration needed,
                                    const std::vector<Standstill>& standstills) {
  if (windows.empty() && standstills.empty()) return from + needed;
  if (standstills.empty() && windows.size() == 1 && windows[0]->window_allows() && needed.us > 0)
    return windows[0]->window()->after_open_time(from, needed);
  Time t = from;
  for (int step = 0; step < kMaxSteps; ++step) {
    bool open = true;
    std::optional<Time> until;
    auto heed = [&](const Phase& p) {
      open &= p.open;
      if (p.until) until = until ? std::min(*until, *p.until) : p.until;
    };
    Phase frozen = phase_of(standstills, t);
    if (!frozen.open && !frozen.until) return std::nullopt;
    heed(frozen);
    for (const Rule* w : windows) heed(phase_of(*w, t));
    if (open && (!until || t + needed < *until)) return t + needed;
    if (!until) return std::nullopt;
    if (open) needed = needed - (*until - t);
    t = *until;
  }
  return std::nullopt;
}

std::optional<Time> next_boundary(const State& state, Time now, TargetIx target) {
  std::optional<Time> next;
  if (!state.at(target).current_version) return next;
  for (const BoundRule& b : rules_of(state, target).rules) {
    if (!b.rule || !b.rule->window()) continue;
    const std::optional<Time> until = phase_of(*b.rule, now).until;
    if (until) next = next ? std::min(*next, *until) : until;
  }
  return next;
}

}  // namespace ctrlplane::policy
