// Server-Sent Events, taken apart.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ctrlplane::cli {

struct StreamEvent {
  std::string id;  // the last one the stream has named
  std::string type = "message";
  std::string data;
};

class SseParser {
 public:
  // Calls `on_event` for each event that these bytes complete, until it returns false; false then, and when
  // an event is larger than anything a server sends.
  bool feed(std::string_view bytes, const std::function<bool(const StreamEvent&)>& on_event);
  const std::string& last_id() const { return event_.id; }

 private:
  bool take_line(const std::function<bool(const StreamEvent&)>& on_event);

  std::string line_;
  bool after_return_ = false;  // a '\n' now belongs to the '\r' before it
  bool any_ = false;           // the event has a type or data
  StreamEvent event_;
};

}  // namespace ctrlplane::cli
