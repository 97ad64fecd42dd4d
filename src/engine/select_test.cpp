#include "engine/select.h"

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::id;
using testing::World;

struct SelectVersion : ::testing::Test, World {
  SelectVersion() { one_target(); }
  void put_version(uint64_t n, Time created_at, VersionStatus status = VersionStatus::kReady) {
    Version v{.id = id<VersionId>(n), .deployment = deployment, .tag = std::to_string(n)};
    v.created_at = created_at;
    v.status = status;
    transact([&](Tx& tx) { return tx.put(v), true; });
  }
  std::optional<VersionId> desired() const { return this->target().desired_version; }
};

TEST_F(SelectVersion, takes_the_newest_by_creation_then_by_id) {
  put_version(1, now);
  put_version(9, now - seconds(1));
  put_version(3, now);
  put_version(2, now);
  drain();
  EXPECT_EQ(desired(), id<VersionId>(3));
  put_version(0, now + seconds(1));
  drain();
  EXPECT_EQ(desired(), id<VersionId>(0));
}

TEST_F(SelectVersion, takes_no_version_that_is_not_ready) {
  for (VersionStatus s : {VersionStatus::kBuilding, VersionStatus::kFailed, VersionStatus::kRejected,
                          VersionStatus::kPaused, VersionStatus::kUnspecified})
    publish(std::string(to_string(s)), s);
  EXPECT_EQ(desired(), std::nullopt);
  EXPECT_EQ(state->jobs.size(), 0u);
}

TEST_F(SelectVersion, deploys_a_build_once_it_is_ready) {
  VersionId v = publish("v1", VersionStatus::kBuilding);
  set_status(v, VersionStatus::kReady);
  ASSERT_TRUE(only_job());
  EXPECT_EQ(only_job()->version, v);
}

TEST_F(SelectVersion, keeps_a_paused_version_where_it_is_current) {
  publish("v1");
  finish(JobStatus::kSuccessful);
  VersionId v2 = publish("v2");
  finish(JobStatus::kSuccessful);
  set_status(v2, VersionStatus::kPaused);
  EXPECT_EQ(desired(), v2);
  EXPECT_EQ(state->jobs.size(), 0u);
}

TEST_F(SelectVersion, keeps_a_paused_version_where_a_job_of_it_is_active) {
  publish("v1");
  VersionId v2 = publish("v2");
  set_status(v2, VersionStatus::kPaused);
  EXPECT_EQ(desired(), v2);
  ASSERT_TRUE(only_job());
  EXPECT_EQ(only_job()->version, v2);
}

TEST_F(SelectVersion, holds_a_paused_version_that_failed_here_when_there_is_no_other) {
  VersionId v1 = publish("v1");
  finish(JobStatus::kFailure);
  set_status(v1, VersionStatus::kPaused);
  EXPECT_EQ(desired(), v1) << "a temporary no never clears the desired release";
}

TEST_F(SelectVersion, does_not_go_back_while_the_current_version_stands) {
  publish("v1");
  VersionId v2 = publish("v2");
  finish(JobStatus::kSuccessful);
  VersionId v3 = publish("v3");
  set_status(v3, VersionStatus::kRejected);
  EXPECT_EQ(desired(), v2);
  EXPECT_EQ(state->jobs.size(), 0u);
}

TEST_F(SelectVersion, falls_back_when_the_current_version_is_rejected) {
  VersionId v1 = publish("v1");
  finish(JobStatus::kSuccessful);
  VersionId v2 = publish("v2");
  finish(JobStatus::kSuccessful);
  set_status(v2, VersionStatus::kRejected);
  EXPECT_EQ(desired(), v1);
  ASSERT_TRUE(only_job());
  EXPECT_EQ(only_job()->version, v1);
  finish(JobStatus::kSuccessful);
  EXPECT_EQ(this->target().current_version, v1);
}

TEST_F(SelectVersion, desires_nothing_when_everything_was_rejected) {
  VersionId v1 = publish("v1");
  finish(JobStatus::kSuccessful);
  set_status(v1, VersionStatus::kRejected);
  EXPECT_EQ(desired(), std::nullopt);
  EXPECT_EQ(this->target().current_version, v1);
}

// A row may name a version that memory no longer has. Deciding about it must come to rest.
TEST_F(SelectVersion, comes_to_rest_on_a_target_whose_current_version_is_unknown) {
  TargetState row{.key = key()};
  row.current_release = id<ReleaseId>(5);
  row.current_version = id<VersionId>(99);
  transact([&](Tx& tx) { return tx.put(row), true; });
  drain();
  EXPECT_TRUE(plan(*state, now, state->target(key())).empty());
}

TEST(ReleaseId, differs_with_each_of_its_inputs) {
  TargetKey key{id<ResourceId>(1), id<EnvironmentId>(2), id<DeploymentId>(3)};
  ReleaseId base = release_id(key, id<VersionId>(4), Digest{});
  EXPECT_EQ(base, release_id(key, id<VersionId>(4), Digest{}));
  EXPECT_NE(base, release_id(key, id<VersionId>(5), Digest{}));
  EXPECT_NE(base, release_id(key, id<VersionId>(4), digest_of("x")));
  key.resource = id<ResourceId>(9);
  EXPECT_NE(base, release_id(key, id<VersionId>(4), Digest{}));
}

}  // namespace
}  // namespace ctrlplane
