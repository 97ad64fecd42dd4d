// Carries notices to a workspace's channels: the receiver of the outbox rows that engine/notify writes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/async_client.h"
#include "net/smtp.h"
#include "notify/http_sender.h"
#include "notify/message.h"
#include "runtime/outbox_pump.h"

namespace ctrlplane::notify {

struct NotifierOptions {
  net::SmtpOptions smtp = {};  // an empty URL: no mail is sent
  std::string mail_from = {};
  net::AsyncClientOptions http = {.use_proxy = true};
};

// Both settings or none, and each well-formed; kInvalid names the one that is not.
Status check_mail_settings(std::string_view smtp_url, std::string_view mail_from);

class Notifier final : public Receiver {
 public:
  // The addresses of a workspace's members who are concerned. On the executor's thread.
  using Members = std::function<std::vector<std::string>(WorkspaceId, Audience)>;

  // Lives on the executor's thread; `executor` outlives it. What is under way when it goes is not answered.
  Notifier(Executor& executor, NotifierOptions options, Members members);

  // Receives what goes to channels of every kind. The kind that counts is the channel's present one.
  void join(OutboxPump& pump);
  void deliver(const SendPermit& permit, SendDone done) override;

 private:
  void post_webhook(const SendPermit& permit, const Message& m, SendDone done);
  void post_slack(const SendPermit& permit, const Message& m, SendDone done);
  void mail(const SendPermit& permit, const Message& m, SendDone done);

  Executor& executor_;
  std::string mail_from_;
  Members members_;
  net::AsyncClient http_;
  std::unique_ptr<net::SmtpClient> smtp_;
};

}  // namespace ctrlplane::notify
