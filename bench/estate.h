// A workspace for the benchmark of decisions, in memory only: 20 deployments in 5 environments under 20
// policies, of which 4 with 8 rules match each target, and 50 versions of each deployment. Most targets run
// the newest version; in the last two environments some wait for an approval, and some find a no at each of
// a dozen versions or more. All of it is at rest.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "state/state.h"

namespace ctrlplane::bench {

inline constexpr size_t kEnvironments = 5, kDeployments = 20, kVersions = 50, kPolicies = 20, kRules = 8;
inline constexpr size_t kWalk = 12;  // versions that say no before one does not

enum class Standing : uint8_t {
  kCurrent,   // runs the newest version
  kAwaiting,  // the newest waits for an approval, which is the first rule
  kHeldBack,  // runs the version behind kWalk newer ones that say no, each at one of three rules
  kUnderWay,  // a job for the version behind kWalk newer ones is running
  kBare,      // nothing runs, and no version at all is allowed
};
inline constexpr size_t kStandings = 5;
Standing standing_of(size_t deployment, size_t environment);

struct Estate {
  std::unique_ptr<State> state;
  Time now;
  SystemId system;
  AgentId agent;
  std::vector<DeploymentId> deployments;
  std::vector<EnvironmentId> environments;  // each waits for the one before; both of the last for the third
  std::vector<std::vector<VersionId>> versions;  // by deployment, newest first
  std::array<std::vector<TargetIx>, kStandings> targets;
  Policy window_policy;  // of a tenth of the resources
};

// So many resources in each environment, every deployment on each.
Estate make_estate(size_t resources);

}  // namespace ctrlplane::bench
