#include "cli/phrases.h"

#include <fmt/format.h>

#include "cli/duration.h"
#include "cli/text.h"

namespace ctrlplane::cli {

std::string titled_line(std::string_view title, const std::string& text) {
  return text.empty() ? std::string() : fmt::format("  {:<9} {}\n", title, printable(text));
}

std::string to_the_second(std::string_view instant) {
  auto at = parse_rfc3339(instant);
  return at ? format_rfc3339({at->us - at->us % 1'000'000}) : std::string(instant);
}

std::string when_text(std::string_view instant, Time now) {
  auto at = parse_rfc3339(instant);
  if (!at) return std::string(instant);
  return *at > now ? fmt::format("{} (in {})", to_the_second(instant), long_duration(rounded(*at - now)))
                   : fmt::format("{} ({} ago)", to_the_second(instant), long_duration(now - *at));
}

Duration rounded(Duration left) { return left + milliseconds(500); }

std::string count_text(std::string_view n, std::string_view thing) {
  return fmt::format("{} {}{}", n, thing, n == "1" ? "" : "s");
}

std::string count_text(size_t n, std::string_view thing) { return count_text(std::to_string(n), thing); }

std::string person(std::string name) {
  if (name.starts_with("user:")) name.erase(0, 5);
  return name;
}

}  // namespace ctrlplane::cli
