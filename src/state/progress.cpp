// How versions fare on the targets of a deployment in an environment: counted as targets come, go and learn,
// so that a rule about the share of successes need not walk over them.
#include <algorithm>

#include "state/state.h"

namespace ctrlplane {
namespace {

// fn(past) for each version once, at its first mention.
template <class Fn>
void each_version_of(const std::vector<PastVersionIx>& past, Fn&& fn) {
  for (auto it = past.begin(); it != past.end(); ++it)
    if (std::none_of(past.begin(), it, [&](const PastVersionIx& p) { return p.version == it->version; }))
      fn(*it);
}

constexpr uint32_t bit(JobStatus s) { return 1u << static_cast<uint32_t>(s); }

// When an attempt of the version first ended there in one of the statuses.
std::optional<Time> first_ending(const TargetSlot& slot, VersionIx v, uint32_t statuses) {
  std::optional<Time> first;
  auto note = [&](VersionIx of, JobStatus status, Time at) {
    if (of == v && (statuses & bit(status))) first = first ? std::min(*first, at) : at;
  };
  for (const PastVersionIx& p : slot.past) note(p.version, JobStatus::kSuccessful, p.first_success);
  for (const EndingIx& e : slot.endings) note(e.version, e.status, e.first_at);
  return first;
}

}  // namespace

const State::Pair* State::pair(DeploymentIx d, EnvironmentIx e) const {
  auto it = pairs_.find({d, e});
  return it == pairs_.end() ? nullptr : &it->second;
}

uint32_t State::targets_in(DeploymentIx d, EnvironmentIx e) const {
  const Pair* p = pair(d, e);
  return p ? static_cast<uint32_t>(p->targets.size()) : 0;
}

uint64_t State::membership_epoch(DeploymentIx d, EnvironmentIx e) const {
  const Pair* p = pair(d, e);
  return p ? p->epoch : 0;
}

State::Success State::successes(DeploymentIx d, EnvironmentIx e, VersionIx v) const {
  const Pair* p = pair(d, e);
  if (!p) return {};
  auto it = p->successes.find(v);
  if (it == p->successes.end()) return {};
  const Tally& tally = it->second;
  if (tally.stale) {
    tally.latest = Time{INT64_MIN};
    for (TargetIx t : p->targets)
      each_version_of(targets_[t.n].past, [&](const PastVersionIx& past) {
        if (past.version == v && is_counted_in(v, t))
          tally.latest = std::max(tally.latest, past.first_success);
      });
    tally.stale = false;
  }
  return {tally.count, tally.latest};
}

State::Success State::endings(DeploymentIx d, EnvironmentIx e, VersionIx v,
                              std::span<const JobStatus> statuses) const {
  const Pair* p = pair(d, e);
  if (!p) return {};
  uint32_t bits = 0;
  for (JobStatus s : statuses) bits |= bit(s);
  auto [it, is_new] = p->ended.try_emplace({v, bits});
  if (!is_new) return it->second;
  Success& found = it->second;
  for (TargetIx t : p->targets) {
    if (!is_counted_in(v, t)) continue;
    auto first = first_ending(targets_[t.n], v, bits);
    if (first) found.latest = found.count++ == 0 ? *first : std::max(found.latest, *first);
  }
  return found;
}

std::vector<std::pair<DeploymentIx, EnvironmentIx>> State::take_changed_pairs() {
  std::vector<std::pair<DeploymentIx, EnvironmentIx>> all(changed_pairs_.begin(), changed_pairs_.end());
  changed_pairs_.clear();
  return all;
}

void State::enter_pair(TargetIx t) {
  TargetSlot& slot = targets_[t.n];
  Pair& p = pairs_[{slot.deployment, slot.environment}];
  slot.at_in_pair = static_cast<uint32_t>(p.targets.size());
  p.targets.push_back(t);
  p.ended.clear();
  p.epoch = ++membership_changes_;
  changed_pairs_.insert({slot.deployment, slot.environment});
  enter_scopes(t);
  count_past(t);
}

void State::leave_pair(TargetIx t) {
  const TargetSlot& slot = targets_[t.n];
  discount_past(t);
  leave_scopes(t);
  auto it = pairs_.find({slot.deployment, slot.environment});
  Pair& p = it->second;
  const TargetIx moved = p.targets.back();
  p.targets[slot.at_in_pair] = moved;
  targets_[moved.n].at_in_pair = slot.at_in_pair;
  p.targets.pop_back();
  p.ended.clear();
  p.epoch = ++membership_changes_;
  changed_pairs_.insert({slot.deployment, slot.environment});
  // A walk over the pair's targets may already be past the place it moved to.
  if (moved != t && !dirty_walks_.empty()) mark_dirty(moved);
  if (p.targets.empty()) pairs_.erase(it);
}

void State::count_past(TargetIx t, std::optional<VersionIx> only) {
  const TargetSlot& slot = targets_[t.n];
  if (slot.past.empty()) return;
  Pair& p = pairs_.at({slot.deployment, slot.environment});
  each_version_of(slot.past, [&](const PastVersionIx& past) {
    if ((only && past.version != *only) || !is_counted_in(past.version, t)) return;
    Tally& tally = p.successes[past.version];
    // Stale, it is too late rather than too early: only recounting says what it is without the one that left.
    tally.latest = tally.count == 0 ? past.first_success : std::max(tally.latest, past.first_success);
    ++tally.count;
  });
}

void State::discount_past(TargetIx t, std::optional<VersionIx> only) {
  const TargetSlot& slot = targets_[t.n];
  if (slot.past.empty()) return;
  Pair& p = pairs_.at({slot.deployment, slot.environment});
  each_version_of(slot.past, [&](const PastVersionIx& past) {
    if ((only && past.version != *only) || !is_counted_in(past.version, t)) return;
    auto it = p.successes.find(past.version);
    CHECK(it != p.successes.end() && it->second.count > 0, "successes out of step");
    if (--it->second.count == 0)
      p.successes.erase(it);
    else if (past.first_success >= it->second.latest)
      it->second.stale = true;
  });
}

void State::replace_past(TargetIx t, const std::vector<PastVersion>& rows) {
  TargetSlot& slot = targets_[t.n];
  std::vector<PastVersionIx> past;
  past.reserve(rows.size());
  for (const PastVersion& row : rows)
    if (VersionIx v = versions.find(row.version)) past.push_back({v, row.first_success});
  if (past == slot.past) return;
  if (slot.exists) discount_past(t);
  for (const PastVersionIx& p : past) ++versions[p.version].references;
  for (PastVersionIx& p : slot.past) set_version_ref(p.version, {});
  slot.past = std::move(past);
  slot.past.shrink_to_fit();
  if (slot.exists) count_past(t);
  forget_ended(slot);
}

void State::replace_denied(TargetIx t, const std::vector<VersionId>& rows) {
  TargetSlot& slot = targets_[t.n];
  std::vector<VersionIx> denied;
  denied.reserve(rows.size());
  for (const VersionId& id : rows)
    if (VersionIx v = versions.find(id)) denied.push_back(v);
  if (denied == slot.denied) return;
  for (VersionIx v : denied) ++versions[v].references;
  for (VersionIx& v : slot.denied) set_version_ref(v, {});
  slot.denied = std::move(denied);
  slot.denied.shrink_to_fit();
}

void State::replace_endings(TargetIx t, const std::vector<Ending>& rows) {
  TargetSlot& slot = targets_[t.n];
  std::vector<EndingIx> endings;
  for (const Ending& row : rows)
    if (VersionIx v = versions.find(row.version)) endings.push_back({v, row.status, row.first_at});
  if (endings == slot.endings) return;
  for (const EndingIx& e : endings) ++versions[e.version].references;
  for (EndingIx& e : slot.endings) set_version_ref(e.version, {});
  slot.endings = std::move(endings);
  slot.endings.shrink_to_fit();
  forget_ended(slot);
}

void State::forget_ended(const TargetSlot& slot) {
  if (!slot.exists) return;
  pairs_.at({slot.deployment, slot.environment}).ended.clear();
}

}  // namespace ctrlplane
