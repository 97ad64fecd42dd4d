#include "cli/sse.h"

#include <utility>

namespace ctrlplane::cli {
namespace {

constexpr size_t kMaxEvent = 64u << 20;

}  // namespace

bool SseParser::feed(std::string_view bytes, const std::function<bool(const StreamEvent&)>& on_event) {
  while (!bytes.empty()) {
    if (std::exchange(after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    size_t end = bytes.find_first_of("\r\n");
    line_.append(bytes.substr(0, end));
    if (line_.size() + event_.data.size() > kMaxEvent) return false;
    if (end == std::string_view::npos) return true;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!take_line(on_event)) return false;
  }
  return true;
}

bool SseParser::take_line(const std::function<bool(const StreamEvent&)>& on_event) {
  std::string line = std::exchange(line_, {});
  if (line.empty()) {
    bool go_on = !any_ || on_event(event_);
    any_ = false;
    event_.type = "message";
    event_.data.clear();
    return go_on;
  }
  size_t colon = line.find(':');
  std::string_view name = std::string_view(line).substr(0, colon);
  std::string_view value = colon == std::string::npos ? "" : std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") {
    if (value.find('\0') == std::string_view::npos) event_.id = value;
  } else if (name == "event") {
    event_.type = value;
    any_ = true;
  } else if (name == "data") {
    if (any_ && !event_.data.empty()) event_.data += '\n';
    event_.data += value;
    any_ = true;
  }
  return true;
}

}  // namespace ctrlplane::cli
