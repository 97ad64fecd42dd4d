#include "sim/freezebook.h"

#include <algorithm>

namespace ctrlplane::sim {
namespace {

// Once something newer had been published for the target before the freeze began, the version is an old
// hotfix.
bool is_outlived(const Ledger& ledger, const Freeze& f, const TargetKey& target, const Version& version) {
  return std::any_of(ledger.versions.begin(), ledger.versions.end(), [&](const auto& entry) {
    const Version& other = entry.second;
    return other.deployment == version.deployment && is_newer(other, version) &&
           other.created_at < f.effective_at && (!ledger.exists(target) || ledger.is_for(other, target));
  });
}

bool is_skipped(const Ledger& ledger, const Freeze& f, const TargetKey& target, const Version& version,
                Time now) {
  return std::any_of(ledger.skips.begin(), ledger.skips.end(), [&](const auto& entry) {
    const PolicySkip& skip = entry.second;
    return skip.rule.uuid == f.id.uuid && skip.version == version.id &&
           (!skip.environment || *skip.environment == target.environment) &&
           (!skip.resource || *skip.resource == target.resource) &&
           (!skip.expires_at || *skip.expires_at > now);
  });
}

Time end_of(const Freeze& f) {
  if (f.thawed_at) return *f.thawed_at;
  return f.expires_at.value_or(Time::never());
}

}  // namespace

bool is_active(const Freeze& f, Time now) {
  return f.effective_at <= now && !f.thawed_at && (!f.expires_at || *f.expires_at > now);
}

bool is_in_scope(const Ledger& ledger, const Freeze& f, const TargetKey& target) {
  switch (f.scope) {
    case FreezeScope::kWorkspace: return true;
    case FreezeScope::kDeployment:
      return target.deployment.uuid == *f.scope_entity && ledger.deployments.contains(target.deployment);
    case FreezeScope::kEnvironment:
      return target.environment.uuid == *f.scope_entity && ledger.environments.contains(target.environment);
    case FreezeScope::kSystem: break;
  }
  const SystemId system{*f.scope_entity};
  return ledger.deployments_of.contains({system, target.deployment}) &&
         ledger.environments_of.contains({system, target.environment});
}

bool is_covered(const Ledger& ledger, const Freeze& f, const std::optional<std::string>& selector,
                const TargetKey& target, const Version& version) {
  if (!is_in_scope(ledger, f, target)) return false;
  if (!selector || selector->empty() || *selector == kFailingSelector) return true;
  return holds(*selector, ledger.facts_of(target, &version));
}

Pass pass_of(const Ledger& ledger, const Freeze& f, const TargetKey& target, const Version& version,
             Time now) {
  const auto& only = version.bypass_freeze_ids;
  const bool meant = only.empty() || std::find(only.begin(), only.end(), f.id) != only.end();
  if (version.bypass_freeze && meant && !is_outlived(ledger, f, target, version)) return Pass::kVersion;
  return is_skipped(ledger, f, target, version, now) ? Pass::kSkip : Pass::kNone;
}

std::vector<Stretch> frozen_stretches(const Ledger& ledger, const TargetKey& target, const Version& version,
                                      Time now) {
  std::vector<Stretch> all;
  for (const auto& [id, f] : ledger.freezes) {
    if (!is_in_scope(ledger, f, target) || pass_of(ledger, f, target, version, now) != Pass::kNone) continue;
    auto add = [&](Time from, Time to, const std::optional<std::string>& selector) {
      if (from < to && is_covered(ledger, f, selector, target, version)) all.push_back({from, to});
    };
    Time from = f.effective_at;
    for (const FreezeSpan& span : f.spans) {
      add(span.from, span.to, span.selector);
      from = span.to;
    }
    add(from, end_of(f), f.selector);
  }
  return all;
}

bool waits_for_turns(const Ledger& ledger, const TargetKey& target, const Version& version) {
  return std::any_of(ledger.freezes.begin(), ledger.freezes.end(), [&](const auto& entry) {
    const Freeze& f = entry.second;
    return f.thawed_at && f.resume_per_minute && version.created_at < *f.thawed_at &&
           is_in_scope(ledger, f, target);
  });
}

}  // namespace ctrlplane::sim
