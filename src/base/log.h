// Key-value logging. The backend is chosen once, in app; until then lines go to standard error.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ctrlplane::log {

enum class Level { kDebug, kInfo, kWarning, kError, kOff };

enum class Format { kText, kJson };

struct Field {
  std::string_view key;
  std::string value;
};

void set_level(Level level);
// Text: `time level message key=value …`, values with blanks quoted. JSON: one object a line.
void set_format(Format format);
void write(Level level, std::string_view message, std::initializer_list<Field> fields = {});

inline void info(std::string_view m, std::initializer_list<Field> f = {}) { write(Level::kInfo, m, f); }
inline void warn(std::string_view m, std::initializer_list<Field> f = {}) { write(Level::kWarning, m, f); }
inline void error(std::string_view m, std::initializer_list<Field> f = {}) { write(Level::kError, m, f); }

}  // namespace ctrlplane::log
