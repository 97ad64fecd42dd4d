// What is forgotten with what it was about, and what memory does not keep.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::World;

struct Forget : ::testing::Test {
  Forget() {
    world.one_target();
    database = DeploymentId{world.must(UpsertDeployment{.name = "database"})};
    second = EnvironmentId{world.must(UpsertEnvironment{.name = "second"})};
    version = publish("v1");
    rule = add_policy("versionCooldown", R"({"intervalSeconds":1})");
  }
  VersionId publish(std::string tag) { return world.publish(std::move(tag), VersionStatus::kBuilding); }
  RuleId add_policy(std::string type, std::string_view body) {
    UpsertPolicy c{.name = "p", .selector = "true"};
    c.rules = {{{}, std::move(type), *Json::parse_object(body), ""}};
    const PolicyId id{world.must(c)};
    return world.state->policies[world.state->policies.find(id)].row.rules[0].id;
  }
  // An approval and a skip in each environment, and a dependency.
  void say(VersionId v) {
    world.must(SetApproval{v, {world.environment, second}});
    world.must(CreateSkip{rule, v, world.environment});
    world.must(CreateSkip{rule, v, second});
    world.must(SetVersionDependency{v, database, "true"});
  }
  std::array<size_t, 3> said() const {
    return {world.rows.count<Approval>(), world.rows.count<PolicySkip>(),
            world.rows.count<VersionDependency>()};
  }

  World world;
  DeploymentId database;
  EnvironmentId second;
  VersionId version;
  RuleId rule;
};

TEST_F(Forget, what_was_said_of_its_versions_goes_with_a_deployment) {
  const VersionId other{world.must(CreateVersion{.deployment = database, .tag = "d1"})};
  world.must(SetApproval{other, {second}});
  say(version);
  say(publish("v2"));
  EXPECT_EQ(said(), (std::array<size_t, 3>{5, 4, 2}));
  world.must(DeleteDeployment{world.deployment});
  EXPECT_EQ(said(), (std::array<size_t, 3>{1, 0, 0})) << "in one step, and only of its own versions";
  EXPECT_EQ(world.rows.count<Version>(), 1u);
}

TEST_F(Forget, what_was_said_in_it_goes_with_an_environment) {
  say(version);
  for (int n = 0; n < 90; ++n) say(publish("n" + std::to_string(n)));  // more than one unit of work looks at
  world.must(CreateSkip{rule, version});                               // everywhere
  world.must(DeleteEnvironment{second});
  world.drain();
  EXPECT_EQ(said(), (std::array<size_t, 3>{91, 92, 91}));
  world.rows.each<Approval>([&](const Approval& a) { EXPECT_EQ(a.environment, world.environment); });
  EXPECT_EQ(world.state->skips_of(world.state->versions.find(version)).size(), 2u);
  EXPECT_FALSE(has_work(*world.state));
}

TEST_F(Forget, what_was_left_of_an_environment_goes_after_a_load) {
  say(version);
  world.must(DeleteEnvironment{second});
  EXPECT_EQ(said(), (std::array<size_t, 3>{2, 2, 1})) << "not in the command itself";
  world.reload();
  world.drain();
  EXPECT_EQ(said(), (std::array<size_t, 3>{1, 1, 1}));
}

TEST_F(Forget, an_environment_made_again_at_once_keeps_what_was_said) {
  say(version);
  world.must(DeleteEnvironment{second});
  world.must(UpsertEnvironment{.id = second, .name = "second"});
  world.must(SetApproval{version, {second}});
  world.drain();
  EXPECT_EQ(said(), (std::array<size_t, 3>{2, 2, 1}));
}

TEST_F(Forget, what_ran_on_a_target_are_few_and_the_newest) {
  for (int n = 0; n < 12; ++n) {
    world.publish("n" + std::to_string(n));
    world.finish(JobStatus::kSuccessful);
  }
  const std::vector<PastVersion> past = world.target().past;
  ASSERT_EQ(past.size(), kMaxPast);
  EXPECT_EQ(past.back().version, world.target().current_version);
}

TEST_F(Forget, ends_of_a_target_are_few_and_each_is_there_once) {
  for (int n = 0; n < 12; ++n) {
    world.publish("n" + std::to_string(n));
    world.finish(n % 2 ? JobStatus::kSkipped : JobStatus::kFailure);
  }
  std::vector<Ending> endings = world.target().endings;
  ASSERT_EQ(endings.size(), kMaxEndings);
  EXPECT_EQ(endings.back().version, world.target().last_version);
  EXPECT_EQ(endings.back().status, JobStatus::kSkipped);
  EXPECT_EQ(endings.back().first_at, world.now);
  world.now = world.now + seconds(5);
  world.must(RedeployTarget{world.key()});
  world.finish(JobStatus::kSkipped);
  EXPECT_EQ(world.target().endings, endings) << "the first of its kind counts";
  world.must(RedeployTarget{world.key()});
  world.finish(JobStatus::kCancelled);
  EXPECT_EQ(world.target().endings.back(),
            (Ending{endings.back().version, JobStatus::kCancelled, world.now}));
  endings = world.target().endings;
  world.reload();
  EXPECT_EQ(world.target().endings, endings);
}

TEST_F(Forget, what_the_engine_cancelled_is_no_end) {
  world.publish("v2");
  world.publish("v3");  // supersedes what waits
  EXPECT_TRUE(world.target().endings.empty());
  world.finish(JobStatus::kSuccessful);
  EXPECT_TRUE(world.target().endings.empty());
}

TEST_F(Forget, versions_that_were_rolled_back_do_not_pile_up) {
  add_policy("rollback", "{}");
  world.publish("good");
  world.finish(JobStatus::kSuccessful);
  for (size_t n = 0; n < kHotVersions + 30; ++n) {
    world.now = world.now + seconds(2);  // over the cooldown
    world.publish("n" + std::to_string(n));
    world.pass(seconds(2));
    world.finish(JobStatus::kFailure);
    ASSERT_EQ(world.target().denied.back(), *world.target().last_version) << n;
    world.finish(JobStatus::kSuccessful);  // back to the good one
    ASSERT_LE(world.target().denied.size(), 2u) << n;
  }
  EXPECT_LT(world.state->versions.size(), kHotVersions + 15);
  // Long after something newer has taken its place it is not known any more.
  for (size_t n = 0; n <= kHotVersions; ++n) publish("b" + std::to_string(n));
  world.publish("better");
  world.pass(seconds(2));
  world.finish(JobStatus::kSuccessful);
  EXPECT_TRUE(world.target().denied.empty());
}

TEST_F(Forget, the_status_of_a_version_that_left_memory_can_be_changed) {
  const Version row = world.state->versions[world.state->versions.find(version)].row;
  for (size_t n = 0; n < kHotVersions; ++n) publish("n" + std::to_string(n));
  ASSERT_FALSE(world.state->versions.find(version));
  EXPECT_EQ(world.run(SetVersionStatus{version, VersionStatus::kRejected, "why"}).error().code,
            ErrorCode::kNotFound)
      << "without its row";
  world.must(SetVersionStatus{version, VersionStatus::kRejected, "why", row});
  EXPECT_FALSE(world.state->versions.find(version)) << "it stays where it is";
  Version changed = row;
  changed.status = VersionStatus::kRejected;
  changed.message = "why";
  changed.retired = true;
  world.rows.each<Version>([&](const Version& v) {
    if (v.id == version) {
      EXPECT_EQ(v, changed);
    }
  });
  world.must(DeleteDeployment{world.deployment});
  EXPECT_EQ(world.run(SetVersionStatus{version, VersionStatus::kReady, "", changed}).error().code,
            ErrorCode::kNotFound);
}

// The slot of a version that has left memory is used again; what was worked out for it is not.
TEST(ForgetContext, an_agent_is_told_the_version_of_its_job_however_many_there_have_been) {
  World world;
  world.one_target();
  for (size_t i = 0; i < 2 * kHotVersions + 10; ++i) {
    const std::string tag = fmt::format("v{}", i);
    world.publish(tag);
    const Job job = world.stored_job(world.finish(JobStatus::kSuccessful));
    std::string body;
    world.rows.each<ContextPart>([&](const ContextPart& p) {
      if (p.digest == job.shared_part) body = p.body;
    });
    ASSERT_NE(body.find(fmt::format(R"("tag":"{}")", tag)), std::string::npos) << tag << ": " << body;
  }
}

}  // namespace
}  // namespace ctrlplane
