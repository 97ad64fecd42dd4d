#include "engine/scope_count.h"

namespace ctrlplane {
namespace {

void look_at(const State& state, const Selector* selector, TargetIx t, ScopeCount& count) {
  const TargetSlot& slot = state.at(t);
  const Resource& resource = state.resources[slot.resource].row;
  const Environment& environment = state.environments[slot.environment].row;
  const Match m = selector ? selector->match({.resource = &resource,
                                              .deployment = &state.deployments[slot.deployment].row,
                                              .environment = &environment})
                           : Match::kYes;
  if (m == Match::kNo) return;
  ++(m == Match::kYes ? count.matched : count.undetermined);
  if (count.found.size() < count.most)
    count.found.push_back(
        {state.key_of(t), resource.identifier, resource.name, environment.name, m != Match::kYes});
}

}  // namespace

uint64_t targets_of(const State& state, DeploymentIx d) {
  uint64_t total = 0;
  state.each_pair([&](DeploymentIx of, EnvironmentIx, const std::vector<TargetIx>& targets) {
    if (of == d) total += targets.size();
  });
  return total;
}

bool count_some(const State& state, DeploymentIx d, const Selector* selector, ScopeCount& count,
                size_t budget) {
  if (!count.walk) {
    count.total = targets_of(state, d);
    const Roaring& all = state.deployments[d].members.resources;
    auto some = selector ? state.candidates(*selector, Sought::kAllButNo) : std::nullopt;
    count.walk = ResourceWalk{.among = some ? *some & all : all};
  }
  return state.walk(*count.walk, budget, [&](ResourceIx r) {
    for (TargetIx t : state.resources[r].targets)
      if (state.at(t).exists && state.at(t).deployment == d) look_at(state, selector, t, count);
  });
}

}  // namespace ctrlplane
