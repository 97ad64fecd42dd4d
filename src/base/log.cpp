#include "base/log.h"

#include <atomic>

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

std::atomic<bool> g_json = false;  // set once, before the first threads

// As a JSON string: a line stays a line whatever is in it.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += ' ';
    else
      out += c;
  }
  out += '"';
}

}  // namespace

void set_level(Level level) { logger().set_level(native(level)); }

void set_format(Format format) {
  g_json = format == Format::kJson;
  logger().set_pattern(
      g_json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
      spdlog::pattern_time_type::utc);
}

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  if (!logger().should_log(native(level))) return;
  std::string line;
  if (g_json) {
    line = "\"message\":";
    append_quoted(line, message);
    for (const Field& f : fields) {
      line += ',';
      append_quoted(line, f.key);
      line += ':';
      append_quoted(line, f.value);
    }
  } else {
    line = message;
    for (const Field& f : fields) {
      line += ' ';
      line += f.key;
      line += '=';
      if (f.value.empty() || f.value.find_first_of(" \"\n\t=") != std::string::npos)
        append_quoted(line, f.value);
      else
        line += f.value;
    }
  }
  logger().log(native(level), line);
}

}  // namespace ctrlplane::log
