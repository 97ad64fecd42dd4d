#include "base/histogram.h"

#include <gtest/gtest.h>

namespace ctrlplane {
namespace {

TEST(Histogram, quantiles_are_within_a_bucket_of_the_truth) {
  Histogram h;
  for (int i = 1; i <= 100000; ++i) h.add(microseconds(i));
  for (double q : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    double got = static_cast<double>(h.quantile(q).us), truth = q * 100000;
    EXPECT_GE(got, truth * 0.999);
    EXPECT_LE(got, truth * 1.13);
  }
  EXPECT_EQ(h.quantile(1).us, 100000);
  EXPECT_EQ(h.count(), 100000u);
}

TEST(Histogram, takes_nothing_negative_and_huge_values) {
  Histogram h;
  EXPECT_EQ(h.quantile(0.5).us, 0);
  h.add(microseconds(-5));
  h.add(hours(24 * 365));
  EXPECT_EQ(h.max(), hours(24 * 365));
}

}  // namespace
}  // namespace ctrlplane
