// CHECK aborts on a broken invariant of ours. Bad input never gets here: it is a Result.
#pragma once

#include <string_view>

namespace ctrlplane {
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               std::string_view message = {});
}

#define CHECK(condition, ...)                                                               \
  do {                                                                                      \
    if (!(condition)) [[unlikely]]                                                          \
      ::ctrlplane::check_failed(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
