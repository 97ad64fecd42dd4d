#include "schedule/rule.h"

#include <limits>

#include <gtest/gtest.h>

#include "schedule/recurrence.h"

namespace ctrlplane::schedule {
namespace {

// The path and message with which a rule is refused; empty if it is not.
ErrorDetail refusal(const Recurrence::Options& options) {
  auto made = Recurrence::make(options);
  if (made) return {};
  EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(made.error().details.size(), 1u);
  return made.error().details.empty() ? ErrorDetail{"", "no detail"} : made.error().details[0];
}

ErrorDetail refusal(std::string rrule) {
  return refusal({std::move(rrule), hours(1), "UTC", *parse_rfc3339("2025-01-01T00:00:00Z")});
}

TEST(Rule, refuses_what_is_no_rule) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "the rule is empty"},
      {" \n ", "the rule is empty"},
      {"daily", "a part is NAME=VALUE"},
      {"BYHOUR=9", "FREQ is missing"},
      {"FREQ=", "\"FREQ\" has no value"},
      {"FREQ=HOURLY;FREQ=DAILY", "\"FREQ\" is given twice"},
      {"FREQ=FORTNIGHTLY", "FREQ is \"FORTNIGHTLY\""},
      {"FREQ=DAILY;BYEASTER=1", "\"BYEASTER\" is no part that is understood"},
      {"FREQ=DAILY;RSCALE=CHINESE", "\"RSCALE\" is no part"},
      {"FREQ=DAILY;=3", "\"\" is no part"},
      {"FREQ=DAILY;INTERVAL=0", "INTERVAL is \"0\"; it can be 1 to"},
      {"FREQ=DAILY;INTERVAL=-1", "INTERVAL is \"-1\""},
      {"FREQ=DAILY;INTERVAL=99999999999999999999", "INTERVAL is"},
      {"FREQ=DAILY;INTERVAL=1.5", "INTERVAL is"},
      {"FREQ=DAILY;COUNT=0", "COUNT is \"0\"; it can be 1 to 100000"},
      {"FREQ=DAILY;COUNT=100001", "COUNT is"},
      {"FREQ=DAILY;COUNT=3;UNTIL=20260101T000000Z", "COUNT and UNTIL exclude each other"},
      {"FREQ=DAILY;UNTIL=tomorrow", "UNTIL is \"TOMORROW\", which is no date-time like"},
      {"FREQ=DAILY;UNTIL=20250230T000000Z", "UNTIL is"},
      {"FREQ=DAILY;UNTIL=20250130T000060Z", "UNTIL is"},
      {"FREQ=DAILY;UNTIL=20250130X000000Z", "UNTIL is"},
      {"FREQ=DAILY;BYHOUR=24", "BYHOUR has \"24\"; it takes 0 to 23"},
      {"FREQ=DAILY;BYHOUR=9,,10", "BYHOUR has \"\""},
      {"FREQ=DAILY;BYMINUTE=60", "BYMINUTE has"},
      {"FREQ=DAILY;BYSECOND=60", "BYSECOND has"},
      {"FREQ=DAILY;BYHOUR=+-9", "BYHOUR has"},
      {"FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY has \"0\"; it takes 1 to 31 and -1 to -31"},
      {"FREQ=MONTHLY;BYMONTHDAY=32", "BYMONTHDAY has"},
      {"FREQ=YEARLY;BYMONTH=13", "BYMONTH has \"13\"; it takes 1 to 12"},
      {"FREQ=YEARLY;BYYEARDAY=-367", "BYYEARDAY has"},
      {"FREQ=YEARLY;BYWEEKNO=54", "BYWEEKNO has"},
      {"FREQ=WEEKLY;BYDAY=MON", "BYDAY has \"MON\"; it takes days like MO"},
      {"FREQ=WEEKLY;BYDAY=M", "BYDAY has"},
      {"FREQ=MONTHLY;BYDAY=0MO", "BYDAY has"},
      {"FREQ=MONTHLY;BYDAY=54MO", "BYDAY has"},
      {"FREQ=WEEKLY;BYDAY=1MO", "needs FREQ=MONTHLY or FREQ=YEARLY"},
      {"FREQ=YEARLY;BYDAY=1MO;BYWEEKNO=3", "excludes BYWEEKNO"},
      {"FREQ=MONTHLY;BYWEEKNO=3", "BYWEEKNO needs FREQ=YEARLY"},
      {"FREQ=WEEKLY;BYMONTHDAY=3", "BYMONTHDAY excludes FREQ=WEEKLY"},
      {"FREQ=DAILY;BYYEARDAY=3", "BYYEARDAY excludes"},
      {"FREQ=WEEKLY;WKST=XX", "WKST is"},
      {"FREQ=MONTHLY;BYSETPOS=1", "BYSETPOS needs another BY part"},
      {"FREQ=MONTHLY;BYDAY=MO;BYSETPOS=0", "BYSETPOS has"},
      {"FREQ=DAILY\nFREQ=WEEKLY", "more than one rule"},
      {"FREQ=DAILY\nEXDATE:20250101T000000Z", "only DTSTART and RRULE are understood"},
      {"DTSTART:20250101T000000Z", "the rule is empty"},
      {"DTSTART:20250101T000000Z\nDTSTART:20250101T000000Z\nFREQ=DAILY", "DTSTART is given twice"},
      {"DTSTART:20250101T000000Z\nDTSTART=20250101T000000Z;FREQ=DAILY", "DTSTART is given twice"},
      {"DTSTART:2025-01-01\nFREQ=DAILY", "DTSTART is \"2025-01-01\""},
      {"DTSTART;TZID=Europe/Berlin:20250101T000000Z\nFREQ=DAILY", "a TZID and a Z"},
      {"DTSTART;TZID=:20250101T000000\nFREQ=DAILY", "it takes TZID=zone"},
      {"DTSTART;X=1:20250101T000000\nFREQ=DAILY", "it takes TZID=zone"},
      {"DTSTART;TZID=Europe/Atlantis:20250101T000000\nFREQ=DAILY", "no time zone \"Europe/Atlantis\""},
      {"DTSTART;VALUE=DATE:20250101T000000\nFREQ=DAILY", "VALUE=DATE"},
  };
  for (auto [rrule, message] : cases) {
    ErrorDetail found = refusal(rrule);
    EXPECT_EQ(found.path, "rrule") << rrule;
    EXPECT_NE(found.message.find(message), std::string::npos) << rrule << ": " << found.message;
  }
}

TEST(Rule, refuses_text_of_any_size_and_kind) {
  EXPECT_EQ(refusal(std::string(1 << 20, 'A')).path, "rrule");
  EXPECT_EQ(refusal("FREQ=DAILY;BYHOUR=" + std::string(4000, ',')).path, "rrule");
  EXPECT_EQ(refusal(std::string("FREQ=DAILY\0", 11)).path, "rrule");
  EXPECT_EQ(refusal("FREQ=DAILY;\xff\xfe=1").path, "rrule");
  EXPECT_LT(refusal("FREQ=" + std::string(4000, 'X')).message.size(), 300u);
}

TEST(Rule, refuses_one_that_never_comes_true) {
  for (const char* rrule :
       {"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=SECONDLY;INTERVAL=60;BYSECOND=5", "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
        "FREQ=DAILY;BYHOUR=9;BYSETPOS=2", "FREQ=MINUTELY;BYHOUR=9;BYSETPOS=3", "FREQ=MONTHLY;BYDAY=6MO",
        "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6", "FREQ=YEARLY;INTERVAL=1000000000;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=DAILY;COUNT=5;BYMONTH=4;BYMONTHDAY=31"}) {
    ErrorDetail found = refusal(rrule);
    EXPECT_EQ(found.path, "rrule") << rrule;
    EXPECT_NE(found.message.find("no day and time fits all parts within 100 years of 2025-01-01T00:00:00Z"),
              std::string::npos)
        << rrule << ": " << found.message;
  }
  EXPECT_NE(refusal("FREQ=DAILY;UNTIL=20241231T235959Z").message.find("UNTIL is before the rule begins"),
            std::string::npos);
  EXPECT_NE(
      refusal("FREQ=MONTHLY;BYMONTHDAY=9;UNTIL=20250108").message.find("before the first time that fits"),
      std::string::npos);
}

TEST(Rule, refuses_zones_that_do_not_exist) {
  for (const char* zone :
       {"", "Mars/Olympus", "europe/berlin", "/etc/passwd", "../../etc/localtime", "localtime",
        "right/Europe/Berlin", "libc:localtime", "+02:00", "Europe", "Europe/Berlin "}) {
    ErrorDetail found = refusal({"FREQ=DAILY", hours(1), zone, Time{}});
    EXPECT_EQ(found.path, "timezone") << zone;
    EXPECT_NE(found.message.find("use an IANA name"), std::string::npos) << zone;
  }
  EXPECT_EQ(refusal({"FREQ=DAILY", hours(1), std::string("Europe/Berlin\0", 14), Time{}}).path, "timezone");
}

TEST(Rule, refuses_two_zones) {
  const std::string berlin = "DTSTART;TZID=Europe/Berlin:20250101T000000\nFREQ=DAILY";
  EXPECT_EQ(refusal({berlin, hours(1), "Europe/Paris", Time{}}).path, "timezone");
  EXPECT_EQ(refusal({berlin, hours(1), "Europe/Berlin", Time{}}).path, "");
}

TEST(Rule, refuses_durations_out_of_bounds) {
  for (Duration d : {Duration{}, minutes(-1), Duration{std::numeric_limits<int64_t>::min()}})
    EXPECT_NE(refusal({"FREQ=DAILY", d, "UTC", Time{}}).message.find("more than 0"), std::string::npos);
  for (Duration d : {hours(24 * 3660) + microseconds(1), Duration{std::numeric_limits<int64_t>::max()}})
    EXPECT_NE(refusal({"FREQ=DAILY", d, "UTC", Time{}}).message.find("at most 5270400"), std::string::npos);
}

TEST(Rule, takes_any_anchor) {
  for (Time anchor : {Time{std::numeric_limits<int64_t>::min()}, Time::never()})
    for (const char* zone : {"UTC", "Pacific/Kiritimati", "America/New_York"})
      Recurrence::make({"FREQ=DAILY;INTERVAL=3", hours(1), zone, anchor});
}

}  // namespace
}  // namespace ctrlplane::schedule
