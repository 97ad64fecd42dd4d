#include <chrono>

#include <cctz/time_zone.h>

#include "cel/lib/args.h"
#include "cel/lib/library.h"
#include "cel/value/time_text.h"

namespace ctrlplane::cel {
namespace {

// Looking a zone up takes a lock, and the first time a file.
constexpr uint64_t kZoneSteps = 20;

// Names from expressions reach the file system: only what an IANA name can look like passes.
bool looks_like_zone_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name.front() == '/' || name.front() == '.') return false;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '_' && c != '/' && c != '+' && c != '-') return false;
  }
  return true;
}

// "+05:30", "-08:00", "02:00" as seconds east of UTC.
std::optional<int> fixed_offset(std::string_view s) {
  int sign = 1;
  if (s.starts_with('+') || s.starts_with('-')) {
    sign = s[0] == '-' ? -1 : 1;
    s.remove_prefix(1);
  }
  auto digit = [&](size_t i) { return s[i] >= '0' && s[i] <= '9'; };
  if (s.size() != 5 || s[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4)) return std::nullopt;
  int hours = (s[0] - '0') * 10 + (s[1] - '0'), minutes = (s[3] - '0') * 10 + (s[4] - '0');
  if (hours > 23 || minutes > 59) return std::nullopt;
  return sign * (hours * 3600 + minutes * 60);
}

// Seconds to add to UTC for the local clock at that instant.
std::optional<int> zone_offset(std::string_view zone, int64_t seconds) {
  if (zone == "UTC" || zone == "Z") return 0;
  if (auto offset = fixed_offset(zone)) return offset;
  cctz::time_zone tz;
  if (!looks_like_zone_name(zone) || !cctz::load_time_zone(std::string(zone), &tz)) return std::nullopt;
  return tz.lookup(cctz::time_point<cctz::seconds>(cctz::seconds(seconds))).offset;
}

enum class Part {
  kFullYear,
  kMonth,
  kDayOfYear,
  kDayOfMonth,
  kDate,
  kDayOfWeek,
  kHours,
  kMinutes,
  kSeconds,
  kMilliseconds,
};

int64_t part_of_time(Part part, int64_t local_seconds, uint32_t nanos) {
  using namespace std::chrono;
  int64_t day = local_seconds / 86400, rest = local_seconds % 86400;
  if (rest < 0) --day, rest += 86400;
  sys_days date{days{day}};
  year_month_day ymd{date};
  switch (part) {
    case Part::kFullYear: return static_cast<int>(ymd.year());
    case Part::kMonth: return static_cast<unsigned>(ymd.month()) - 1;
    case Part::kDayOfYear: return (date - sys_days{ymd.year() / January / 1}).count();
    case Part::kDayOfMonth: return static_cast<unsigned>(ymd.day()) - 1;
    case Part::kDate: return static_cast<unsigned>(ymd.day());
    case Part::kDayOfWeek: return weekday{date}.c_encoding();
    case Part::kHours: return rest / 3600;
    case Part::kMinutes: return rest / 60 % 60;
    case Part::kSeconds: return rest % 60;
    case Part::kMilliseconds: return nanos / 1000000;
  }
  return 0;
}

// Of a duration: the whole of it in that unit, but the milliseconds within its last second.
int64_t part_of_duration(Part part, int64_t nanos) {
  switch (part) {
    case Part::kHours: return nanos / (3600 * kNanosPerSecond);
    case Part::kMinutes: return nanos / (60 * kNanosPerSecond);
    case Part::kSeconds: return nanos / kNanosPerSecond;
    default: return nanos % kNanosPerSecond / 1000000;
  }
}

template <Part kPart>
Value part(Context& ctx, std::span<const Value> args) {
  constexpr bool kOfDuration = kPart >= Part::kHours;
  if (kOfDuration && kinds_are(args, {Kind::kDuration}))
    return Value::integer(part_of_duration(kPart, args[0].duration_nanos()));
  bool zoned = kinds_are(args, {Kind::kTimestamp, Kind::kString});
  if (!zoned && !kinds_are(args, {Kind::kTimestamp})) return ctx.no_overload("time part", args);
  int offset = 0;
  if (zoned) {
    if (!ctx.charge(kZoneSteps)) return ctx.out_of_steps();
    auto found = zone_offset(args[1].as_text(), args[0].seconds());
    if (!found) {
      return ctx.fault(Fault::kInvalidArgument,
                       "unknown time zone: " + std::string(args[1].as_text().substr(0, 64)));
    }
    offset = *found;
  }
  return Value::integer(part_of_time(kPart, args[0].seconds() + offset, args[0].nanos()));
}

constexpr std::array<std::string_view, 8> kOfTime = {"timestamp -> int", "timestamp, string -> int"};
constexpr std::array<std::string_view, 8> kOfBoth = {"timestamp -> int", "timestamp, string -> int",
                                                     "duration -> int"};

constexpr FunctionRow kRows[] = {
    {"getFullYear", Style::kMember, part<Part::kFullYear>, kOfTime},
    {"getMonth", Style::kMember, part<Part::kMonth>, kOfTime},
    {"getDayOfYear", Style::kMember, part<Part::kDayOfYear>, kOfTime},
    {"getDayOfMonth", Style::kMember, part<Part::kDayOfMonth>, kOfTime},
    {"getDate", Style::kMember, part<Part::kDate>, kOfTime},
    {"getDayOfWeek", Style::kMember, part<Part::kDayOfWeek>, kOfTime},
    {"getHours", Style::kMember, part<Part::kHours>, kOfBoth},
    {"getMinutes", Style::kMember, part<Part::kMinutes>, kOfBoth},
    {"getSeconds", Style::kMember, part<Part::kSeconds>, kOfBoth},
    {"getMilliseconds", Style::kMember, part<Part::kMilliseconds>, kOfBoth},
};

}  // namespace

std::span<const FunctionRow> time_functions() { return kRows; }

}  // namespace ctrlplane::cel
