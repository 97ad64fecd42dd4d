// Windows that run into each other, time inside windows, and answers that do not depend on earlier questions.
#include <algorithm>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "schedule/recurrence.h"

namespace ctrlplane::schedule {
namespace {

Time at(std::string_view text) { return parse_rfc3339(text).value(); }

Recurrence rule(std::string rrule, Duration duration, std::string zone = "UTC",
                std::string_view anchor = "2025-01-01T00:00:00Z") {
  return Recurrence::make({std::move(rrule), duration, std::move(zone), at(anchor)}).value();
}

std::string text(const std::optional<Window>& w) {
  return w ? format_rfc3339(w->start) + "/" + format_rfc3339(w->end) : "none";
}

TEST(Windows, that_overlap_are_one) {
  // 9, 10, 11 and 12, each for 90 minutes.
  Recurrence r = rule("FREQ=DAILY;BYHOUR=9,10,11,12", minutes(90));
  const char* today = "2025-01-06T09:00:00Z/2025-01-06T13:30:00Z";
  for (const char* t : {"2025-01-06T09:00:00Z", "2025-01-06T11:10:00Z", "2025-01-06T13:29:59.999999Z"})
    EXPECT_EQ(text(r.containing(at(t))), today);
  EXPECT_EQ(text(r.next_after(at("2025-01-06T08:00:00Z"))), today);
  EXPECT_EQ(text(r.next_after(at("2025-01-06T09:30:00Z"))), "2025-01-07T09:00:00Z/2025-01-07T13:30:00Z");
  EXPECT_FALSE(r.containing(at("2025-01-06T13:30:00Z")));
}

TEST(Windows, that_touch_are_one) {
  Recurrence r = rule("FREQ=MINUTELY;BYHOUR=9,10;BYDAY=MO", minutes(1));
  EXPECT_EQ(text(r.containing(at("2025-01-06T09:30:30Z"))), "2025-01-06T09:00:00Z/2025-01-06T11:00:00Z");
  Recurrence apart = rule("FREQ=MINUTELY;BYHOUR=9,10;BYDAY=MO", seconds(59));
  EXPECT_EQ(text(apart.containing(at("2025-01-06T09:30:30Z"))), "2025-01-06T09:30:00Z/2025-01-06T09:30:59Z");
}

TEST(Windows, that_never_end_are_followed_so_far_and_no_further) {
  Recurrence r = rule("FREQ=MINUTELY", minutes(2), "UTC", "2015-01-01T00:00:00Z");
  Time t = at("2025-06-01T12:00:30Z");
  EXPECT_EQ(r.containing(t), (Window{t - minutes(1200), t + minutes(1200)}));
  auto next = r.next_after(t);
  ASSERT_TRUE(next);
  EXPECT_GE(next->start, t + minutes(1200));
  EXPECT_LE(next->start, t + minutes(1201));
  // What was cut off is no gap.
  EXPECT_TRUE(r.containing(t + minutes(1200)));
}

TEST(OpenTime, counts_what_is_inside_windows) {
  Recurrence r = rule("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9", hours(8));
  EXPECT_EQ(r.open_time(at("2025-01-06T00:00:00Z"), at("2025-01-13T00:00:00Z")), hours(40));
  EXPECT_EQ(r.open_time(at("2025-01-06T16:30:00Z"), at("2025-01-07T09:15:00Z")), minutes(45));
  EXPECT_EQ(r.open_time(at("2025-01-06T10:00:00Z"), at("2025-01-06T10:00:01.5Z")), milliseconds(1500));
  EXPECT_EQ(r.open_time(at("2025-01-11T00:00:00Z"), at("2025-01-13T09:00:00Z")), Duration{});
  EXPECT_EQ(r.open_time(at("2025-01-07T00:00:00Z"), at("2025-01-06T00:00:00Z")), Duration{});
  // 2025 has 261 workdays, all of them after the anchor.
  EXPECT_EQ(r.open_time(at("1990-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z")), hours(8 * 261));
}

TEST(OpenTime, counts_overlapping_windows_once) {
  Recurrence r = rule("FREQ=DAILY;BYHOUR=9,10,11,12", minutes(90));
  EXPECT_EQ(r.open_time(at("2025-01-06T00:00:00Z"), at("2025-01-08T00:00:00Z")), minutes(2 * 270));
  EXPECT_EQ(rule("FREQ=DAILY", hours(100)).open_time(at("2025-02-01T00:00:00Z"), at("2025-03-01T00:00:00Z")),
            hours(24 * 28));
}

TEST(AfterOpenTime, stands_still_outside_windows) {
  Recurrence r = rule("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9", hours(8));
  auto after = [&](const char* from, Duration needed) {
    auto t = r.after_open_time(at(from), needed);
    return t ? format_rfc3339(*t) : "never";
  };
  EXPECT_EQ(after("2025-01-06T10:00:00Z", hours(2)), "2025-01-06T12:00:00Z");
  EXPECT_EQ(after("2025-01-06T16:00:00Z", hours(1)), "2025-01-06T17:00:00Z");
  EXPECT_EQ(after("2025-01-10T16:00:00Z", hours(1) + microseconds(1)), "2025-01-13T09:00:00.000001Z");
  EXPECT_EQ(after("2025-01-11T00:00:00Z", Duration{}), "2025-01-11T00:00:00Z");
  EXPECT_EQ(after("2025-01-06T00:00:00Z", hours(8 * 260)), "2026-01-02T17:00:00Z");
}

TEST(AfterOpenTime, may_never_come) {
  Recurrence r = rule("FREQ=DAILY;BYHOUR=9;COUNT=3", hours(1));
  EXPECT_EQ(r.after_open_time(at("2025-01-01T00:00:00Z"), hours(3)), at("2025-01-03T10:00:00Z"));
  EXPECT_FALSE(r.after_open_time(at("2025-01-01T00:00:00Z"), hours(3) + microseconds(1)));
  EXPECT_FALSE(r.after_open_time(at("2025-01-03T10:00:00Z"), microseconds(1)));
  EXPECT_FALSE(rule("FREQ=YEARLY", minutes(1)).after_open_time(at("2025-01-01T00:00:00Z"), hours(2)));
}

TEST(Windows, survive_questions_about_the_ends_of_time) {
  const Time first{std::numeric_limits<int64_t>::min()}, last = Time::never();
  for (const char* text : {"FREQ=SECONDLY", "FREQ=YEARLY;BYDAY=-1SU", "FREQ=DAILY;COUNT=2"}) {
    Recurrence r = rule(text, hours(24 * 100), "America/New_York");
    EXPECT_FALSE(r.containing(first));
    EXPECT_TRUE(r.next_after(first));
    EXPECT_FALSE(r.next_after(last));
    r.containing(last);
  }
  Recurrence ends = rule("FREQ=DAILY;COUNT=2", hours(24 * 100));
  EXPECT_EQ(ends.open_time(first, last), hours(24 * 101));
  EXPECT_EQ(ends.open_time(last, first), Duration{});
  EXPECT_FALSE(ends.after_open_time(last, hours(1)));
  EXPECT_FALSE(ends.after_open_time(first, Duration{std::numeric_limits<int64_t>::max()}));
  EXPECT_EQ(ends.after_open_time(last, Duration{}), last);
  Recurrence goes_on = rule("FREQ=YEARLY", hours(24));
  EXPECT_EQ(goes_on.open_time(first, last), hours(24 * 101));  // 2025 to 2125; further it does not look
}

// One object, asked again and again in an order of chance, against fresh ones and against windows merged from
// the plain list of starts.
struct Questioned {
  Questioned(std::string rrule, Duration length)
      : text(std::move(rrule)), duration(length), asked(fresh(length)), raw(fresh(microseconds(1))) {
    for (auto w = raw.next_after(begin); w && w->start < end; w = raw.next_after(w->start)) {
      if (!windows.empty() && w->start <= windows.back().end)
        windows.back().end = w->start + duration;
      else
        windows.push_back({w->start, w->start + duration});
    }
  }

  Recurrence fresh(Duration length) const {
    return rule(text, length, "Europe/Berlin", "2025-03-20T00:00:00Z");
  }

  void ask_windows(Time t) {
    auto inside = asked.containing(t), next = asked.next_after(t);
    EXPECT_EQ(inside, fresh(duration).containing(t)) << text;
    EXPECT_EQ(next, fresh(duration).next_after(t)) << text;
    auto expected = std::ranges::find_if(windows, [&](Window w) { return w.start <= t && t < w.end; });
    ASSERT_EQ(inside.has_value(), expected != windows.end()) << text << format_rfc3339(t);
    // Past the end of the list and of the reach there is nothing to compare with.
    Duration reach = std::min(duration * 600, duration + hours(24 * 366));
    if (!inside || expected->end >= t + reach || expected->end >= end) return;
    EXPECT_EQ(*inside, *expected) << text;
    if (++expected == windows.end()) return;
    ASSERT_TRUE(next);
    EXPECT_EQ(next->start, expected->start) << text;
  }

  void ask_open_time(Time from, Time to) {
    Duration open;
    for (Window w : windows)
      if (w.start < to && w.end > from) open = open + (std::min(w.end, to) - std::max(w.start, from));
    EXPECT_EQ(asked.open_time(from, to), open) << text << format_rfc3339(from);
    if (open == Duration{}) return;
    auto when = asked.after_open_time(from, open);
    ASSERT_TRUE(when);
    EXPECT_LE(*when, to);
    EXPECT_EQ(fresh(duration).open_time(from, *when), open);
    EXPECT_LT(fresh(duration).open_time(from, *when - microseconds(1)), open);
  }

  const Time begin = at("2025-03-19T00:00:00Z"), end = at("2025-05-01T00:00:00Z");
  std::string text;
  Duration duration;
  Recurrence asked, raw;
  std::vector<Window> windows;
};

TEST(Windows, do_not_depend_on_earlier_questions) {
  std::mt19937 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (const char* text :
       {"FREQ=DAILY;BYHOUR=1,2,3,9", "FREQ=HOURLY;INTERVAL=5", "FREQ=MINUTELY;INTERVAL=37",
        "FREQ=WEEKLY;BYDAY=SU,MO;BYHOUR=2,3", "FREQ=DAILY;COUNT=20",
        "FREQ=MONTHLY;BYDAY=SU;BYSETPOS=1,-1;BYHOUR=1,2", "FREQ=HOURLY;UNTIL=20250401T000000Z"}) {
    for (Duration d : {minutes(1), minutes(37), minutes(61), hours(5), hours(24), hours(24 * 9)}) {
      Questioned q(text, d);
      for (int i = 0; i < 20; ++i) {
        Time t = q.begin + minutes(pick(24 * 60 * 20)) + microseconds(pick(3) - 1);
        q.ask_windows(t);
        q.ask_open_time(t, t + minutes(pick(24 * 60 * 9)));
      }
    }
  }
}

}  // namespace
}  // namespace ctrlplane::schedule
