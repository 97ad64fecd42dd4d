#include "engine/explain.h"

#include <fmt/core.h>

#include "engine/select.h"
#include "policy/freezes.h"

namespace ctrlplane {
namespace {

constexpr size_t kLooked = 20;  // versions a summary looks at

std::string tag_of(const State& state, VersionIx v) { return state.versions[v].row.tag; }

std::string status_reason(const State& state, const TargetSlot& slot, VersionIx v) {
  if (v == slot.current_version) return {};
  if (!is_deployable(state, slot, v))
    return fmt::format("its status is {}", to_string(state.versions[v].row.status));
  if (is_denied(slot, v)) return "it failed here and was rolled back; a person can clear that";
  return {};
}

std::string blocker_text(const State& state, const VersionExplained& v) {
  const std::string tag = tag_of(state, v.version);
  if (!v.not_deployable.empty()) return fmt::format("{}: {}", tag, v.not_deployable);
  const policy::Explained& x = v.rules[*v.first_blocker];
  if (x.type == "freeze") {
    std::string until = x.evaluation.next_at
                            ? fmt::format(" (until {} at the latest)", format_rfc3339(*x.evaluation.next_at))
                            : "";
    return fmt::format("{} is held. {}{}", tag, x.evaluation.message, until);
  }
  if (x.type == "targetSelector") return fmt::format("{} waits: {}", tag, x.evaluation.message);
  std::string who = x.policy ? fmt::format("policy {}", x.policy->name) : "its own dependencies";
  std::string when = x.evaluation.next_at
                         ? fmt::format(" (looked at again at {})", format_rfc3339(*x.evaluation.next_at))
                         : "";
  const bool waits = x.evaluation.verdict == policy::Verdict::kPending;
  return fmt::format("{} {} {}: {}{}", tag, waits ? "waits for" : "is not allowed by", who,
                     x.evaluation.message, when);
}

bool is_blocked(const VersionExplained& v) { return v.first_blocker || !v.not_deployable.empty(); }

// `first_blocked` gives a pointer to the newest version before the current one that something stands in the
// way of, or null. It is asked only where that is what there is to tell.
template <class FirstBlocked>
std::string summary_of(const State& state, Time now, TargetIx target, const Plan& plan,
                       FirstBlocked&& first_blocked) {
  const TargetSlot& slot = state.at(target);
  if (!slot.exists) return "this is no release target any more";
  if (slot.first_job) {
    const Job& job = state.jobs[slot.first_job].row;
    const VersionIx version = state.jobs[slot.first_job].version;
    const GroupIx group = job.group ? state.groups.find(*job.group) : GroupIx{};
    if (FreezeIx f; job.status == JobStatus::kPending && version &&
                    (f = policy::frozen_by(state, now, target, version, group)))
      return fmt::format("{} is held (job {}). {}", tag_of(state, version), job.id.str(),
                         policy::frozen_message(state.freezes[f].row));
    return fmt::format("{} is being deployed (job {} is {})", tag_of(state, version), job.id.str(),
                       to_string(job.status));
  }
  if (!plan.waiting_for.empty() && plan.version)
    return fmt::format("{} is to be deployed, but {}", tag_of(state, plan.version), plan.waiting_for);
  if (const VersionExplained* blocked = first_blocked()) return blocker_text(state, *blocked);
  if (!slot.current_version) return "no version has been published that could be deployed here";
  return fmt::format("up to date with {}", tag_of(state, slot.current_version));
}

}  // namespace

VersionExplained explain_version(const State& state, Time now, TargetIx target, VersionIx version) {
  const TargetSlot& slot = state.at(target);
  VersionExplained x{.version = version,
                     .is_current = version == slot.current_version,
                     .is_desired = version == slot.desired_version};
  x.not_deployable = status_reason(state, slot, version);
  x.rules = policy::explain(state, now, target, version, waiver_for(state, target, version));
  if (!x.not_deployable.empty()) x.verdict = policy::Verdict::kDenied;
  for (size_t i = 0; i < x.rules.size(); ++i) {
    policy::Verdict verdict = x.rules[i].evaluation.verdict;
    if (verdict == policy::Verdict::kAllowed) continue;
    if (!x.first_blocker) {
      x.first_blocker = i;
      if (x.not_deployable.empty()) x.verdict = verdict;
    }
  }
  return x;
}

TargetExplained explain_target(const State& state, Time now, TargetIx target, size_t max_versions) {
  TargetExplained e;
  const TargetSlot& slot = state.at(target);
  e.plan = plan(state, now, target);
  for (VersionIx v : state.deployments[slot.deployment].versions) {
    if (e.versions.size() == max_versions) break;
    if (v != slot.current_version && !state.in_scope(v, target)) continue;
    e.versions.push_back(explain_version(state, now, target, v));
    if (v == slot.current_version) break;
  }
  e.summary = summary_of(state, now, target, e.plan, [&]() -> const VersionExplained* {
    for (const VersionExplained& v : e.versions) {
      if (v.is_current) break;
      if (is_blocked(v)) return &v;
    }
    return nullptr;
  });
  return e;
}

// Lists ask this of every row: a version is explained only if the ones before it do not say it all.
std::string why(const State& state, Time now, TargetIx target) {
  const TargetSlot& slot = state.at(target);
  VersionExplained v;
  return summary_of(state, now, target, slot.first_job ? Plan{} : plan(state, now, target),
                    [&]() -> const VersionExplained* {
                      size_t looked = 0;
                      for (VersionIx candidate : state.deployments[slot.deployment].versions) {
                        if (candidate == slot.current_version || looked == kLooked) break;
                        if (!state.in_scope(candidate, target)) continue;
                        ++looked;
                        v = explain_version(state, now, target, candidate);
                        if (is_blocked(v)) return &v;
                      }
                      return nullptr;
                    });
}

}  // namespace ctrlplane
