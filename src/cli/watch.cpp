#include "cli/watch.h"

#include <ctime>
#include <ostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/follow.h"
#include "cli/json_text.h"
#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr Duration kBetweenDraws = milliseconds(250);
constexpr Duration kLookAnyway = seconds(60);
constexpr Duration kLookWhileWaiting = seconds(5);
constexpr Duration kPoll = seconds(2);  // where there is no stream to tell

std::string local_time(Time t) {
  std::time_t seconds = static_cast<std::time_t>(t.us / 1'000'000);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

class EventPrinter {
 public:
  explicit EventPrinter(Session& session) : console_(session.console), output_(session.output) {}

  bool print(const StreamEvent& event) {
    bj::error_code error;
    bj::value data = bj::parse(event.data, error);
    if (error) data = nullptr;
    if (output_ == Output::kJson)
      console_.out << compact_json(bj::object{{"id", event.id}, {"event", event.type}, {"data", data}})
                   << '\n';
    else
      print_lines(event, data);
    console_.out.flush();
    return console_.out.good();
  }

 private:
  void print_lines(const StreamEvent& event, const bj::value& data) {
    auto at = parse_rfc3339(text_at(data, "at"));
    std::string time = local_time(at ? *at : console_.clock.wall());
    if (event.type == "reset") {
      console_.out << time << " reset: the stream starts over, and changes may be missing here\n";
      return;
    }
    const bj::value* changes = member_at(data, "changes");
    if (!changes || !changes->is_array()) return;
    for (const bj::value& c : changes->get_array()) {
      std::string line =
          fmt::format("{} {} {} {}", time, text_at(c, "entity"), text_at(c, "op"), text_at(c, "id"));
      if (std::string status = text_at(c, "status"); !status.empty()) line += " " + status;
      console_.out << printable(line) << '\n';
    }
  }

  Console& console_;
  Output output_;
};

Outcome<void> watch(Session& session) {
  Console& console = session.console;
  std::string workspace = TRY(session.client.workspace_path());
  EventReader reader(session.client.settings(), workspace);
  EventPrinter printer(session);
  bool before = false;
  return reader.run({
      .on_event = [&](const StreamEvent& e) { return printer.print(e); },
      .on_connect =
          [&](bool resumed) {
            if (before && !resumed)
              console.err << "ctrlplane: connected again; changes may be missing here\n";
            before = true;
          },
      .on_lost =
          [&](int times) {
            if (times == 2) console.err << "ctrlplane: connection lost; trying again\n";
            console.pause(seconds(std::min(times, 10)));
            return console.out.good();
          },
  });
}

}  // namespace

Outcome<void> redraw_on_changes(Session& session, const std::function<Outcome<std::string>()>& draw) {
  Console& console = session.console;
  Changes changes(session.client.settings(), TRY(session.client.workspace_path()));
  std::optional<std::string> shown;
  while (true) {
    std::string text = TRY(draw());
    if (text != shown) {
      if (console.out_is_terminal) console.out << "\x1b[H\x1b[2J\x1b[3J";
      console.out << text;
      console.out.flush();
      shown = std::move(text);
    }
    if (!console.out.good()) return {};
    changes.wait(kLookAnyway);
    if (auto failure = changes.failure()) return std::unexpected(*std::move(failure));
    console.pause(kBetweenDraws);  // one look for what comes in a burst
  }
}

Waiting::Waiting(Session& session, const std::string& workspace_path, Duration timeout)
    : console_(session.console),
      changes_(session.client.settings(), workspace_path),
      end_(console_.clock.boot() + timeout),
      look_began_(console_.clock.boot()) {}

bool Waiting::again() {
  Duration now = console_.clock.boot();
  if (now >= end_) return false;
  // A burst gets one look, and a look that takes long does not keep the server busy with nothing else.
  Duration pause = std::max(kBetweenDraws, now - look_began_);
  bool heard = changes_.wait(std::min(kLookWhileWaiting, end_ - now));
  if (!heard && changes_.failure()) pause = std::max(pause, kPoll);
  console_.pause(std::min(pause, std::max(end_ - console_.clock.boot(), milliseconds(1))));
  return true;
}

void add_watch(CLI::App& app, const FramePtr& frame) {
  add_verb(app, frame, "watch", "Print what happens in the workspace, line by line",
           "  ctrlplane watch -w acme", [](Session& s) { return watch(s); });
}

}  // namespace ctrlplane::cli
