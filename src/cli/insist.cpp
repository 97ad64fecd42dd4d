#include "cli/insist.h"

#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/client.h"
#include "cli/duration.h"
#include "cli/ids.h"
#include "cli/json_text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr Duration kFirstPause = milliseconds(500), kLongestPause = seconds(5);

Time whole_seconds(Time t) { return {t.us / 1'000'000 * 1'000'000}; }

bool may_pass(const Failure& f) {
  return f.exit_code == kUnreachable || f.status == 429 || f.status == 502 || f.status == 503 ||
         f.status == 504;
}

// Only what a signal handler may do.
template <size_t N>
[[noreturn]] void tell_and_end(const char (&text)[N], int number) {
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text, N - 1);
  ::_exit(128 + number);
}
extern "C" void end_unsent(int number) {
  tell_and_end("\nctrlplane: ended. Nothing was frozen: it had not been sent\n", number);
}
extern "C" void end_sent(int number) {
  tell_and_end("\nctrlplane: ended. The freeze may or may not have been made: see `ctrlplane freezes`\n",
               number);
}

}  // namespace

Outcome<void> Insistence::until_done(const std::function<Outcome<void>()>& attempt) {
  Duration pause = kFirstPause;
  while (true) {
    auto result = attempt();
    if (result || !may_pass(result.error())) {
      line_.clear();
      return result;
    }
    if (failures_++ == 0) since_ = console_.clock.boot();
    say(result.error(), pause);
    console_.pause(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

void Insistence::say(const Failure& failure, Duration next) {
  bool answered = failure.status == 503;
  if (answered_ != answered) {
    line_.clear();
    if (!answered_)
      console_.err << fmt::format("ctrlplane: NOT FROZEN YET, trying since {}; Ctrl-C ends it\n",
                                  format_rfc3339(whole_seconds(console_.clock.wall())));
    console_.err << (answered ? "  while the server's store is out of reach nothing can start: each start is "
                                "written there first\n"
                              : "  whether jobs start meanwhile is not known: the server was not reached\n");
    answered_ = answered;
  }
  line_.show(fmt::format("attempt {} ({}): {}; again in {}", failures_, long_duration(lasted()),
                         one_line(failure), next < seconds(1) ? "a moment" : long_duration(next)));
}

RepeatablePost::RepeatablePost(const Settings& settings, const std::string& path, const bj::value& body)
    : settings_(settings), http_(client_options(settings)) {
  request_.method = "POST";
  request_.url = settings.url + path;
  request_.headers = request_headers(settings);
  request_.headers.add("Content-Type", "application/json");
  request_.headers.add("Idempotency-Key", random_uuid());
  request_.body = compact_json(body);
}

Outcome<bj::value> RepeatablePost::send() {
  auto response = http_.send(request_);
  if (!response) return std::unexpected(unreachable(response.error()));
  if (response->status < 200 || response->status > 299) return std::unexpected(refusal(settings_, *response));
  bj::error_code error;
  bj::value body = bj::parse(response->body, error);
  if (error || !body.is_object())
    return failed(fmt::format("{} did not answer with JSON: is it a ctrlplane server?", settings_.url));
  return body;
}

InterruptNotice::InterruptNotice(bool sent) {
  struct sigaction notice = {};
  notice.sa_handler = sent ? end_sent : end_unsent;
  for (auto [number, before] : {std::pair{SIGINT, &interrupt_}, std::pair{SIGTERM, &terminate_}}) {
    ::sigaction(number, &notice, before);
    // Who runs it in the background may have asked that it goes on.
    if (before->sa_handler == SIG_IGN) ::sigaction(number, before, nullptr);
  }
}

InterruptNotice::~InterruptNotice() {
  ::sigaction(SIGINT, &interrupt_, nullptr);
  ::sigaction(SIGTERM, &terminate_, nullptr);
}

}  // namespace ctrlplane::cli
