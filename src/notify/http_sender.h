// Posts a message and judges the answer: for webhooks and Slack.
#pragma once

#include <functional>
#include <string>

#include "engine/commands.h"
#include "net/async_client.h"

namespace ctrlplane::notify {

using SendDone = std::move_only_function<void(SendOutcome, std::string error)>;

struct Verdict {
  SendOutcome outcome = SendOutcome::kAccepted;
  std::string error = {};
};
// 2xx is accepted; 4xx is rejected for good, except those that ask to come again (408, 425, 429); the rest is
// worth another try, redirects too, which are not followed. `said`: what of the answer may be shown.
Verdict judge_answer(int status, std::string_view said);
Verdict judge_failure(const net::Failure& failure);

// `done` exactly once, on any thread. Of the answer only its status counts, and with `shows_answer` a short
// text of it is told; however long or slow it is, it is not waited for.
void post_message(net::AsyncClient& client, net::ClientRequest request, bool shows_answer, SendDone done);

}  // namespace ctrlplane::notify
