#include "cli/duration.h"

#include <gtest/gtest.h>

namespace ctrlplane::cli {
namespace {

TEST(CliDuration, is_read_as_people_and_as_iso_8601_write_it) {
  EXPECT_EQ(parse_duration("90s"), seconds(90));
  EXPECT_EQ(parse_duration("1h30m"), minutes(90));
  EXPECT_EQ(parse_duration("2d"), hours(48));
  EXPECT_EQ(parse_duration("PT4H"), hours(4));
  EXPECT_EQ(parse_duration("P1DT2H"), hours(26));
  EXPECT_EQ(parse_duration("P2W"), hours(14 * 24));
  EXPECT_EQ(parse_duration("0s"), seconds(0));
}

TEST(CliDuration, is_nothing_else) {
  for (const char* text : {"", "5", "-5m", "m", "5x", "5m5m", "5s5m", "P", "PT", "P1M", "PT5", "pt5m", "1.5h",
                           "99999999999999999999h", "9999999d", "5 m"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(CliDuration, is_shortened_to_its_largest_unit) {
  EXPECT_EQ(short_duration(seconds(59)), "59s");
  EXPECT_EQ(short_duration(seconds(3 * 60 + 59)), "3m");
  EXPECT_EQ(short_duration(hours(47)), "47h");
  EXPECT_EQ(short_duration(hours(50)), "2d");
  EXPECT_EQ(short_duration(seconds(-5)), "0s");
}

}  // namespace
}  // namespace ctrlplane::cli
