#include "agent/lease.h"

#include <gtest/gtest.h>

namespace ctrlplane::agent {
namespace {

TEST(Lease, asks_early_enough_for_the_grace_and_a_reserve) {
  LeaseEnd end = lease_end(seconds(1000), seconds(300), seconds(10));
  EXPECT_EQ(end.term_at, seconds(1275));
  EXPECT_EQ(end.kill_at, seconds(1285));
}

TEST(Lease, kills_before_the_end_whatever_the_lease_and_the_grace) {
  for (int64_t lease : {1, 2, 10, 30, 60, 300, 3600})
    for (int64_t grace : {0, 1, 10, 60, 299, 300, 100'000}) {
      LeaseEnd end = lease_end(seconds(50), seconds(lease), seconds(grace));
      EXPECT_LE(end.term_at, end.kill_at) << lease << " " << grace;
      EXPECT_LT(end.kill_at, seconds(50 + lease)) << lease << " " << grace;
      EXPECT_GT(end.term_at, seconds(50)) << lease << " " << grace;
    }
}

TEST(Lease, a_lease_that_is_shorter_than_the_reserve_is_halved) {
  LeaseEnd end = lease_end(seconds(0), seconds(20), seconds(10));
  EXPECT_EQ(end.term_at, seconds(10));
  EXPECT_EQ(end.kill_at, seconds(15));
}

}  // namespace
}  // namespace ctrlplane::agent
