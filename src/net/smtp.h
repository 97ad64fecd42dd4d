// Mail to one SMTP server, on libcurl and one thread of its own.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace ctrlplane::net {

struct SmtpOptions {
  std::string url;                  // as check_smtp_url has it
  std::string ca_file = {};         // empty: the system's
  Duration timeout = seconds(30);   // of one mail, from the connection on
  Duration patience = seconds(20);  // how long one may wait for a connection
  size_t max_mails = 512;           // accepted and not yet answered; the next one is refused
  size_t max_connections = 4;
};

inline constexpr size_t kMaxMailRecipients = 100;  // what every server must take, by RFC 5321

struct Mail {
  std::string from;
  std::vector<std::string> to;  // at most kMaxMailRecipients
  std::string text;  // headers, an empty line, the body; lines end with CRLF. Dots are stuffed on the way.
};

// Why a mail was not taken. The error is kInvalid (never will be: malformed, or refused for good), kBusy
// (full) or kUnavailable.
struct MailFailure {
  Error error;
  bool maybe_sent = false;  // the server may have taken it all the same
};

// An address as it stands between < and >: ASCII, without blanks, quotes, brackets or control characters.
bool is_mail_address(std::string_view text);

// smtp://[user:password@]host[:port], or smtps:// for TLS from the first byte. kInvalid says what is wrong.
Status check_smtp_url(std::string_view url);

// With smtp:// the connection is encrypted if the server offers STARTTLS. Where a password is given it must
// be, by a server whose certificate is good; so it must be with smtps://. Without one, a certificate is not
// looked at: whoever could forge it could as well hide the offer.
//
// A mail is taken if the server takes it for one of its recipients.
//
// Any thread may call. Callbacks are called on the client's thread and must not block; they may call the
// client, but not destroy it. A mail that is refused is told so at once on the caller's thread.
class SmtpClient {
 public:
  using Done = std::move_only_function<void(std::expected<void, MailFailure>)>;

  explicit SmtpClient(SmtpOptions options);
  // What is under way ends with kUnavailable; every callback has been called when this returns.
  ~SmtpClient();

  void send(Mail mail, Done done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ctrlplane::net
