#include "schedule/recurrence.h"

#include <gtest/gtest.h>

namespace ctrlplane::schedule {
namespace {

constexpr const char* kNewYork = "America/New_York";
constexpr const char* kBerlin = "Europe/Berlin";

Time at(std::string_view text) {
  auto t = parse_rfc3339(text);
  EXPECT_TRUE(t) << text;
  return t.value_or(Time{});
}

// The rule's creation: a Wednesday, at a time of day that no rule below names.
const char* const kAnchor = "2025-01-01T03:17:41.5Z";

Recurrence rule(std::string rrule, Duration duration, std::string zone = "UTC",
                std::string_view anchor = kAnchor) {
  auto made = Recurrence::make({std::move(rrule), duration, std::move(zone), at(anchor)});
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

std::string text(const std::optional<Window>& w) {
  return w ? format_rfc3339(w->start) + "/" + format_rfc3339(w->end) : "none";
}
std::string containing(const Recurrence& r, std::string_view t) { return text(r.containing(at(t))); }
std::string next(const Recurrence& r, std::string_view t) { return text(r.next_after(at(t))); }

// The first starts after t, in UTC, as text.
std::vector<std::string> starts(const Recurrence& r, std::string_view t, int n) {
  std::vector<std::string> out;
  Time from = at(t);
  while (static_cast<int>(out.size()) < n) {
    auto w = r.next_after(from);
    if (!w) break;
    out.push_back(format_rfc3339(w->start));
    from = w->start;
  }
  return out;
}
using Texts = std::vector<std::string>;

// 2025-01-06 is a Monday.

TEST(Recurrence, without_a_time_of_day_starts_at_the_anchors) {
  Recurrence r = rule("FREQ=DAILY", hours(1));
  EXPECT_EQ(containing(r, "2025-01-06T03:17:40Z"), "none");
  EXPECT_EQ(containing(r, "2025-01-06T04:17:40Z"), "2025-01-06T03:17:41Z/2025-01-06T04:17:41Z");
  EXPECT_EQ(next(r, "2025-01-06T09:30:17.5Z"), "2025-01-07T03:17:41Z/2025-01-07T04:17:41Z");
}

TEST(Recurrence, open_all_day_every_day_never_closes) {
  Recurrence r = rule("FREQ=DAILY", minutes(1440));
  auto w = r.containing(at("2025-01-06T09:30:17.5Z"));
  ASSERT_TRUE(w);
  EXPECT_EQ(format_rfc3339(w->start), "2025-01-01T03:17:41Z");
  EXPECT_GE(w->end, at("2026-01-06T00:00:00Z"));
  EXPECT_FALSE(r.containing(at("2025-01-01T03:17:40Z")));
}

TEST(Recurrence, a_named_hour_begins_on_the_hour_whatever_the_anchors_minute) {
  for (const char* text : {"FREQ=DAILY;BYHOUR=9;BYMINUTE=0", "FREQ=DAILY;BYHOUR=9"}) {
    Recurrence r = rule(text, minutes(480));
    const std::string today = "2025-01-06T09:00:00Z/2025-01-06T17:00:00Z";
    EXPECT_EQ(containing(r, "2025-01-06T09:30:17Z"), today);
    EXPECT_EQ(containing(r, "2025-01-06T16:59:00Z"), today);
    EXPECT_EQ(containing(r, "2025-01-06T17:00:00Z"), "none");
    EXPECT_EQ(next(r, "2025-01-06T17:00:30Z"), "2025-01-07T09:00:00Z/2025-01-07T17:00:00Z");
  }
  EXPECT_EQ(starts(rule("FREQ=HOURLY;BYMINUTE=30", minutes(1)), "2025-01-06T00:00:00Z", 1),
            Texts{"2025-01-06T00:30:00Z"});
}

TEST(Recurrence, with_a_written_start_takes_minute_and_second_from_it) {
  Recurrence r = rule("DTSTART:20250101T001518\nRRULE:FREQ=DAILY;BYHOUR=9", hours(1));
  EXPECT_EQ(starts(r, "2025-01-06T00:00:00Z", 1), Texts{"2025-01-06T09:15:18Z"});
}

TEST(Recurrence, every_second_week_is_counted_from_the_anchor) {
  Recurrence r = rule("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=9;BYMINUTE=0;BYSECOND=0", minutes(480));
  // The anchor's week begins on 30 December; its Monday is before the anchor.
  EXPECT_EQ(starts(r, "2025-01-01T00:00:00Z", 3),
            (Texts{"2025-01-13T09:00:00Z", "2025-01-27T09:00:00Z", "2025-02-10T09:00:00Z"}));
  EXPECT_EQ(containing(r, "2025-01-06T10:00:00Z"), "none");
  EXPECT_EQ(containing(r, "2025-01-13T10:00:00Z"), "2025-01-13T09:00:00Z/2025-01-13T17:00:00Z");
}

TEST(Recurrence, every_second_day_is_counted_from_the_anchor) {
  Recurrence r = rule("FREQ=DAILY;INTERVAL=2;BYHOUR=9", minutes(480));
  EXPECT_EQ(starts(r, "2025-01-05T00:00:00Z", 2), (Texts{"2025-01-05T09:00:00Z", "2025-01-07T09:00:00Z"}));
  EXPECT_EQ(containing(r, "2025-01-06T10:00:00Z"), "none");
}

TEST(Recurrence, count_is_counted_from_the_anchor) {
  Recurrence r = rule("FREQ=DAILY;COUNT=3;BYHOUR=9", minutes(480));
  EXPECT_EQ(starts(r, "2020-01-01T00:00:00Z", 9),
            (Texts{"2025-01-01T09:00:00Z", "2025-01-02T09:00:00Z", "2025-01-03T09:00:00Z"}));
  EXPECT_EQ(containing(r, "2025-01-03T10:00:00Z"), "2025-01-03T09:00:00Z/2025-01-03T17:00:00Z");
  EXPECT_EQ(containing(r, "2025-01-04T10:00:00Z"), "none");
  EXPECT_EQ(next(r, "2025-01-03T09:00:00Z"), "none");
}

TEST(Recurrence, count_spans_days_that_are_counted_whole) {
  Recurrence r = rule("FREQ=SECONDLY;COUNT=100000", microseconds(1));
  EXPECT_EQ(starts(r, "2025-01-02T07:04:19Z", 3), (Texts{"2025-01-02T07:04:20Z"}));
  EXPECT_EQ(starts(rule("FREQ=SECONDLY;COUNT=50000;INTERVAL=2", microseconds(1)), "2025-01-02T07:04:18Z", 3),
            (Texts{"2025-01-02T07:04:19Z"}));
  EXPECT_EQ(starts(rule("FREQ=HOURLY;BYHOUR=1,2,3;COUNT=7", minutes(1)), "2025-01-03T01:30:00Z", 9),
            (Texts{"2025-01-03T02:00:00Z", "2025-01-03T03:00:00Z", "2025-01-04T01:00:00Z"}));
}

TEST(Recurrence, a_start_in_utc_is_an_instant_and_the_rule_stays_in_its_zone) {
  Recurrence r =
      rule("DTSTART:20200101T000000Z\nRRULE:FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0", hours(1), kNewYork);
  EXPECT_EQ(containing(r, "2025-01-06T09:30:00Z"), "none");
  EXPECT_EQ(containing(r, "2025-01-06T14:30:00Z"), "2025-01-06T14:00:00Z/2025-01-06T15:00:00Z");
}

TEST(Recurrence, runs_in_the_wall_time_of_its_zone) {
  Recurrence r = rule("FREQ=DAILY;BYHOUR=9", hours(1), kNewYork);
  EXPECT_EQ(containing(r, "2025-01-06T14:30:00Z"), "2025-01-06T14:00:00Z/2025-01-06T15:00:00Z");
  EXPECT_EQ(containing(r, "2025-07-07T13:30:00Z"), "2025-07-07T13:00:00Z/2025-07-07T14:00:00Z");
}

TEST(Recurrence, does_not_open_before_a_start_in_the_future) {
  Recurrence r = rule("DTSTART=20300101T000000Z;FREQ=DAILY;BYHOUR=9", hours(1));
  EXPECT_EQ(containing(r, "2025-01-06T09:30:00Z"), "none");
  EXPECT_EQ(next(r, "2025-01-06T09:30:00Z"), "2030-01-01T09:00:00Z/2030-01-01T10:00:00Z");
}

TEST(Recurrence, opens_and_closes_to_the_microsecond) {
  Recurrence r = rule("FREQ=DAILY;BYHOUR=9", hours(1));
  EXPECT_EQ(containing(r, "2025-01-06T08:59:59.999999Z"), "none");
  EXPECT_EQ(containing(r, "2025-01-06T09:00:00Z"), "2025-01-06T09:00:00Z/2025-01-06T10:00:00Z");
  EXPECT_EQ(containing(r, "2025-01-06T09:59:59.999999Z"), "2025-01-06T09:00:00Z/2025-01-06T10:00:00Z");
  EXPECT_EQ(containing(r, "2025-01-06T10:00:00Z"), "none");
  EXPECT_EQ(next(r, "2025-01-06T08:59:59.999999Z"), "2025-01-06T09:00:00Z/2025-01-06T10:00:00Z");
  EXPECT_EQ(next(r, "2025-01-06T09:00:00Z"), "2025-01-07T09:00:00Z/2025-01-07T10:00:00Z");
}

TEST(Recurrence, knows_the_first_monday_and_the_last_friday) {
  Recurrence first = rule("FREQ=MONTHLY;BYDAY=1MO;BYHOUR=9", minutes(480));
  EXPECT_EQ(containing(first, "2025-01-06T10:00:00Z"), "2025-01-06T09:00:00Z/2025-01-06T17:00:00Z");
  EXPECT_EQ(next(first, "2025-01-06T10:00:00Z"), "2025-02-03T09:00:00Z/2025-02-03T17:00:00Z");
  EXPECT_EQ(starts(rule("FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9", hours(1)), "2025-01-06T00:00:00Z", 2),
            (Texts{"2025-01-31T09:00:00Z", "2025-02-28T09:00:00Z"}));
  // Days with and without a number are all in.
  EXPECT_EQ(starts(rule("FREQ=MONTHLY;BYDAY=1MO,TU;BYHOUR=9", hours(1)), "2025-01-06T00:00:00Z", 3),
            (Texts{"2025-01-06T09:00:00Z", "2025-01-07T09:00:00Z", "2025-01-14T09:00:00Z"}));
}

TEST(Recurrence, knows_last_days_of_months_and_last_workdays) {
  EXPECT_EQ(starts(rule("FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=9", hours(1)), "2028-01-01T00:00:00Z", 3),
            (Texts{"2028-01-31T09:00:00Z", "2028-02-29T09:00:00Z", "2028-03-31T09:00:00Z"}));
  EXPECT_EQ(starts(rule("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=9", hours(1)),
                   "2025-05-01T00:00:00Z", 2),
            (Texts{"2025-05-30T09:00:00Z", "2025-06-30T09:00:00Z"}));
}

TEST(Recurrence, chooses_by_position_from_the_whole_of_the_first_week) {
  // The anchor is a Wednesday: the first of Monday, Wednesday and Friday is before it.
  Recurrence r = rule("FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=1;BYHOUR=9", hours(1));
  EXPECT_EQ(starts(r, "2025-01-01T00:00:00Z", 1), Texts{"2025-01-06T09:00:00Z"});
}

TEST(Recurrence, puts_weeks_where_wkst_says) {
  const std::string fortnight =
      "DTSTART:19970805T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=";
  EXPECT_EQ(starts(rule(fortnight + "MO", hours(1)), "1997-01-01T00:00:00Z", 9),
            (Texts{"1997-08-05T09:00:00Z", "1997-08-10T09:00:00Z", "1997-08-19T09:00:00Z",
                   "1997-08-24T09:00:00Z"}));
  EXPECT_EQ(starts(rule(fortnight + "SU", hours(1)), "1997-01-01T00:00:00Z", 9),
            (Texts{"1997-08-05T09:00:00Z", "1997-08-17T09:00:00Z", "1997-08-19T09:00:00Z",
                   "1997-08-31T09:00:00Z"}));
}

TEST(Recurrence, steps_over_months_of_any_length) {
  EXPECT_EQ(starts(rule("FREQ=DAILY;BYMONTH=3,5;BYHOUR=9", hours(1)), "2025-03-31T10:00:00Z", 1),
            Texts{"2025-05-01T09:00:00Z"});
  EXPECT_EQ(starts(rule("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;BYHOUR=9", hours(1)),
                   "2025-01-01T00:00:00Z", 2),
            (Texts{"2044-02-29T09:00:00Z", "2072-02-29T09:00:00Z"}));
}

TEST(Recurrence, counts_weeks_of_the_year_from_both_ends) {
  auto days = [](const std::string& parts, std::string_view after, int n) {
    return starts(rule("FREQ=YEARLY;BYHOUR=9;" + parts, hours(1), "UTC", "2000-01-01T00:00:00Z"), after, n);
  };
  // 1 January 2021 is in week 53 of 2020; 1 January 2006, with weeks from Tuesday, in week 52 of 2005.
  EXPECT_EQ(days("BYWEEKNO=53;BYDAY=TH,FR", "2020-06-01T00:00:00Z", 3),
            (Texts{"2020-12-31T09:00:00Z", "2021-01-01T09:00:00Z", "2026-12-31T09:00:00Z"}));
  EXPECT_EQ(days("BYWEEKNO=-1;BYDAY=FR", "2020-06-01T00:00:00Z", 2),
            (Texts{"2021-01-01T09:00:00Z", "2021-12-31T09:00:00Z"}));
  EXPECT_EQ(days("BYWEEKNO=52;WKST=TU;BYMONTH=1", "2005-06-01T00:00:00Z", 2),
            (Texts{"2006-01-01T09:00:00Z", "2006-01-02T09:00:00Z"}));
  EXPECT_EQ(days("BYWEEKNO=20", "2025-01-01T00:00:00Z", 8).back(), "2026-05-11T09:00:00Z");  // all seven days
}

TEST(Recurrence, until_includes_its_own_moment) {
  auto last = [](const std::string& until, const char* zone) {
    auto all = starts(rule("FREQ=DAILY;BYHOUR=9;UNTIL=" + until, hours(1), zone), "2025-01-01T00:00:00Z", 99);
    return all.empty() ? "" : all.back();
  };
  EXPECT_EQ(last("20250110T090000Z", "UTC"), "2025-01-10T09:00:00Z");
  EXPECT_EQ(last("20250110T085959Z", "UTC"), "2025-01-09T09:00:00Z");
  EXPECT_EQ(last("20250110T140000Z", kNewYork), "2025-01-10T14:00:00Z");
  EXPECT_EQ(last("20250110T135959Z", kNewYork), "2025-01-09T14:00:00Z");
  EXPECT_EQ(last("20250110T090000", kNewYork), "2025-01-10T14:00:00Z");  // as the wall shows it
  EXPECT_EQ(last("20250110T085959", kNewYork), "2025-01-09T14:00:00Z");
  EXPECT_EQ(last("20250110", kNewYork), "2025-01-10T14:00:00Z");  // the whole day
}

TEST(Recurrence, a_window_may_outlast_the_rules_end) {
  Recurrence r = rule("FREQ=DAILY;BYHOUR=9;UNTIL=20250102T090000Z", hours(10));
  EXPECT_EQ(containing(r, "2025-01-02T18:00:00Z"), "2025-01-02T09:00:00Z/2025-01-02T19:00:00Z");
  EXPECT_EQ(containing(r, "2025-01-02T19:00:00Z"), "none");
}

TEST(Recurrence, a_duration_is_absolute_when_clocks_change_inside_it) {
  Recurrence r = rule("FREQ=DAILY;BYHOUR=1;BYMINUTE=30", minutes(120), kNewYork);
  EXPECT_EQ(containing(r, "2025-03-09T08:00:00Z"), "2025-03-09T06:30:00Z/2025-03-09T08:30:00Z");
  EXPECT_EQ(next(r, "2025-03-09T08:00:00Z"), "2025-03-10T05:30:00Z/2025-03-10T07:30:00Z");
}

TEST(Recurrence, a_start_that_the_clocks_skip_is_moved_to_the_change) {
  Recurrence york = rule("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", hours(1), kNewYork);
  EXPECT_EQ(starts(york, "2025-03-08T00:00:00Z", 3),
            (Texts{"2025-03-08T07:30:00Z", "2025-03-09T07:00:00Z", "2025-03-10T06:30:00Z"}));
  EXPECT_EQ(containing(york, "2025-03-09T07:00:00Z"), "2025-03-09T07:00:00Z/2025-03-09T08:00:00Z");
  EXPECT_EQ(containing(york, "2025-03-09T06:59:59Z"), "none");
  Recurrence berlin = rule("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", hours(1), kBerlin);
  EXPECT_EQ(starts(berlin, "2025-03-29T00:00:00Z", 3),
            (Texts{"2025-03-29T01:30:00Z", "2025-03-30T01:00:00Z", "2025-03-31T00:30:00Z"}));
}

TEST(Recurrence, starts_that_are_moved_to_the_same_moment_are_one) {
  Recurrence r = rule("FREQ=HOURLY", minutes(1), kBerlin, "2025-01-01T00:20:00Z");
  // 01:20, (02:20 becomes) 03:00, 03:20, 04:20 in Berlin.
  EXPECT_EQ(starts(r, "2025-03-30T00:00:00Z", 4), (Texts{"2025-03-30T00:20:00Z", "2025-03-30T01:00:00Z",
                                                         "2025-03-30T01:20:00Z", "2025-03-30T02:20:00Z"}));
  Recurrence minutely = rule("FREQ=MINUTELY;INTERVAL=20", minutes(1), kBerlin, "2025-01-01T00:00:00Z");
  EXPECT_EQ(starts(minutely, "2025-03-30T00:39:00Z", 3),
            (Texts{"2025-03-30T00:40:00Z", "2025-03-30T01:00:00Z", "2025-03-30T01:20:00Z"}));
}

TEST(Recurrence, a_start_that_comes_twice_is_taken_the_first_time) {
  Recurrence berlin = rule("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", minutes(20), kBerlin);
  EXPECT_EQ(starts(berlin, "2025-10-25T12:00:00Z", 2),
            (Texts{"2025-10-26T00:30:00Z", "2025-10-27T01:30:00Z"}));
  EXPECT_EQ(containing(berlin, "2025-10-26T00:40:00Z"), "2025-10-26T00:30:00Z/2025-10-26T00:50:00Z");
  EXPECT_EQ(containing(berlin, "2025-10-26T01:40:00Z"), "none");
  // Asked the second time round.
  EXPECT_EQ(starts(rule("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", minutes(20), kBerlin), "2025-10-26T01:10:00Z", 1),
            Texts{"2025-10-27T01:30:00Z"});
  Recurrence ended = rule("FREQ=DAILY;BYHOUR=2;BYMINUTE=30;UNTIL=20251026T011000Z", minutes(20), kBerlin);
  EXPECT_EQ(starts(ended, "2025-10-25T12:00:00Z", 9), Texts{"2025-10-26T00:30:00Z"});
  Recurrence york = rule("FREQ=DAILY;BYHOUR=1;BYMINUTE=30", minutes(20), kNewYork);
  EXPECT_EQ(starts(york, "2025-11-01T12:00:00Z", 2), (Texts{"2025-11-02T05:30:00Z", "2025-11-03T06:30:00Z"}));
}

TEST(Recurrence, a_window_from_before_goes_on_into_the_repeated_hour) {
  Recurrence r = rule("FREQ=DAILY;BYHOUR=1;BYMINUTE=30", hours(2), kNewYork);
  EXPECT_EQ(containing(r, "2025-11-02T06:45:00Z"), "2025-11-02T05:30:00Z/2025-11-02T07:30:00Z");
}

TEST(Recurrence, follows_half_an_hour_of_summer_time) {
  // Lord Howe: 02:00 becomes 02:30 on 2025-10-05 (+10:30 to +11), 02:00 becomes 01:30 on 2025-04-06.
  Recurrence gap = rule("FREQ=DAILY;BYHOUR=2;BYMINUTE=15", minutes(10), "Australia/Lord_Howe");
  EXPECT_EQ(starts(gap, "2025-10-03T20:00:00Z", 3),
            (Texts{"2025-10-04T15:30:00Z", "2025-10-05T15:15:00Z", "2025-10-06T15:15:00Z"}));
  Recurrence twice = rule("FREQ=DAILY;BYHOUR=1;BYMINUTE=45", minutes(10), "Australia/Lord_Howe");
  EXPECT_EQ(starts(twice, "2025-04-04T20:00:00Z", 2),
            (Texts{"2025-04-05T14:45:00Z", "2025-04-06T15:15:00Z"}));
  EXPECT_EQ(containing(twice, "2025-04-05T15:16:00Z"), "none");
}

TEST(Recurrence, a_day_that_a_zone_leaves_out_is_moved_too) {
  // Samoa went from 29 to 31 December 2011.
  Recurrence r = rule("FREQ=DAILY;BYHOUR=9", hours(1), "Pacific/Apia", "2011-01-01T00:00:00Z");
  EXPECT_EQ(starts(r, "2011-12-29T00:00:00Z", 3),
            (Texts{"2011-12-29T19:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"}));
}

TEST(Recurrence, takes_its_zone_from_the_text) {
  Recurrence r = rule("DTSTART;TZID=America/New_York:20250101T090000\nRRULE:FREQ=DAILY", hours(1));
  EXPECT_EQ(r.zone(), kNewYork);
  EXPECT_EQ(starts(r, "2025-07-01T00:00:00Z", 1), Texts{"2025-07-01T13:00:00Z"});
}

TEST(Recurrence, reads_the_text_generously) {
  for (const char* text :
       {"RRULE:FREQ=DAILY;BYHOUR=9", "rrule:freq=daily;byhour=9", " FREQ=DAILY; BYHOUR=9 ; ",
        "DTSTART:20250101\r\nRRULE:FREQ=DAILY;BYHOUR=9\r\n",
        "RRULE:FREQ=DAILY;BYHOUR=9\nDTSTART;VALUE=DATE:20250101", "FREQ=DAILY;BYHOUR=+9,9"})
    EXPECT_EQ(starts(rule(text, hours(1)), "2025-01-06T00:00:00Z", 1), Texts{"2025-01-06T09:00:00Z"}) << text;
}

}  // namespace
}  // namespace ctrlplane::schedule
