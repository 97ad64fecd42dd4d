// A workspace for the benchmarks: resources, deployments that all select them, one environment, one pull
// agent, one system around them. Rows are written straight into the store; the ids follow from the sizes,
// so that two databases prepared alike are alike.
#pragma once

#include <vector>

#include "engine/commands.h"
#include "store/store.h"

namespace ctrlplane::bench {

struct Fleet {
  WorkspaceId workspace;
  store::Token token;  // whoever starts an engine on it takes over from this one
  AgentId agent;
  SystemId system;
  EnvironmentId environment;
  std::vector<DeploymentId> deployments;
  std::vector<ResourceId> resources;
  Time created_at;
  Changes rows;

  size_t targets() const { return deployments.size() * resources.size(); }
};

Fleet make_fleet(size_t resources, size_t deployments);
// The n-th resource as a provider would send it.
ResourceInput resource_input(size_t n);

// Writes rows of a workspace into a store that has no owner for it yet, in large commits.
class Seeder {
 public:
  Seeder(store::Store& store, const Fleet& fleet);
  void put(Entity row);
  void write(Changes rows);
  void flush();

 private:
  store::Store& store_;
  store::Commit commit_;
};

// Writes the fleet into an empty store: each target runs version v1 of its deployment, and wants no other.
void seed_at_rest(store::Store& store, const Fleet& fleet);

}  // namespace ctrlplane::bench
