// A mail as text: RFC 5322 headers and a body in UTF-8. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace ctrlplane::notify {

struct MailDraft {
  std::string from;             // an address; so are those below
  std::vector<std::string> to;  // shown to all; empty: nobody is shown
  std::string subject;
  std::string body;  // lines end with LF
  std::string id;    // the part of Message-ID before the @
  Time date;
};

// Lines end with CRLF and have at most 998 characters. Whatever subject and body contain, no line of it
// becomes a header. Addresses must be such (net::is_mail_address).
std::string mail_text(const MailDraft& draft);

// As it may stand in a header: as it is if it is plain ASCII, else as RFC 2047 encoded words.
std::string header_text(std::string_view text);

// "Tue, 15 Nov 2022 17:49:00 +0000"
std::string mail_date(Time t);

}  // namespace ctrlplane::notify
