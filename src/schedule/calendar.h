// Wall-clock time without a zone, and the days it falls on.
#pragma once

#include <chrono>
#include <cstdint>

namespace ctrlplane::schedule {

// Seconds from 1970-01-01 00:00:00 to what a clock on the wall shows.
using Wall = int64_t;

inline constexpr int64_t kMinute = 60, kHour = 3600, kDay = 86400;

constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
constexpr int64_t floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

// The number of a day, counted from 1970-01-01.
constexpr int64_t day_number(int year, int month, int day) {
  return std::chrono::sys_days{std::chrono::year{year} / month / day}.time_since_epoch().count();
}

inline constexpr int kMaxYear = 9999;
inline constexpr Wall kMinWall = day_number(1, 1, 1) * kDay;
inline constexpr Wall kMaxWall = (day_number(kMaxYear, 12, 31) + 1) * kDay - 1;

// A day of the proleptic Gregorian calendar.
struct Date {
  explicit Date(int64_t day) : number(day) {
    std::chrono::year_month_day ymd{std::chrono::sys_days{std::chrono::days{day}}};
    year = static_cast<int>(ymd.year());
    month = static_cast<int>(static_cast<unsigned>(ymd.month()));
    month_day = static_cast<int>(static_cast<unsigned>(ymd.day()));
  }

  int64_t number;
  int year, month, month_day;

  int weekday() const { return static_cast<int>(floor_mod(number + 3, 7)); }  // Monday is 0
  bool leap() const { return std::chrono::year{year}.is_leap(); }
  int year_length() const { return leap() ? 366 : 365; }
  int year_day() const { return static_cast<int>(number - day_number(year, 1, 1)) + 1; }
  int month_length() const {
    constexpr int kLengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && leap() ? 29 : kLengths[month - 1];
  }
};

}  // namespace ctrlplane::schedule
