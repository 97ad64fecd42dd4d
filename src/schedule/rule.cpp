#include "schedule/rule.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <span>

#include <fmt/core.h>

#include "base/text.h"

namespace ctrlplane::schedule {
namespace {

constexpr size_t kMaxText = 4096;
constexpr int64_t kMaxInterval = 1'000'000'000;
constexpr int64_t kMaxCount = 100'000;
constexpr std::string_view kWeekdays[] = {"MO", "TU", "WE", "TH", "FR", "SA", "SU"};
constexpr std::string_view kFrequencies[] = {"SECONDLY", "MINUTELY", "HOURLY", "DAILY",
                                             "WEEKLY",   "MONTHLY",  "YEARLY"};

auto refuse(std::string message) { return invalid("rrule", std::move(message)); }

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// What a message shows of a text that may be long.
std::string shown(std::string_view text) {
  return text.size() <= 40 ? fmt::format("\"{}\"", text) : fmt::format("\"{}…\"", text.substr(0, 40));
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  for (;;) {
    size_t end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::optional<int64_t> to_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::optional<int> to_weekday(std::string_view text) {
  auto found = std::ranges::find(kWeekdays, text);
  if (found == std::end(kWeekdays)) return std::nullopt;
  return static_cast<int>(found - std::begin(kWeekdays));
}

// YYYYMMDD or YYYYMMDDTHHMMSS, the latter also with Z.
Result<DateTime> read_date_time(std::string_view name, std::string_view text) {
  auto wrong = [&] {
    return refuse(fmt::format("{} is {}, which is no date-time like 20250131T090000Z", name, shown(text)));
  };
  auto digits = [&](size_t at, size_t n) -> int {
    int v = 0;
    for (char c : text.substr(at, n)) {
      if (c < '0' || c > '9') return -1;
      v = v * 10 + (c - '0');
    }
    return v;
  };
  bool utc = text.size() == 16 && text[15] == 'Z';
  bool date_only = text.size() == 8;
  if (!date_only && !utc && text.size() != 15) return wrong();
  int year = digits(0, 4), month = digits(4, 2), day = digits(6, 2);
  if (year < 1 || month < 0 || day < 0) return wrong();
  std::chrono::year_month_day ymd{std::chrono::year{year}, std::chrono::month(unsigned(month)),
                                  std::chrono::day(unsigned(day))};
  if (!ymd.ok()) return wrong();
  DateTime out{day_number(year, month, day) * kDay, utc, date_only};
  if (date_only) return out;
  int hour = digits(9, 2), minute = digits(11, 2), second = digits(13, 2);
  if (text[8] != 'T' || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
    return wrong();
  out.wall += hour * kHour + minute * kMinute + second;
  return out;
}

// Reads the parts of one rule in any order, then looks at them together.
class PartReader {
 public:
  explicit PartReader(RuleText& out) : out_(out), rule_(out.rule) {}

  Status read(std::string_view text) {
    for (std::string_view part : split(text, ';')) {
      part = trim(part);
      if (part.empty()) continue;  // a closing semicolon is common
      size_t equals = part.find('=');
      if (equals == std::string_view::npos)
        return refuse(fmt::format("{} is no part of a rule: a part is NAME=VALUE", shown(part)));
      std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
      if (std::ranges::find(seen_, name) != seen_.end())
        return refuse(fmt::format("{} is given twice", shown(name)));
      if (value.empty()) return refuse(fmt::format("{} has no value", shown(name)));
      seen_.push_back(name);
      TRY(read_part(name, value));
    }
    return check_together();
  }

 private:
  Status read_part(std::string_view name, std::string_view value) {
    DayParts& d = rule_.days;
    if (name == "FREQ") return read_frequency(value);
    if (name == "INTERVAL") return read_number(name, value, kMaxInterval, rule_.interval);
    if (name == "COUNT") return read_number(name, value, kMaxCount, rule_.count.emplace());
    if (name == "UNTIL") return read_until(value);
    if (name == "DTSTART") return read_start(value);
    if (name == "WKST") return read_week_start(value);
    if (name == "BYDAY") return read_weekdays(value);
    if (name == "BYSECOND") return read_set(name, value, 0, 59, rule_.times.seconds);
    if (name == "BYMINUTE") return read_set(name, value, 0, 59, rule_.times.minutes);
    if (name == "BYHOUR") return read_set(name, value, 0, 23, rule_.times.hours);
    if (name == "BYMONTH") return read_set(name, value, 1, 12, d.months);
    if (name == "BYMONTHDAY") return read_signed_set(name, value, 31, d.month_days, d.month_days_from_end);
    if (name == "BYYEARDAY") return read_signed_set(name, value, 366, d.year_days, d.year_days_from_end);
    if (name == "BYWEEKNO") return read_signed_set(name, value, 53, d.weeks, d.weeks_from_end);
    if (name == "BYSETPOS")
      return read_list(name, value, -366, 366, [&](int n) { rule_.positions.push_back(n); });
    return refuse(
        fmt::format("{} is no part that is understood; RFC 5545 section 3.3.10 names them", shown(name)));
  }

  Status read_frequency(std::string_view value) {
    auto found = std::ranges::find(kFrequencies, value);
    if (found == std::end(kFrequencies))
      return refuse(
          fmt::format("FREQ is {}; it can be SECONDLY, MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY or "
                      "YEARLY",
                      shown(value)));
    rule_.frequency = static_cast<Frequency>(found - std::begin(kFrequencies));
    has_frequency_ = true;
    return {};
  }

  Status read_number(std::string_view name, std::string_view value, int64_t most, int64_t& out) {
    auto n = to_number(value);
    if (!n || *n < 1 || *n > most)
      return refuse(fmt::format("{} is {}; it can be 1 to {}", name, shown(value), most));
    out = *n;
    return {};
  }

  Status read_until(std::string_view value) {
    DateTime until = TRY(read_date_time("UNTIL", value));
    if (until.date_only) until.wall += kDay - 1;
    rule_.until = until;
    return {};
  }

  Status read_start(std::string_view value) {
    if (out_.start) return refuse("DTSTART is given twice");
    out_.start = TRY(read_date_time("DTSTART", value));
    return {};
  }

  Status read_week_start(std::string_view value) {
    auto day = to_weekday(value);
    if (!day) return refuse(fmt::format("WKST is {}; it can be MO, TU, WE, TH, FR, SA or SU", shown(value)));
    rule_.days.week_start = *day;
    return {};
  }

  Status read_weekdays(std::string_view value) {
    DayParts& d = rule_.days;
    for (std::string_view item : split(value, ',')) {
      auto day = item.size() < 2 ? std::nullopt : to_weekday(item.substr(item.size() - 2));
      std::string_view count = day ? item.substr(0, item.size() - 2) : item;
      auto n = count.empty() ? std::optional<int64_t>(0) : to_number(count);
      if (!day || !n || (*n == 0 && !count.empty()) || *n < -53 || *n > 53)
        return refuse(
            fmt::format("BYDAY has {}; it takes days like MO, 1MO (the first Monday) or -1FR (the "
                        "last Friday)",
                        shown(item)));
      if (*n == 0)
        d.weekdays |= 1u << *day;
      else
        (*n > 0 ? d.nth_weekdays : d.nth_weekdays_from_end)[*day] |= uint64_t{1} << std::abs(*n);
      d.has_nth = d.has_nth || *n != 0;
    }
    return {};
  }

  template <class F>
  Status read_list(std::string_view name, std::string_view value, int least, int most, F&& take) {
    for (std::string_view item : split(value, ',')) {
      auto n = to_number(item);
      if (!n || *n < least || *n > most || (least < 0 && *n == 0))
        return refuse(fmt::format("{} has {}; it takes {} to {}{}", name, shown(item), least < 0 ? 1 : least,
                                  most, least < 0 ? fmt::format(" and -1 to {}", least) : ""));
      take(static_cast<int>(*n));
    }
    return {};
  }

  template <class Set>
  static void put(Set& set, int n) {
    if constexpr (requires { set.set(0); })
      set.set(n);
    else
      set |= Set{1} << n;
  }

  template <class Set>
  Status read_set(std::string_view name, std::string_view value, int least, int most, Set& set) {
    return read_list(name, value, least, most, [&](int n) { put(set, n); });
  }

  template <class Set>
  Status read_signed_set(std::string_view name, std::string_view value, int most, Set& set, Set& from_end) {
    return read_list(name, value, -most, most, [&](int n) { n > 0 ? put(set, n) : put(from_end, -n); });
  }

  Status check_together() {
    const DayParts& d = rule_.days;
    const TimeParts& t = rule_.times;
    Frequency f = rule_.frequency;
    if (!has_frequency_) return refuse("FREQ is missing, e.g. FREQ=DAILY");
    if (rule_.count && rule_.until) return refuse("COUNT and UNTIL exclude each other");
    if (d.has_nth && f != Frequency::kMonthly && f != Frequency::kYearly)
      return refuse("BYDAY with a number, like 1MO, needs FREQ=MONTHLY or FREQ=YEARLY");
    if (d.has_nth && d.has_weeks()) return refuse("BYDAY with a number, like 1MO, excludes BYWEEKNO");
    if (d.has_weeks() && f != Frequency::kYearly) return refuse("BYWEEKNO needs FREQ=YEARLY");
    if (d.has_month_days() && f == Frequency::kWeekly) return refuse("BYMONTHDAY excludes FREQ=WEEKLY");
    if (d.has_year_days() && (f == Frequency::kDaily || f == Frequency::kWeekly || f == Frequency::kMonthly))
      return refuse("BYYEARDAY excludes FREQ=DAILY, WEEKLY and MONTHLY");
    bool by_day = d.months || d.has_month_days() || d.has_year_days() || d.has_weeks() || d.has_weekdays();
    if (!rule_.positions.empty() && !by_day && !t.hours && !t.minutes && !t.seconds)
      return refuse("BYSETPOS needs another BY part to choose from");
    rule_.days.nth_in_month = f == Frequency::kMonthly || d.months != 0;
    return {};
  }

  RuleText& out_;
  Rule& rule_;
  bool has_frequency_ = false;
  std::vector<std::string_view> seen_;
};

// `DTSTART[;TZID=zone][;VALUE=...]:date-time`
Status read_start_line(std::string_view line, RuleText& out) {
  if (out.start) return refuse("DTSTART is given twice");
  size_t colon = line.find(':');
  if (colon == std::string_view::npos)
    return refuse("DTSTART lacks its colon, e.g. DTSTART:20250131T090000Z");
  std::string value = upper(trim(line.substr(colon + 1)));
  auto parameters = split(line.substr(0, colon), ';');
  bool wants_date = false;
  for (std::string_view parameter : std::span(parameters).subspan(1)) {
    std::string name = upper(parameter.substr(0, parameter.find('=')));
    if (name == "TZID" && parameter.size() > 5 && out.zone.empty()) {
      out.zone = parameter.substr(5);
    } else if (upper(parameter) == "VALUE=DATE") {
      wants_date = true;
    } else if (upper(parameter) != "VALUE=DATE-TIME") {
      return refuse(fmt::format("DTSTART has {}; it takes TZID=zone", shown(parameter)));
    }
  }
  out.start = TRY(read_date_time("DTSTART", value));
  if (wants_date && !out.start->date_only) return refuse("DTSTART says VALUE=DATE and has a time");
  if (out.start->utc && !out.zone.empty()) return refuse("DTSTART has a TZID and a Z; one of them too many");
  return {};
}

bool is_property(std::string_view line, std::string_view name) {
  return line.size() > name.size() && upper(line.substr(0, name.size())) == name &&
         (line[name.size()] == ':' || line[name.size()] == ';');
}

}  // namespace

Result<RuleText> parse_rule_text(std::string_view text) {
  if (text.size() > kMaxText) return refuse(fmt::format("the rule has over {} characters", kMaxText));
  if (!is_storable_text(text)) return refuse("the rule is no valid text");
  RuleText out;
  std::optional<std::string> parts;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.empty()) continue;
    if (is_property(line, "DTSTART")) {
      TRY(read_start_line(line, out));
      continue;
    }
    if (is_property(line, "RRULE") && line[5] == ':') {
      line = trim(line.substr(6));
    } else if (line.find(':') != std::string_view::npos) {
      return refuse(fmt::format("{}: only DTSTART and RRULE are understood", shown(line)));
    }
    if (parts) return refuse("more than one rule; use one policy rule for each");
    parts = upper(line);
  }
  if (!parts) return refuse("the rule is empty; give one like FREQ=WEEKLY;BYDAY=MO,TU;BYHOUR=9;BYMINUTE=0");
  TRY(PartReader(out).read(*parts));
  return out;
}

void fill_from_start(Rule& rule, Wall start, bool implied) {
  Date date(floor_div(start, kDay));
  int64_t second = floor_mod(start, kDay);
  DayParts& d = rule.days;
  if (!d.has_weeks() && !d.has_year_days() && !d.has_month_days() && !d.has_weekdays()) {
    if (rule.frequency == Frequency::kYearly && d.months == 0) d.months = 1u << date.month;
    if (rule.frequency >= Frequency::kMonthly) d.month_days = 1u << date.month_day;
    if (rule.frequency == Frequency::kWeekly) d.weekdays = 1u << date.weekday();
  }
  TimeParts& t = rule.times;
  bool zero_minute = implied && t.hours != 0, zero_second = implied && (t.hours != 0 || t.minutes != 0);
  constexpr uint64_t kSixty = (uint64_t{1} << 60) - 1;
  auto fill = [&](auto& set, Frequency unit, uint64_t all, int64_t value) {
    using Set = std::remove_reference_t<decltype(set)>;
    if (set == 0) set = static_cast<Set>(rule.frequency <= unit ? all : uint64_t{1} << value);
  };
  fill(t.seconds, Frequency::kSecondly, kSixty, zero_second ? 0 : second % 60);
  fill(t.minutes, Frequency::kMinutely, kSixty, zero_minute ? 0 : second / kMinute % 60);
  fill(t.hours, Frequency::kHourly, (1u << 24) - 1, second / kHour);
}

}  // namespace ctrlplane::schedule
