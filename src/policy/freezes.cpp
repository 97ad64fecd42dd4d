#include "policy/freezes.h"

#include <algorithm>

#include <fmt/core.h>

#include "policy/memo.h"
#include "policy/skips.h"

namespace ctrlplane::policy {
namespace {

// A bypass does not outlive its incident: once something newer had been published for the target before the
// freeze began, the version is an old hotfix and no answer to this one.
bool is_outlived(const Question& q, const Freeze& f) {
  const auto& newest_first = q.state.deployments[q.state.versions[q.version].deployment].versions;
  auto it = std::find(newest_first.begin(), newest_first.end(), q.version);
  if (it == newest_first.end()) return false;
  while (it != newest_first.begin())
    if (--it; !q.slot().exists || q.state.in_scope(*it, q.target))
      return q.state.versions[*it].row.created_at < f.effective_at;
  return false;
}

bool bypasses(const Question& q, const Freeze& f) {
  const Version& v = q.candidate();
  if (!v.bypass_freeze) return false;
  const auto& only = v.bypass_freeze_ids;
  if (!only.empty() && std::find(only.begin(), only.end(), f.id) == only.end()) return false;
  return !is_outlived(q, f);
}

Exemption exemption_from(const Question& q, const Freeze& f) {
  if (bypasses(q, f)) return {.bypass = true};
  return {.skip = skip_of(q, RuleId{f.id.uuid})};
}

void write_freeze(JsonWriter& w, const Freeze& f) {
  w.open().member("id", f.id).member("reason", f.reason).member("scope", to_string(f.scope));
  w.member("expiresAt", f.expires_at).close();
}

Evaluation frozen(const Question& q, const std::vector<Covering>& stopping) {
  Evaluation e{.verdict = Verdict::kDenied};
  const Freeze& first = q.state.freezes[stopping.front().freeze].row;
  e.next_at = first.expires_at;
  for (const Covering& c : stopping) {
    const auto& expires = q.state.freezes[c.freeze].row.expires_at;
    e.next_at = e.next_at && expires ? std::optional(std::max(*e.next_at, *expires)) : std::nullopt;
  }
  if (!q.words) return e;
  e.message = frozen_message(first);
  e.unblock = fmt::format("a thaw of {} (deployment_freeze.thaw), or a bypass (deployment_freeze.bypass)",
                          stopping.size() == 1 ? "the freeze" : "these freezes");
  JsonWriter w;
  w.open().member("freeze_id", first.id).member("frozen_by", first.created_by);
  w.member("frozen_at", first.effective_at).member("scope", to_string(first.scope));
  w.member("reason", first.reason).member_unless_empty("incident_url", first.incident_url);
  w.member("expires_at", first.expires_at).key("freezes").open_array();
  for (const Covering& c : stopping) write_freeze(w, q.state.freezes[c.freeze].row);
  e.details = w.close_array().close().take();
  return e;
}

Evaluation passed(const Question& q, const std::vector<Covering>& all) {
  Evaluation e = Evaluation::allowed();
  if (!q.words) return e;
  const bool by_version = all.front().exemption.bypass;
  const PolicySkip* skip = all.front().exemption.skip;
  const std::string reason = by_version ? fmt::format("version {} bypasses freezes", q.candidate().tag)
                                        : fmt::format("skipped by {}{}{}", skip->created_by,
                                                      skip->reason.empty() ? "" : ": ", skip->reason);
  e.message = fmt::format("passes {}: {}", all.size() == 1 ? "a freeze" : "freezes", reason);
  JsonWriter w;
  w.open().member("bypass_reason", reason).key("freezes").open_array();
  for (const Covering& c : all) write_freeze(w, q.state.freezes[c.freeze].row);
  e.details = w.close_array().close().take();
  return e;
}

// fn(from, to) for each stretch of time in which the freeze, as it was then, covered the target.
template <class Fn>
void each_stretch(const Question& q, FreezeIx f, Fn&& fn) {
  const Freeze& row = q.state.freezes[f].row;
  Time from = row.effective_at;
  for (size_t i = 0; i < row.spans.size(); ++i) {
    if (q.state.freeze_selected(f, i, q.target, q.version)) fn(row.spans[i].from, row.spans[i].to);
    from = row.spans[i].to;
  }
  if (from < row.end() && q.state.freeze_selects(f, q.target, q.version)) fn(from, row.end());
}

}  // namespace

std::string frozen_message(const Freeze& f) { return "Deployment frozen: " + f.reason; }

bool exempts_group(const State& state, Time now, const Freeze& f, GroupIx g) {
  const GroupSlot& group = state.groups[g];
  if (!group.row.finish_by.empty()) return true;
  if (f.in_flight == InFlight::kFinishBrackets && group.row.handed_over_at &&
      *group.row.handed_over_at <= f.effective_at)
    return true;
  bool any = false;
  for (const MemberSlot& m : group.members) {
    if (m.row.participation != Participation::kChanged || !m.version) continue;
    const TargetIx t = state.target({group.row.resource, group.row.environment, m.row.deployment});
    if (!t || !exemption_from({.state = state, .now = now, .target = t, .version = m.version}, f))
      return false;
    any = true;
  }
  return any;
}

FreezeIx frozen_by(const State& state, Time now, TargetIx target, VersionIx version, GroupIx group) {
  FreezeIx found;
  if (!state.any_open_freezes()) return found;
  Question q{.state = state, .now = now, .target = target, .version = version};
  state.each_open_freeze(q.slot().deployment, q.slot().environment, [&](FreezeIx f) {
    const Freeze& row = state.freezes[f].row;
    if (found || !row.active(now) || !state.freeze_selects(f, target, version)) return;
    if (exemption_from(q, row) || (group && exempts_group(state, now, row, group))) return;
    found = f;
  });
  return found;
}

std::vector<Covering> freezes_over(const State& state, Time now, TargetIx target, VersionIx version) {
  std::vector<Covering> all;
  Question q{.state = state, .now = now, .target = target, .version = version};
  state.each_open_freeze(q.slot().deployment, q.slot().environment, [&](FreezeIx f) {
    const Freeze& row = state.freezes[f].row;
    if (row.active(now) && state.freeze_selects(f, target, version))
      all.push_back({f, exemption_from(q, row)});
  });
  std::sort(all.begin(), all.end(), [&](const Covering& a, const Covering& b) {
    const Freeze &x = state.freezes[a.freeze].row, &y = state.freezes[b.freeze].row;
    return std::tie(x.scope, x.created_at, x.id) > std::tie(y.scope, y.created_at, y.id);
  });
  return all;
}

Evaluation evaluate_freezes(const Question& q) {
  std::vector<Covering> all = freezes_over(q.state, q.now, q.target, q.version), stopping;
  if (all.empty()) return Evaluation::allowed();
  std::copy_if(all.begin(), all.end(), std::back_inserter(stopping),
               [](const Covering& c) { return !c.exemption; });
  return stopping.empty() ? passed(q, all) : frozen(q, stopping);
}

bool was_held(const State& state, Time now, TargetIx target, VersionIx version, Time since) {
  bool held = false;
  Question q{.state = state, .now = now, .target = target, .version = version};
  auto look = [&](FreezeIx f) {
    const Freeze& row = state.freezes[f].row;
    if (held || row.end() <= since || row.effective_at > now) return;
    each_stretch(q, f, [&](Time from, Time to) { held |= from <= now && to > since && from < to; });
    if (held && exemption_from(q, row)) held = false;
  };
  state.each_ended_freeze(q.slot().deployment, q.slot().environment, look);
  state.each_open_freeze(q.slot().deployment, q.slot().environment, look);
  return held;
}

std::optional<Time> resume_turn(const State& state, Time now, TargetIx target, VersionIx version) {
  std::optional<Time> turn;
  Question q{.state = state, .now = now, .target = target, .version = version};
  state.each_ended_freeze(q.slot().deployment, q.slot().environment, [&](FreezeIx f) {
    const Freeze& row = state.freezes[f].row;
    if (row.effective_at >= *row.thawed_at) return;  // cancelled before it began: it has held nothing
    if (!row.resume_per_minute || q.candidate().created_at > *row.thawed_at) return;
    if (!state.freeze_selects(f, target, version) || exemption_from(q, row)) return;
    Memo::Pace& pace = memo_of(state).paces[row.id];
    auto [it, is_new] = pace.turns.try_emplace(state.key_of(target));
    if (is_new) {
      it->second = std::max(pace.next, now);
      pace.next = it->second + Duration{minutes(1).us / *row.resume_per_minute};
    }
    if (it->second > now) turn = turn ? std::max(*turn, it->second) : it->second;
  });
  return turn;
}

std::vector<Standstill> standstills(const Question& q, Time since) {
  std::vector<Standstill> all;
  auto look = [&](FreezeIx f) {
    const Freeze& row = q.state.freezes[f].row;
    if (row.end() <= since || exemption_from(q, row)) return;
    each_stretch(q, f, [&](Time from, Time to) {
      if (from < to && to > since) all.push_back({from, to});
    });
  };
  q.state.each_ended_freeze(q.slot().deployment, q.slot().environment, look);
  q.state.each_open_freeze(q.slot().deployment, q.slot().environment, look);
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.from < b.from; });
  std::vector<Standstill> apart;
  for (const Standstill& s : all) {
    if (!apart.empty() && s.from <= apart.back().to)
      apart.back().to = std::max(apart.back().to, s.to);
    else
      apart.push_back(s);
  }
  return apart;
}

}  // namespace ctrlplane::policy
