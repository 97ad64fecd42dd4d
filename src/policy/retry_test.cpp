#include <gtest/gtest.h>

#include "policy/rule.h"

namespace ctrlplane::policy {
namespace {

TEST(RetryTerms, without_a_backoff_nothing_waits) { EXPECT_EQ(RetryTerms{}.wait_before(3), Duration{}); }

TEST(RetryTerms, a_linear_backoff_is_the_same_each_time) {
  RetryTerms terms{.backoff = seconds(30)};
  EXPECT_EQ(terms.wait_before(1), seconds(30));
  EXPECT_EQ(terms.wait_before(9), seconds(30));
}

TEST(RetryTerms, an_exponential_backoff_doubles) {
  RetryTerms terms{.backoff = seconds(10), .exponential = true};
  EXPECT_EQ(terms.wait_before(1), seconds(10));
  EXPECT_EQ(terms.wait_before(2), seconds(20));
  EXPECT_EQ(terms.wait_before(5), seconds(160));
}

TEST(RetryTerms, a_cap_is_never_passed) {
  RetryTerms terms{.backoff = seconds(10), .exponential = true, .max_backoff = seconds(25)};
  EXPECT_EQ(terms.wait_before(2), seconds(20));
  EXPECT_EQ(terms.wait_before(3), seconds(25));
  terms.exponential = false;
  terms.max_backoff = seconds(5);
  EXPECT_EQ(terms.wait_before(1), seconds(5));
}

TEST(RetryTerms, many_doublings_end_at_a_year) {
  RetryTerms terms{.backoff = hours(1), .exponential = true};
  EXPECT_EQ(terms.wait_before(1000), hours(24 * 366));
  terms.backoff = hours(24 * 366);
  EXPECT_EQ(terms.wait_before(1000), hours(24 * 366));
}

}  // namespace
}  // namespace ctrlplane::policy
