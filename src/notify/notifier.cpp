#include "notify/notifier.h"

#include <fmt/core.h>

#include "engine/notify.h"
#include "notify/channel_config.h"
#include "notify/mail_sender.h"
#include "notify/slack.h"
#include "notify/webhook.h"

namespace ctrlplane::notify {
namespace {

constexpr std::string_view kTest = "test";

}  // namespace

Status check_mail_settings(std::string_view smtp_url, std::string_view mail_from) {
  if (smtp_url.empty() != mail_from.empty())
    return fail(ErrorCode::kInvalid, "smtp-url and mail-from go together");
  if (smtp_url.empty()) return {};
  if (Status fine = net::check_smtp_url(smtp_url); !fine) return invalid("smtp-url", fine.error().message);
  if (!net::is_mail_address(mail_from)) return invalid("mail-from", "must be an e-mail address");
  return {};
}

Notifier::Notifier(Executor& executor, NotifierOptions options, Members members)
    : executor_(executor),
      mail_from_(std::move(options.mail_from)),
      members_(std::move(members)),
      http_(std::move(options.http)) {
  if (!options.smtp.url.empty()) smtp_ = std::make_unique<net::SmtpClient>(std::move(options.smtp));
}

void Notifier::join(OutboxPump& pump) {
  for (ChannelKind kind : {ChannelKind::kWebhook, ChannelKind::kSlack, ChannelKind::kEmail})
    pump.add_receiver(outbox_channel(kind), *this);
}

void Notifier::deliver(const SendPermit& permit, SendDone given) {
  SendDone done = [this, given = std::move(given)](SendOutcome outcome, std::string error) mutable {
    executor_.post([given = std::move(given), outcome, error = std::move(error)]() mutable {
      given(outcome, std::move(error));
    });
  };
  if (!permit.channel) return done(SendOutcome::kRejected, "the channel was deleted");
  auto message = read_message(permit.item.payload);
  if (!message) return done(SendOutcome::kRejected, message.error().message);
  if (!permit.channel->enabled && message->type != kTest)
    return done(SendOutcome::kRejected, "the channel was switched off");
  switch (permit.channel->kind) {
    case ChannelKind::kWebhook: return post_webhook(permit, *message, std::move(done));
    case ChannelKind::kSlack: return post_slack(permit, *message, std::move(done));
    case ChannelKind::kEmail: return mail(permit, *message, std::move(done));
  }
}

void Notifier::post_webhook(const SendPermit& permit, const Message& m, SendDone done) {
  const ChannelConfig config = read_config(permit.channel->config);
  auto request = webhook_request({.url = config.url,
                                  .secret = permit.channel->secret,
                                  .id = permit.item.id,
                                  .type = m.type,
                                  .payload = permit.item.payload,
                                  .now = executor_.clock().wall()});
  if (!request) return done(SendOutcome::kRejected, request.error().message);
  post_message(http_, std::move(*request), false, std::move(done));
}

void Notifier::post_slack(const SendPermit& permit, const Message& m, SendDone done) {
  net::ClientRequest request{.method = "POST", .url = read_config(permit.channel->config).url};
  request.headers.add("Content-Type", "application/json");
  request.body = slack_body(m);
  post_message(http_, std::move(request), true, std::move(done));  // Slack says in a word what it dislikes
}

void Notifier::mail(const SendPermit& permit, const Message& m, SendDone done) {
  if (!smtp_)
    return done(SendOutcome::kRejected, "no mail server is set: the server needs --smtp-url and --mail-from");
  ChannelConfig config = read_config(permit.channel->config);
  if (config.to)
    std::erase_if(*config.to, [](const auto& address) { return !net::is_mail_address(address); });
  MailDraft draft{.from = mail_from_,
                  .to = config.to.value_or(std::vector<std::string>()),
                  .subject = subject_of(m),
                  .body = plain_text(m),
                  .id = permit.item.id.str(),
                  .date = executor_.clock().wall()};
  auto recipients = config.to ? *std::move(config.to) : members_(m.workspace, m.audience);
  send_mails(*smtp_, std::move(draft), std::move(recipients), std::move(done));
}

}  // namespace ctrlplane::notify
