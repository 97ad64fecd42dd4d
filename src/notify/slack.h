// A message as Slack shows it. Pure.
#pragma once

#include <string>

#include "notify/message.h"

namespace ctrlplane::notify {

// The body of a post to an incoming webhook: a header, fields, a link to the incident, a context line; and
// the subject as text for where blocks are not shown. Nothing in the message is taken as Slack's own markup
// for links and mentions, and no part is longer than Slack takes.
std::string slack_body(const Message& m);

}  // namespace ctrlplane::notify
