#include "cli/follow.h"

#include <algorithm>
#include <chrono>

#include "cli/client.h"

namespace ctrlplane::cli {
namespace {

// A line on which nothing came for so long may be dead without either end knowing.
constexpr Duration kSilence = seconds(90);
constexpr int kLongestPause = 10;  // seconds

bool is_passing(int status) { return status == 429 || status == 502 || status == 503 || status == 504; }

}  // namespace

EventReader::EventReader(const Settings& settings, const std::string& workspace_path)
    : settings_(settings), url_(settings.url + workspace_path + "/events"), http_(client_options(settings)) {}

net::ClientRequest EventReader::request() const {
  net::ClientRequest r{.url = url_, .timeout = {}};
  r.headers = {{"Accept", "text/event-stream"}};
  if (!settings_.api_key.empty()) r.headers.add("x-api-key", settings_.api_key);
  if (!last_id_.empty()) r.headers.add("Last-Event-ID", last_id_);
  return r;
}

Outcome<void> EventReader::run(const Handlers& handlers) {
  bool ever = false;
  for (int lost = 1;; ++lost) {
    bool connected = false, enough = false;
    SseParser parser;
    auto connect = [&] {
      if (connected) return;
      handlers.on_connect(!last_id_.empty());
      connected = ever = true;
      lost = 1;
    };
    auto result = http_.stream(request(), kSilence, [&](std::string_view bytes) {
      connect();
      bool more = parser.feed(bytes, [&](const StreamEvent& e) {
        enough = !handlers.on_event(e);
        return !enough;
      });
      if (!parser.last_id().empty()) last_id_ = parser.last_id();
      return more;
    });
    if (enough) return {};
    if (result && result->status == 200) connect();
    if (result && result->status != 200 && !is_passing(result->status))
      return std::unexpected(refusal(settings_, *result));
    if (!result && !ever) return std::unexpected(unreachable(result.error()));
    if (!handlers.on_lost(lost)) return {};
  }
}

Changes::Changes(const Settings& settings, const std::string& workspace_path)
    : reader_(settings, workspace_path), thread_([this] { run(); }) {}

Changes::~Changes() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  reader_.interrupt();
  thread_.join();
}

void Changes::run() {
  auto changed = [this] {
    std::lock_guard lock(mutex_);
    changed_ = true;
    wake_.notify_all();
    return !stopping_;
  };
  auto result = reader_.run({.on_event = [&](const StreamEvent&) { return changed(); },
                             // What was looked at before may be older than the stream.
                             .on_connect = [&](bool) { changed(); },
                             .on_lost = [this](int times) { return wait_to_try_again(times); }});
  std::lock_guard lock(mutex_);
  if (!result) failure_ = std::move(result.error());
  wake_.notify_all();
}

bool Changes::wait_to_try_again(int times) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, std::chrono::seconds(std::min(times, kLongestPause)), [this] { return stopping_; });
  return !stopping_;
}

bool Changes::wait(Duration at_most) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, std::chrono::microseconds(at_most.us), [this] { return changed_ || failure_; });
  return std::exchange(changed_, false);
}

std::optional<Failure> Changes::failure() {
  std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace ctrlplane::cli
