#include "policy/open_time.h"

#include <gtest/gtest.h>

#include "policy/compiled.h"

namespace ctrlplane::policy {
namespace {

constexpr Time kMonday{1704067200ll * 1000000};  // 2024-01-01T00:00:00Z

struct OpenTime : ::testing::Test {
  std::vector<CompiledRule> kept;
  std::vector<const Rule*> windows;

  void window(std::string_view rrule, int minutes, bool allow) {
    JsonWriter w;
    w.open().member("rrule", rrule).member("durationMinutes", minutes).member("allowWindow", allow).close();
    PolicyRule row{
        .created_at = kMonday, .type = "deploymentWindow", .body = Json::parse_object(w.take()).value()};
    kept.push_back(compile_rule(row));
    ASSERT_TRUE(kept.back().rule);
    windows.push_back(kept.back().rule.get());
  }
  std::optional<Time> after(Duration from, Duration needed) {
    return after_open_time(windows, kMonday + from, needed);
  }
};

TEST_F(OpenTime, without_windows_is_time) { EXPECT_EQ(after(hours(1), hours(2)), kMonday + hours(3)); }

TEST_F(OpenTime, counts_only_inside_an_allow_window) {
  window("FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0", 120, true);
  EXPECT_EQ(after(hours(0), hours(1)), kMonday + hours(10));
  EXPECT_EQ(after(hours(10), hours(2)), kMonday + hours(24 + 10));
  EXPECT_EQ(after(hours(12), Duration{}), kMonday + hours(24 + 9)) << "no time is needed, but an open moment";
  EXPECT_EQ(after(hours(10), Duration{}), kMonday + hours(10));
}

TEST_F(OpenTime, stands_still_inside_a_closed_window) {
  window("FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0", 120, false);
  EXPECT_EQ(after(hours(8), hours(2)), kMonday + hours(12));
  EXPECT_EQ(after(hours(12), hours(22)), kMonday + hours(36));
}

TEST_F(OpenTime, needs_all_windows_open_at_once) {
  window("FREQ=DAILY;BYHOUR=8;BYMINUTE=0;BYSECOND=0", 240, true);   // 8 to 12
  window("FREQ=DAILY;BYHOUR=10;BYMINUTE=0;BYSECOND=0", 240, true);  // 10 to 14
  window("FREQ=DAILY;BYHOUR=11;BYMINUTE=0;BYSECOND=0", 30, false);  // not 11 to 11:30
  EXPECT_EQ(after(hours(0), minutes(30)), kMonday + hours(10) + minutes(30));
  EXPECT_EQ(after(hours(0), minutes(75)), kMonday + hours(11) + minutes(45));
  EXPECT_EQ(after(hours(0), minutes(100)), kMonday + hours(24 + 10) + minutes(10));
}

TEST_F(OpenTime, never_comes_when_windows_end_or_exclude_each_other) {
  window("FREQ=DAILY;COUNT=2;BYHOUR=9;BYMINUTE=0;BYSECOND=0", 60, true);
  EXPECT_EQ(after(hours(0), hours(3)), std::nullopt);
  window("FREQ=DAILY;BYHOUR=12;BYMINUTE=0;BYSECOND=0", 60, true);
  EXPECT_EQ(after(hours(0), minutes(1)), std::nullopt);
}

TEST_F(OpenTime, looks_far_ahead_through_many_small_windows) {
  window("FREQ=HOURLY", 1, true);
  EXPECT_EQ(after(hours(0), minutes(20'000)), kMonday + hours(19'999) + minutes(1));
}

}  // namespace
}  // namespace ctrlplane::policy
