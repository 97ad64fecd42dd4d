#include "base/time.h"

#include <gtest/gtest.h>

namespace ctrlplane {
namespace {

TEST(Rfc3339, round_trips_with_the_digits_the_value_needs) {
  for (const char* text : {"1970-01-01T00:00:00Z", "2026-11-15T07:40:18.123Z", "2026-11-15T07:40:18.123456Z",
                           "1969-12-31T23:59:59.999999Z", "2000-02-29T12:00:00Z"}) {
    ASSERT_TRUE(parse_rfc3339(text)) << text;
    EXPECT_EQ(format_rfc3339(*parse_rfc3339(text)), text);
  }
}

TEST(Rfc3339, writes_every_digit_of_any_year) {
  EXPECT_EQ(format_rfc3339(*parse_rfc3339("0001-02-03T04:05:06.000007Z")), "0001-02-03T04:05:06.000007Z");
  EXPECT_EQ(format_rfc3339(*parse_rfc3339("9999-12-31T23:59:59.010Z")), "9999-12-31T23:59:59.010Z");
  EXPECT_EQ(format_rfc3339(*parse_rfc3339("9999-12-31T23:59:59Z") + seconds(1)), "10000-01-01T00:00:00Z");
}

TEST(Rfc3339, applies_the_offset) {
  EXPECT_EQ(format_rfc3339(*parse_rfc3339("2026-11-15T09:40:00+02:00")), "2026-11-15T07:40:00Z");
  EXPECT_EQ(format_rfc3339(*parse_rfc3339("2026-11-14T22:10:00-09:30")), "2026-11-15T07:40:00Z");
}

TEST(Rfc3339, refuses_what_is_not_an_instant) {
  for (const char* text :
       {"", "2026-11-15", "2026-11-15T07:40:18", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
        "2026-11-15T24:00:00Z", "2026-11-15T07:40:18.Z", "2026-11-15T07:40:18Zx", "2026-11-15T07:40:18+2:00"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

}  // namespace
TEST(IsoDuration, comes_back_as_it_went) {
  for (std::string_view text : {"PT4H", "P1DT30M", "PT90S", "P2W", "PT1H1M1S", "PT0.5S", "PT0S"}) {
    auto d = parse_iso8601_duration(text);
    ASSERT_TRUE(d) << text;
    EXPECT_EQ(parse_iso8601_duration(format_iso8601(*d)), d) << text;
  }
  EXPECT_EQ(format_iso8601(hours(4)), "PT4H");
  EXPECT_EQ(format_iso8601(hours(25)), "P1DT1H");
}

TEST(IsoDuration, refuses_what_is_none) {
  for (std::string_view text : {"", "P", "PT", "4h", "P1M", "P1Y", "PT1D", "P1H", "PT1M1H", "PT1", "P-1D",
                                "PT99999999999999999999S", "PT1.S", "PTT1S", "PT1.5H", "PT 1S"})
    EXPECT_FALSE(parse_iso8601_duration(text)) << text;
}

}  // namespace ctrlplane
