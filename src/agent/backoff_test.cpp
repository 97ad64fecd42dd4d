#include "agent/backoff.h"

#include <gtest/gtest.h>

namespace ctrlplane::agent {
namespace {

TEST(Backoff, doubles_up_to_its_longest_and_starts_over_after_a_reset) {
  Backoff backoff(seconds(1), seconds(15));
  for (int64_t expected : {1, 2, 4, 8, 15, 15}) EXPECT_EQ(backoff.next(0), seconds(expected));
  backoff.reset();
  EXPECT_EQ(backoff.next(0), seconds(1));
}

TEST(Backoff, chance_takes_off_up_to_half) {
  Backoff backoff(seconds(4), seconds(4));
  EXPECT_EQ(backoff.next(1), seconds(2));
  EXPECT_EQ(backoff.next(0.5), seconds(3));
}

}  // namespace
}  // namespace ctrlplane::agent
