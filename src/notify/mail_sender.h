// Sends a message as mail to any number of recipients.
#pragma once

#include <string>
#include <vector>

#include "net/smtp.h"
#include "notify/http_sender.h"
#include "notify/mail_text.h"

namespace ctrlplane::notify {

// In mails of kMaxMailRecipients. Accepted if one of them was and none may be worth another try; then all are
// sent again, with the same Message-ID. `done` exactly once, on any thread. Nobody to send it to is
// kRejected.
void send_mails(net::SmtpClient& client, MailDraft draft, std::vector<std::string> recipients, SendDone done);

}  // namespace ctrlplane::notify
