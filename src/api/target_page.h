// Which release targets a list shows: a page of those that fit, without a walk over all there are.
#pragma once

#include <optional>
#include <vector>

#include "api/call.h"

namespace ctrlplane::api {

struct TargetFilter {
  std::optional<DeploymentId> deployment;
  std::optional<EnvironmentId> environment;
  std::optional<ResourceId> resource;
  bool off_main_line = false;  // only those that run a scoped version
};

bool is_off_main_line(const State& state, TargetIx target);

struct TargetPage {
  std::vector<TargetIx> items;
  size_t total = 0;  // on all pages
};

// Existing targets that fit, ordered by deployment, environment and identifier of the resource. More than
// 10,000 of a deployment in an environment stay in the order in which they are kept: sorting them would hold
// up the loop. Costs what stands on the page and a look at each deployment and environment; off the main line
// a look at each target of deployments that have scoped versions. kNotFound for a filter that names nothing.
Result<TargetPage> page_of_targets(const State& state, const TargetFilter& filter, Page page);

}  // namespace ctrlplane::api
