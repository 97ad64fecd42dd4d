#include "policy/rollout_rank.h"

#include <gtest/gtest.h>

namespace ctrlplane::policy {
namespace {

template <class IdType>
IdType id(std::string_view text) {
  return IdType{Uuid::parse(text).value()};
}

TEST(RolloutHash, is_fnv_1a_of_key_and_version_as_text) {
  TargetKey key{id<ResourceId>("11111111-1111-4111-8111-111111111111"),
                id<EnvironmentId>("22222222-2222-4222-8222-222222222222"),
                id<DeploymentId>("33333333-3333-4333-8333-333333333333")};
  EXPECT_EQ(rollout_hash(key, id<VersionId>("44444444-4444-4444-8444-444444444444")),
            14985435082861652387ull);
}

TEST(RolloutOffset, linear_is_the_position_times_the_interval) {
  EXPECT_EQ(linear_offset({0, 5}, seconds(60)), seconds(0));
  EXPECT_EQ(linear_offset({4, 5}, seconds(60)), seconds(240));
  EXPECT_EQ(linear_offset({4, 5}, seconds(0)), seconds(0));
}

TEST(RolloutOffset, normalized_is_cut_to_whole_seconds) {
  struct {
    size_t position, of;
    int64_t interval, offset;
  } rows[] = {{0, 3, 60, 0},   {1, 3, 60, 20},   {2, 3, 60, 40}, {1, 7, 100, 14},
              {6, 7, 100, 85}, {4, 5, 600, 480}, {3, 10, 7, 2},  {0, 1, 60, 0}};
  for (const auto& r : rows)
    EXPECT_EQ(normalized_offset({r.position, r.of}, seconds(r.interval)), seconds(r.offset))
        << r.position << "/" << r.of;
}

TEST(RolloutOffset, a_year_among_a_million_targets_does_not_overflow) {
  const Duration year = hours(24 * 366);
  EXPECT_EQ(normalized_offset({999'999, 1'000'000}, year), seconds(366ll * 86400 * 999'999 / 1'000'000));
}

}  // namespace
}  // namespace ctrlplane::policy
