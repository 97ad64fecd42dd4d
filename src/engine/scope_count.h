// Whom a version would be for: asked before one is made. A selector that no index helps with looks at every
// resource of the deployment, so it is done in steps that hold nobody up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "state/state.h"

namespace ctrlplane {

struct ScopeCount {
  struct Found {
    TargetKey key;
    std::string identifier, resource, environment;  // names
    bool undetermined = false;
  };
  uint64_t matched = 0;       // the selector says yes
  uint64_t undetermined = 0;  // it cannot be evaluated there
  uint64_t total = 0;         // targets of the deployment
  std::vector<Found> found;   // both kinds, the first `most` of them
  size_t most = 0;

  std::optional<ResourceWalk> walk;  // where the count has come to
};

uint64_t targets_of(const State& state, DeploymentIx d);

// Counts on, for up to `budget` resources. True: that is all. Without a selector it is for all.
bool count_some(const State& state, DeploymentIx d, const Selector* selector, ScopeCount& count,
                size_t budget);

}  // namespace ctrlplane
