#include "engine/freeze_impact.h"

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::World;

// A world with one target, and a bracket group that works on it.
struct FreezeImpact : ::testing::Test {
  FreezeImpact() {
    world.one_target();
    version = world.publish("v1", VersionStatus::kBuilding);
    group.id = IdSource(world.now, 77).make<GroupId>();
    group.resource = world.resource;
    group.environment = world.environment;
    group.status = GroupStatus::kExecuting;
    group.created_at = world.now;
    group.started_at = world.now;
    put(MemberOutcome::kWaiting);
  }
  void put(MemberOutcome outcome, Participation participation = Participation::kChanged) {
    world.state->apply(Change::put(group));
    BracketMember m{.group = group.id, .deployment = world.deployment};
    m.participation = participation;
    m.outcome = outcome;
    m.version = version;
    world.state->apply(Change::put(m));
  }
  std::vector<OpenBracket> open(FreezeScope scope = FreezeScope::kWorkspace, std::optional<Uuid> entity = {},
                                std::optional<std::string> selector = {}) const {
    Freeze row{.scope = scope, .scope_entity = entity};
    row.selector = std::move(selector);
    return open_brackets_under(*world.state, *FreezeOutline::of(row));
  }

  World world;
  VersionId version;
  BracketGroup group;
};

TEST_F(FreezeImpact, names_groups_at_work_with_something_left_that_it_covers) {
  ASSERT_EQ(open().size(), 1u);
  EXPECT_EQ(world.state->groups[open()[0].group].row.id, group.id);
  EXPECT_EQ(open()[0].members_left, 1u);
  EXPECT_EQ(open(FreezeScope::kDeployment, world.deployment.uuid).size(), 1u);
  EXPECT_EQ(open(FreezeScope::kSystem, world.system.uuid).size(), 1u);
  EXPECT_EQ(open(FreezeScope::kEnvironment, Uuid{}).size(), 0u);
  EXPECT_EQ(open(FreezeScope::kWorkspace, {}, "version.tag == 'v1'").size(), 1u);
  EXPECT_EQ(open(FreezeScope::kWorkspace, {}, "version.tag == 'v2'").size(), 0u);
}

TEST_F(FreezeImpact, does_not_name_groups_that_have_nothing_to_do) {
  put(MemberOutcome::kSucceeded);
  EXPECT_TRUE(open().empty());
  put(MemberOutcome::kWaiting, Participation::kSkipped);
  EXPECT_TRUE(open().empty());
  put(MemberOutcome::kFailed);
  EXPECT_EQ(open().size(), 1u);
  for (GroupStatus status : {GroupStatus::kCollecting, GroupStatus::kReady, GroupStatus::kQueued,
                             GroupStatus::kCompleted, GroupStatus::kFailed}) {
    group.status = status;
    put(MemberOutcome::kWaiting);
    EXPECT_TRUE(open().empty()) << to_string(status);
  }
  group.status = GroupStatus::kStuck;
  put(MemberOutcome::kRollingBack);
  EXPECT_EQ(open().size(), 1u);
}

}  // namespace
}  // namespace ctrlplane
