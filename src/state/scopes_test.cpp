// What a scoped version costs: who is looked at, and who is marked.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "state/testing.h"

namespace ctrlplane {
namespace {

using testing::id;

class Scopes : public ::testing::Test {
 protected:
  Scopes() {
    put(System{.id = id<SystemId>(1), .name = "s"});
    put(Environment{.id = id<EnvironmentId>(1), .name = "prod", .resource_selector = "true"});
    put(Deployment{.id = id<DeploymentId>(1), .name = "api", .resource_selector = "true"});
    put(SystemEnvironment{id<SystemId>(1), id<EnvironmentId>(1)});
    put(SystemDeployment{id<SystemId>(1), id<DeploymentId>(1)});
    for (uint64_t n = 0; n < 600; ++n) {
      Resource r{.id = id<ResourceId>(n), .identifier = std::to_string(n), .name = std::to_string(n)};
      r.metadata.set("cell", std::to_string(n / 3));
      put(r);
    }
    state_.derive();
    forget();
  }
  void put(Entity e) { state_.apply(Change::put(std::move(e))); }
  size_t forget() {
    size_t n = 0;
    while (state_.pop_dirty()) ++n;
    return n;
  }
  VersionIx publish(uint64_t n, std::string selector) {
    Version v{.id = id<VersionId>(n), .deployment = id<DeploymentId>(1), .tag = std::to_string(n)};
    v.target_selector = std::move(selector);
    put(v);
    return state_.versions.find(v.id);
  }
  uint64_t targets(VersionIx v) const { return state_.versions[v].scope->targets.cardinality(); }

  State state_{WorkspaceId{}};
};

TEST_F(Scopes, by_equality_three_of_many_are_found_and_marked_at_once) {
  const VersionIx v = publish(1, "resource.metadata['cell'] == '7'");
  EXPECT_FALSE(state_.is_counting(v));
  EXPECT_TRUE(state_.settled());
  EXPECT_EQ(targets(v), 3u);
  EXPECT_EQ(forget(), 3u);
  put(Approval{.version = id<VersionId>(1), .environment = id<EnvironmentId>(1), .actor = "ann"});
  EXPECT_EQ(forget(), 3u);
}

TEST_F(Scopes, what_no_index_helps_with_is_counted_in_slices_and_known_for_each_target_meanwhile) {
  const VersionIx v = publish(1, "resource.name.endsWith('9')");
  EXPECT_TRUE(state_.is_counting(v));
  EXPECT_FALSE(state_.settled());
  const TargetKey last{id<ResourceId>(599), id<EnvironmentId>(1), id<DeploymentId>(1)};
  const TargetKey other{id<ResourceId>(598), id<EnvironmentId>(1), id<DeploymentId>(1)};
  EXPECT_TRUE(state_.in_scope(v, state_.target(last)));
  EXPECT_FALSE(state_.in_scope(v, state_.target(other)));
  EXPECT_EQ(forget(), 0u);  // they are marked when all are known
  std::vector<TargetKey> gone;
  while (!state_.settled()) state_.advance(100, gone);
  EXPECT_FALSE(state_.is_counting(v));
  EXPECT_EQ(targets(v), 60u);
  EXPECT_EQ(forget(), 60u);
}

TEST_F(Scopes, an_edit_of_the_environment_counts_again_what_reads_it) {
  const VersionIx named = publish(1, "environment.name == 'prod'");
  std::vector<TargetKey> gone;
  while (!state_.settled()) state_.advance(100, gone);
  const VersionIx celled = publish(2, "resource.metadata['cell'] == '1'");
  EXPECT_EQ(targets(named), 600u);
  put(Environment{.id = id<EnvironmentId>(1), .name = "production", .resource_selector = "true"});
  EXPECT_TRUE(state_.is_counting(named));
  EXPECT_FALSE(state_.is_counting(celled));
  while (!state_.settled()) state_.advance(100, gone);
  EXPECT_EQ(targets(named), 0u);
  EXPECT_EQ(targets(celled), 3u);
}

TEST_F(Scopes, a_version_that_is_erased_while_it_is_counted_leaves_nothing_behind) {
  publish(1, "resource.name.endsWith('9')");
  state_.apply(Change::erase(Version{.id = id<VersionId>(1), .deployment = id<DeploymentId>(1)}));
  std::vector<TargetKey> gone;
  while (!state_.settled()) state_.advance(100, gone);
  EXPECT_TRUE(state_.deployments[state_.deployments.find(id<DeploymentId>(1))].scoped.empty());
}

}  // namespace
}  // namespace ctrlplane
