#include "notify/mail_sender.h"

#include <algorithm>
#include <memory>
#include <span>

namespace ctrlplane::notify {
namespace {

// Mails go one after another; whoever waits for the present one holds it.
struct Round : std::enable_shared_from_this<Round> {
  net::SmtpClient& client;
  std::string from, text;
  std::vector<std::string> recipients;
  SendDone done;
  size_t next = 0;  // recipient
  bool one_accepted = false;
  std::string refusal = {};

  Round(net::SmtpClient& client, std::string from, std::string text, std::vector<std::string> recipients,
        SendDone done)
      : client(client),
        from(std::move(from)),
        text(std::move(text)),
        recipients(std::move(recipients)),
        done(std::move(done)) {}

  void go_on() {
    if (next == recipients.size())
      return one_accepted ? done(SendOutcome::kAccepted, "") : done(SendOutcome::kRejected, refusal);
    auto some = std::span(recipients).subspan(next);
    some = some.first(std::min(some.size(), net::kMaxMailRecipients));
    next += some.size();
    client.send({from, {some.begin(), some.end()}, text},
                [self = shared_from_this()](const auto& outcome) { self->take(outcome); });
  }

  void take(const std::expected<void, net::MailFailure>& outcome) {
    if (outcome) {
      one_accepted = true;
    } else if (outcome.error().error.code == ErrorCode::kInvalid) {
      refusal = outcome.error().error.message;
    } else {
      return done(outcome.error().maybe_sent ? SendOutcome::kInDoubt : SendOutcome::kNotSent,
                  outcome.error().error.message);
    }
    go_on();
  }
};

}  // namespace

void send_mails(net::SmtpClient& client, MailDraft draft, std::vector<std::string> recipients,
                SendDone done) {
  std::erase_if(recipients, [](const std::string& address) { return !net::is_mail_address(address); });
  if (recipients.empty())
    return done(SendOutcome::kRejected, "there is nobody with an e-mail address to send to");
  std::string text = mail_text(draft);
  std::make_shared<Round>(client, std::move(draft.from), std::move(text), std::move(recipients),
                          std::move(done))
      ->go_on();
}

}  // namespace ctrlplane::notify
