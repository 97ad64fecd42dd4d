#include "api/target_page.h"

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane::api {
namespace {

// Two deployments and two environments in one system, and seven resources that all of them select.
class TargetPages : public ::testing::Test {
 protected:
  void SetUp() override {
    SystemId system{world.must(UpsertSystem{.name = "shop"})};
    for (const char* name : {"web", "api"}) {
      UpsertDeployment d{.name = name, .resource_selector = "true", .agent_selector = "true"};
      deployments.push_back(DeploymentId{world.must(d)});
      world.must(LinkDeployment{system, deployments.back()});
    }
    for (const char* name : {"staging", "prod"}) {
      environments.push_back(
          EnvironmentId{world.must(UpsertEnvironment{.name = name, .resource_selector = "true"})});
      world.must(LinkEnvironment{system, environments.back()});
    }
    for (const char* name : {"d", "a", "g", "c", "f", "b", "e"})
      resources.push_back(ResourceId{world.must(UpsertResource{{name, name, "Host", "v1", {}, {}}, {}})});
    world.drain();
  }

  std::string name_of(TargetIx t) const {
    const TargetSlot& slot = world.state->at(t);
    return world.state->deployments[slot.deployment].row.name + "/" +
           world.state->environments[slot.environment].row.name + "/" +
           world.state->resources[slot.resource].row.identifier;
  }
  std::vector<std::string> names(const TargetFilter& filter, Page page = {}) const {
    auto found = page_of_targets(*world.state, filter, page);
    CHECK(found.has_value());
    total = found->total;
    std::vector<std::string> all;
    for (TargetIx t : found->items) all.push_back(name_of(t));
    return all;
  }

  testing::World world;
  std::vector<DeploymentId> deployments;
  std::vector<EnvironmentId> environments;
  std::vector<ResourceId> resources;
  mutable size_t total = 0;
};

TEST_F(TargetPages, are_in_order_of_deployment_environment_and_resource) {
  auto all = names({});
  EXPECT_EQ(all.size(), 28u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(all.front(), "api/prod/a");
  EXPECT_EQ(all.back(), "web/staging/g");
}

TEST_F(TargetPages, of_any_size_put_together_are_the_whole) {
  const auto all = names({});
  for (size_t limit : {1u, 2u, 3u, 7u, 8u, 27u, 28u, 1000u}) {
    std::vector<std::string> together;
    for (size_t offset = 0; offset < all.size(); offset += limit) {
      auto page = names({}, {.limit = limit, .offset = offset});
      EXPECT_EQ(page.size(), std::min(limit, all.size() - offset));
      EXPECT_EQ(total, 28u);
      together.insert(together.end(), page.begin(), page.end());
    }
    EXPECT_EQ(together, all) << limit;
  }
}

TEST_F(TargetPages, past_the_end_are_empty_and_know_the_total) {
  for (size_t offset : {size_t{28}, size_t{1000}, static_cast<size_t>(INT64_MAX)}) {
    EXPECT_TRUE(names({}, {.limit = 1000, .offset = offset}).empty());
    EXPECT_EQ(total, 28u);
  }
}

TEST_F(TargetPages, have_only_what_fits_the_filter) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({.deployment = deployments[0]}, {.limit = 2, .offset = 6}),
            (Names{"web/prod/g", "web/staging/a"}));
  EXPECT_EQ(total, 14u);
  EXPECT_EQ(names({.environment = environments[0]}, {.limit = 2, .offset = 6}),
            (Names{"api/staging/g", "web/staging/a"}));
  EXPECT_EQ(total, 14u);
  EXPECT_EQ(names({.resource = resources[0]}),
            (Names{"api/prod/d", "api/staging/d", "web/prod/d", "web/staging/d"}));
  EXPECT_EQ(names({.resource = resources[0]}, {.limit = 2, .offset = 1}),
            (Names{"api/staging/d", "web/prod/d"}));
  EXPECT_EQ(total, 4u);
  EXPECT_EQ(names({deployments[1], environments[1], resources[2]}), Names{"api/prod/g"});
}

TEST_F(TargetPages, leave_out_what_was_deleted_before_it_is_taken_down) {
  world.must(DeleteDeployment{deployments[0]});
  world.must(DeleteEnvironment{environments[0]});
  EXPECT_EQ(names({}).size(), 7u);
  // Under its old id, while what it was before is still being taken down.
  world.must(UpsertDeployment{.id = deployments[0], .name = "web", .agent_selector = "true"});
  EXPECT_EQ(names({}).size(), 7u);
  world.drain();
  EXPECT_EQ(names({}).size(), 7u);
}

TEST_F(TargetPages, of_what_is_not_there_are_refused) {
  EXPECT_FALSE(page_of_targets(*world.state, {.deployment = DeploymentId{}}, {}));
  EXPECT_FALSE(page_of_targets(*world.state, {.environment = EnvironmentId{}}, {}));
  EXPECT_FALSE(page_of_targets(*world.state, {.resource = ResourceId{}}, {}));
}

}  // namespace
}  // namespace ctrlplane::api
