#include "state/state.h"

#include <gtest/gtest.h>

#include "state/testing.h"

namespace ctrlplane {
namespace {

using testing::id;
using testing::kStart;

struct StateOfOneTarget : ::testing::Test {
  StateOfOneTarget() {
    put(System{.id = system, .name = "s"});
    put(environment_row("true"));
    Deployment d{.id = deployment, .name = "d"};
    d.resource_selector = "true";
    put(d);
    put(SystemDeployment{system, deployment});
    put(SystemEnvironment{system, environment});
    Resource r{.id = resource, .identifier = "r"};
    put(r);
    settle();
  }
  Environment environment_row(std::optional<std::string> selector) const {
    Environment e{.id = environment, .name = "e"};
    e.resource_selector = std::move(selector);
    return e;
  }
  void put(Entity e) { state.apply(Change::put(std::move(e))); }
  void erase(Entity e) { state.apply(Change::erase(std::move(e))); }
  std::vector<TargetKey> settle() {
    std::vector<TargetKey> gone;
    while (!state.settled()) state.advance(3, gone);
    return gone;
  }
  TargetIx target() const { return state.target(key); }

  SystemId system = id<SystemId>(1);
  EnvironmentId environment = id<EnvironmentId>(2);
  DeploymentId deployment = id<DeploymentId>(3);
  ResourceId resource = id<ResourceId>(4);
  TargetKey key{resource, environment, deployment};
  TargetState row{.key = key, .attempts = 3};
  State state{WorkspaceId{}};
};

TEST_F(StateOfOneTarget, reports_a_row_whose_parent_is_missing) {
  for (int missing = 0; missing < 3; ++missing) {
    TargetState orphan{.key = key};
    if (missing == 0) orphan.key.resource = id<ResourceId>(99);
    if (missing == 1) orphan.key.environment = id<EnvironmentId>(99);
    if (missing == 2) orphan.key.deployment = id<DeploymentId>(99);
    put(orphan);
    EXPECT_FALSE(state.settled());
    EXPECT_EQ(settle(), std::vector{orphan.key});
  }
  EXPECT_EQ(state.target_count(), 1u);
  EXPECT_TRUE(state.target_exists(target()));
}

TEST_F(StateOfOneTarget, remembers_a_target_that_comes_back) {
  put(row);
  put(environment_row("false"));
  EXPECT_FALSE(state.target_exists(target())) << "at once, though membership lags";
  EXPECT_EQ(state.target_count(), 1u);
  settle();
  EXPECT_EQ(state.target_count(), 0u);
  ASSERT_TRUE(target());
  put(environment_row("true"));
  settle();
  EXPECT_EQ(state.target_count(), 1u);
  EXPECT_EQ(state.row_of(target()), row);
}

TEST_F(StateOfOneTarget, matches_nothing_with_an_unset_or_broken_selector) {
  put(environment_row(std::nullopt));
  settle();
  EXPECT_EQ(state.target_count(), 0u);
  put(environment_row("resource.name ="));
  settle();
  EXPECT_EQ(state.target_count(), 0u);
}

TEST_F(StateOfOneTarget, reports_the_row_of_a_deleted_parent_once_also_when_it_is_written_meanwhile) {
  put(row);
  erase(Environment{.id = environment});
  put(row);  // a job that ends while the environment is being taken down
  EXPECT_EQ(settle(), std::vector{key});
  EXPECT_FALSE(target());
}

TEST_F(StateOfOneTarget, reports_the_row_of_a_deleted_resource) {
  put(row);
  erase(Resource{.id = resource});
  EXPECT_EQ(settle(), std::vector{key});
  EXPECT_EQ(state.target_count(), 0u);
}

TEST_F(StateOfOneTarget, forgets_what_a_target_knew_with_its_row) {
  put(row);
  erase(TargetState{.key = key});
  ASSERT_TRUE(target());
  EXPECT_EQ(state.row_of(target()), TargetState{.key = key});
  EXPECT_FALSE(state.at(target()).has_row);
}

TEST_F(StateOfOneTarget, keeps_a_target_while_one_of_two_systems_holds_both_sides) {
  SystemId other = id<SystemId>(9);
  put(System{.id = other, .name = "other"});
  put(SystemDeployment{other, deployment});
  put(SystemEnvironment{other, environment});
  erase(System{.id = system});
  settle();
  EXPECT_EQ(state.target_count(), 1u);
  erase(SystemEnvironment{other, environment});
  EXPECT_FALSE(state.target_exists(target()));
  settle();
  EXPECT_EQ(state.target_count(), 0u);
}

TEST_F(StateOfOneTarget, lists_versions_newest_first_and_moves_them_with_their_creation) {
  auto version = [&](uint64_t n, int64_t at) {
    Version v{.id = id<VersionId>(n), .deployment = deployment, .tag = std::to_string(n)};
    v.created_at = kStart + seconds(at);
    put(v);
  };
  auto order = [&] {
    std::vector<VersionId> out;
    for (VersionIx v : state.deployments[state.deployments.find(deployment)].versions)
      out.push_back(state.versions[v].row.id);
    return out;
  };
  version(1, 5), version(2, 5), version(3, 9), version(4, 1);
  auto ids = [](auto... n) { return std::vector{id<VersionId>(static_cast<uint64_t>(n))...}; };
  EXPECT_EQ(order(), ids(3, 2, 1, 4));
  version(4, 10);
  EXPECT_EQ(order(), ids(4, 3, 2, 1));
  erase(Version{.id = id<VersionId>(3)});
  EXPECT_EQ(order(), ids(4, 2, 1));
}

TEST_F(StateOfOneTarget, keeps_a_version_that_is_referred_to_until_the_last_reference_goes) {
  Version v{.id = id<VersionId>(1), .deployment = deployment, .tag = "v"};
  put(v);
  row.desired_version = row.current_version = v.id;
  row.current_release = id<ReleaseId>(1);
  row.past = {{v.id, kStart}};
  put(row);
  VersionIx ix = state.versions.find(v.id);
  EXPECT_EQ(state.versions[ix].references, 3u);
  erase(v);
  EXPECT_TRUE(state.versions.used(ix));
  EXPECT_TRUE(state.versions[ix].erased);
  put(TargetState{.key = key});
  EXPECT_FALSE(state.versions.used(ix));
}

TEST_F(StateOfOneTarget, wakes_every_target_of_a_deployment_also_when_some_go_during_the_walk) {
  for (uint64_t n = 10; n < 30; ++n) put(Resource{.id = id<ResourceId>(n), .identifier = std::to_string(n)});
  settle();
  while (state.pop_dirty()) {
  }
  put(Version{.id = id<VersionId>(1), .deployment = deployment, .tag = "v"});
  std::set<TargetKey> woken;
  for (uint64_t n = 10; auto t = state.pop_dirty(); ++n) {
    woken.insert(state.key_of(*t));
    if (n < 20) erase(Resource{.id = id<ResourceId>(n)});
  }
  for (uint64_t n = 20; n < 30; ++n)
    EXPECT_TRUE(woken.contains(TargetKey{id<ResourceId>(n), environment, deployment})) << n;
  EXPECT_TRUE(woken.contains(key));
}

}  // namespace
}  // namespace ctrlplane
