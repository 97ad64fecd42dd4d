#include "engine/select.h"

#include <algorithm>

#include "engine/bracket_order.h"
#include "policy/brackets.h"

namespace ctrlplane {
namespace {

bool is_newer(const Version& a, const Version& b) {
  return std::tie(a.created_at, a.id) > std::tie(b.created_at, b.id);
}

bool was_current(const TargetSlot& target, VersionIx v) {
  return std::any_of(target.past.begin(), target.past.end(),
                     [&](const PastVersionIx& p) { return p.version == v; });
}

// After a rollback only what has run here before is gone back to.
bool is_left_behind(const State& state, const TargetSlot& target, VersionIx v) {
  return is_behind_rollback(state, target, v) && !was_current(target, v);
}

// May the target go on with what it runs?
bool current_stands(const State& state, Time now, TargetIx t) {
  const TargetSlot& target = state.at(t);
  VersionIx v = target.current_version;
  if (!v || state.versions[v].erased || is_ruled_out(state.versions[v].row.status)) return false;
  return !is_denied(target, v) && !policy::is_excluded(state, now, t, v);
}

void note(std::optional<Time>& earliest, const std::optional<Time>& at) {
  if (at) earliest = earliest ? std::min(*earliest, *at) : at;
}

// A hash alone would scatter a fan-out over the whole table. Led by the version's time (48 bits) and the
// resource's (24 bits), the releases of a version stand together, in about the order they are made; 50 bits
// of hash tell apart what was made in the same millisecond.
Uuid in_order(const Uuid& hash, VersionId version, ResourceId resource) {
  const uint64_t version_ms = version.uuid.high() >> 16, resource_ms = resource.uuid.high() >> 16 & 0xffffff;
  const uint64_t high = version_ms << 16 | 0x8000 | resource_ms >> 12;  // version 8: a layout of our own
  const uint64_t low =
      uint64_t{2} << 62 | (resource_ms & 0xfff) << 50 | (hash.low() & ((uint64_t{1} << 50) - 1));
  return Uuid::from_halves(high, low);
}

}  // namespace

bool is_ruled_out(VersionStatus s) { return s == VersionStatus::kFailed || s == VersionStatus::kRejected; }

bool is_deployable(const State& state, const TargetSlot& target, VersionIx v) {
  VersionStatus status = state.versions[v].row.status;
  if (status != VersionStatus::kPaused) return status == VersionStatus::kReady;
  return target.first_job && state.jobs[target.first_job].version == v;
}

bool is_good_lock(const State& state, TargetIx t, VersionIx v) {
  if (!v || state.versions[v].erased) return false;
  const VersionStatus status = state.versions[v].row.status;
  const bool runs_here = state.at(t).current_version == v;
  if (status == VersionStatus::kReady) return runs_here || state.in_scope(v, t);
  return status == VersionStatus::kPaused && runs_here;
}

bool is_lock_out_of_scope(const State& state, TargetIx t, VersionIx v) {
  if (!v || state.versions[v].erased || state.versions[v].row.status != VersionStatus::kReady) return false;
  return state.at(t).current_version != v && !state.in_scope(v, t);
}

bool is_denied(const TargetSlot& target, VersionIx v) {
  return std::find(target.denied.begin(), target.denied.end(), v) != target.denied.end();
}

bool is_behind_rollback(const State& state, const TargetSlot& target, VersionIx v) {
  return std::any_of(target.denied.begin(), target.denied.end(), [&](VersionIx denied) {
    return is_newer(state.versions[denied].row, state.versions[v].row);
  });
}

policy::Waiver waiver_for(const State& state, TargetIx t, VersionIx v) {
  const TargetSlot& target = state.at(t);
  if (v == target.current_version) return policy::Waiver::kReturn;
  if (!target.current_version || !was_current(target, v)) return policy::Waiver::kNone;
  bool goes_back = is_newer(state.versions[target.current_version].row, state.versions[v].row);
  return goes_back ? policy::Waiver::kReturn : policy::Waiver::kNone;
}

Selection select_version(const State& state, Time now, TargetIx t, policy::Ask ask) {
  using Kind = Selection::Kind;
  const TargetSlot& target = state.at(t);
  // What a person forced runs to its end before anything else is wanted.
  const bool locks = ask == policy::Ask::kLock;
  if (!locks && target.first_job && state.jobs[target.first_job].row.cause == JobCause::kForce)
    return {Kind::kHold};
  const bool stands = current_stands(state, now, t);
  Selection result{Kind::kNothing};
  bool frozen = false;
  for (VersionIx v : state.deployments[target.deployment].versions) {
    if (v == target.current_version) {
      if (stands) break;
      continue;
    }
    if (!(locks ? is_good_lock(state, t, v) : is_deployable(state, target, v)) || is_denied(target, v))
      continue;
    if (!state.in_scope(v, t)) continue;
    if (is_left_behind(state, target, v)) continue;
    policy::Judgement j = policy::judge(state, now, t, v, waiver_for(state, t, v), ask);
    note(result.next_at, j.next_at);
    frozen |= j.frozen;
    if (j.verdict == policy::Verdict::kAllowed) {
      const Time published = state.versions[v].row.created_at;
      return {Kind::kVersion, v, result.next_at, std::max(published, j.since.value_or(published))};
    }
    // What is desired and must wait is not exchanged for something older.
    if (!locks && v == target.desired_version && !j.excluded) return {Kind::kHold, {}, result.next_at};
  }
  const VersionIx desired = target.desired_version;
  const bool desired_is_paused = desired && !state.versions[desired].erased &&
                                 state.versions[desired].row.status == VersionStatus::kPaused &&
                                 state.in_scope(desired, t);
  if (!locks && desired_is_paused) return {Kind::kHold, {}, result.next_at};
  if (stands) return {Kind::kVersion, target.current_version, result.next_at};
  // What it should go back to is only not to be had now. A version that was ruled out meanwhile must not wait
  // for an agent until then.
  const bool desired_may_wait = !desired || desired == target.current_version ||
                                (!state.versions[desired].erased && is_deployable(state, target, desired) &&
                                 state.in_scope(desired, t) && !is_left_behind(state, target, desired));
  if (frozen && desired_may_wait) return {Kind::kHold, {}, result.next_at};
  return result;
}

bool is_left_to_bracket(const State& state, Time now, TargetIx t, Selection& chosen) {
  const bool at_work = static_cast<bool>(active_group_of(state, t));
  const bool member = at_work || policy::bracket_of(state, t);
  if (member && (at_work || !policy::any_bracket_skips(state, t))) return true;
  chosen = select_version(state, now, t);
  if (!member) return false;
  return chosen.kind != Selection::Kind::kVersion ||
         !policy::is_bracket_skipped(state, now, t, chosen.version);
}

bool says_go_back(const State& state, TargetIx t) {
  const JobStatus last = state.at(t).last_status;
  const auto& rules = policy::rules_of(state, t).rollbacks;
  return std::any_of(rules.begin(), rules.end(), [&](const std::vector<JobStatus>* on) {
    return std::find(on->begin(), on->end(), last) != on->end();
  });
}

ReleaseId release_id(const TargetKey& target, VersionId version, const Digest& variables) {
  std::string inputs;
  inputs.reserve(80);
  auto append = [&](const auto& bytes) {
    inputs.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  append(target.resource.uuid.bytes);
  append(target.environment.uuid.bytes);
  append(target.deployment.uuid.bytes);
  append(version.uuid.bytes);
  append(variables.bytes);
  return ReleaseId{in_order(derived_uuid(inputs), version, target.resource)};
}

}  // namespace ctrlplane
