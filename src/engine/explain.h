// Why a target is where it is: every candidate version, every rule, the first that stands in the way, who can
// move it, and when it is looked at next. The same functions decide and explain.
#pragma once

#include <string>
#include <vector>

#include "engine/reconcile.h"
#include "policy/judge.h"

namespace ctrlplane {

struct VersionExplained {
  VersionIx version;
  policy::Verdict verdict = policy::Verdict::kAllowed;
  std::string not_deployable;            // why its status or history rules it out; empty if nothing does
  std::vector<policy::Explained> rules;  // all of them
  std::optional<size_t> first_blocker;   // in rules, in the order they are asked
  bool is_current = false, is_desired = false;
};

struct TargetExplained {
  std::string summary;  // one sentence
  Plan plan;
  std::vector<VersionExplained> versions;  // newest first, down to the current one
};

TargetExplained explain_target(const State& state, Time now, TargetIx target, size_t max_versions);
VersionExplained explain_version(const State& state, Time now, TargetIx target, VersionIx version);

// The summary alone.
std::string why(const State& state, Time now, TargetIx target);

}  // namespace ctrlplane
