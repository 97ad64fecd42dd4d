#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace ctrlplane::log {
namespace {

spdlog::level::level_enum native(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarning: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
    case Level::kOff: return spdlog::level::off;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static auto instance = [] {
    auto l = std::make_shared<spdlog::logger>("ctrlplane", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    l->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    return l;
  }();
  return *instance;
}

}  // namespace

void set_level(Level level) { logger().set_level(native(level)); }

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  if (!logger().should_log(native(level))) return;
  std::string line(message);
  for (const Field& f : fields) {
    line += ' ';
    line += f.key;
    line += '=';
    line += f.value;
  }
  logger().log(native(level), line);
}

}  // namespace ctrlplane::log
