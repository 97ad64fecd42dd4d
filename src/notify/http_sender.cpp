#include "notify/http_sender.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "base/clock.h"

namespace ctrlplane::notify {
namespace {

constexpr Duration kTimeout = seconds(10);  // for the head of the answer, and for any silence in it
constexpr size_t kMaxShown = 200;

// Callbacks come one after another: the client's thread, or the caller's if the request is refused.
struct Exchange {
  bool shows_answer;
  SendDone done;  // until told
  SystemClock clock = {};
  Duration begun = clock.boot();
  int status = 0;
  std::string answer = {};

  void tell(Verdict v) {
    if (done) std::exchange(done, nullptr)(v.outcome, std::move(v.error));
  }
  void on_head(int code) {
    status = code;
    if (code / 100 == 2) tell({});
  }
  bool on_data(std::string_view piece) {
    answer += piece.substr(0, kMaxShown - answer.size());
    return done && shows_answer && answer.size() < kMaxShown && clock.boot() - begun < kTimeout;
  }
  void on_end(const std::expected<void, net::Failure>& end) {
    if (status != 0) return tell(judge_answer(status, shows_answer ? answer : std::string_view()));
    tell(end ? Verdict{SendOutcome::kInDoubt, "no answer came"} : judge_failure(end.error()));
  }
};

std::string printable(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(out, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, ' ');
  return out;
}

}  // namespace

Verdict judge_answer(int status, std::string_view said) {
  if (status / 100 == 2) return {};
  const bool come_again = status == 408 || status == 425 || status == 429;
  std::string error = fmt::format("answered {}", status);
  if (status / 100 == 3) error += "; redirects are not followed";
  if (!said.empty()) error += ": " + printable(said);
  return {status / 100 == 4 && !come_again ? SendOutcome::kRejected : SendOutcome::kNotSent,
          std::move(error)};
}

Verdict judge_failure(const net::Failure& failure) {
  SendOutcome outcome = failure.error.code == ErrorCode::kInvalid ? SendOutcome::kRejected
                        : failure.maybe_sent                      ? SendOutcome::kInDoubt
                                                                  : SendOutcome::kNotSent;
  return {outcome, failure.error.message};
}

void post_message(net::AsyncClient& client, net::ClientRequest request, bool shows_answer, SendDone done) {
  auto exchange = std::make_shared<Exchange>(Exchange{shows_answer, std::move(done)});  // by three callbacks
  request.timeout = kTimeout;
  net::StreamEvents events;
  events.on_head = [exchange](const net::Response& head) { exchange->on_head(head.status); };
  events.on_data = [exchange](std::string_view piece) { return exchange->on_data(piece); };
  events.on_end = [exchange](const std::expected<void, net::Failure>& end) { exchange->on_end(end); };
  client.stream(std::move(request), kTimeout, std::move(events));
}

}  // namespace ctrlplane::notify
