#include "notify/notifier.h"

#include <chrono>
#include <future>

#include "net/testing.h"
#include "runtime/threaded.h"

namespace ctrlplane::notify {
namespace {

constexpr std::string_view kPayload = R"({"type":"freeze.activated","audience":"deployers",
  "workspaceId":"00000000-0000-0000-0000-000000000001","freeze":{"scope":"workspace","reason":"Errors"}})";

struct Bench {
  SystemClock clock;
  ThreadExecutor executor{clock};
  std::vector<Audience> asked;
  Notifier notifier;

  explicit Bench(NotifierOptions options = {})
      : notifier(executor, std::move(options), [this](WorkspaceId, Audience audience) {
          asked.push_back(audience);
          return std::vector<std::string>();
        }) {}
  ~Bench() { executor.stop(); }

  std::pair<SendOutcome, std::string> deliver(const SendPermit& permit) {
    std::promise<std::pair<SendOutcome, std::string>> told;
    auto future = told.get_future();
    executor.post([&] {
      notifier.deliver(permit, [&](SendOutcome outcome, std::string error) {
        told.set_value({outcome, std::move(error)});
      });
    });
    if (future.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
      ADD_FAILURE() << "nothing came";
      std::abort();
    }
    return future.get();
  }
};

SendPermit permit(ChannelKind kind, std::string config, std::string_view payload = kPayload) {
  SendPermit p;
  p.item.id = *OutboxId::parse("01890000-0000-7000-8000-000000000001");
  p.item.payload = payload;
  p.channel = NotificationChannel{.name = "c", .kind = kind, .config = Json::trusted(std::move(config))};
  return p;
}

std::string url_config(const net::HttpServer& server) {
  return R"({"url":"http://127.0.0.1:)" + std::to_string(server.port()) + R"(/hook"})";
}

// Answers everything so.
std::unique_ptr<net::HttpServer> answering(net::Response response) {
  return net::start_server({.port = 0}, [response](const net::Request&, net::Responder responder) {
    responder.respond(response);
  });
}

TEST(Notifier, posts_to_a_webhook_with_id_and_signature) {
  std::promise<net::Request> got;
  auto server = net::start_server({.port = 0}, [&](net::Request request, net::Responder responder) {
    got.set_value(std::move(request));
    responder.respond({.status = 204});
  });
  Bench bench;
  SendPermit p = permit(ChannelKind::kWebhook, url_config(*server));
  p.channel->secret = "key";
  EXPECT_EQ(bench.deliver(p).first, SendOutcome::kAccepted);
  net::Request request = got.get_future().get();
  EXPECT_EQ(request.path, "/hook");
  EXPECT_EQ(*request.headers.find("X-Ctrlplane-Delivery"), p.item.id.str());
  EXPECT_TRUE(request.headers.find("X-Ctrlplane-Signature")->starts_with("v1="));
  EXPECT_EQ(request.body.find(R"({"id":"01890000-)"), 0u) << request.body;
}

TEST(Notifier, takes_refusals_for_good_and_everything_else_for_now) {
  std::map<int, SendOutcome> expected = {
      {200, SendOutcome::kAccepted}, {299, SendOutcome::kAccepted}, {301, SendOutcome::kNotSent},
      {400, SendOutcome::kRejected}, {404, SendOutcome::kRejected}, {408, SendOutcome::kNotSent},
      {410, SendOutcome::kRejected}, {425, SendOutcome::kNotSent},  {429, SendOutcome::kNotSent},
      {500, SendOutcome::kNotSent},  {503, SendOutcome::kNotSent}};
  for (auto [status, outcome] : expected) EXPECT_EQ(judge_answer(status, "").outcome, outcome) << status;
}

TEST(Notifier, shows_what_slack_says_but_not_what_a_webhook_answers) {
  auto server = answering({.status = 400, .body = "invalid_blocks"});
  Bench bench;
  EXPECT_EQ(bench.deliver(permit(ChannelKind::kSlack, url_config(*server))),
            std::pair(SendOutcome::kRejected, std::string("answered 400: invalid_blocks")));
  EXPECT_EQ(bench.deliver(permit(ChannelKind::kWebhook, url_config(*server))),
            std::pair(SendOutcome::kRejected, std::string("answered 400")));
}

TEST(Notifier, does_not_read_an_answer_to_its_end) {
  auto server = answering({.status = 500, .body = std::string(10 << 20, 'x')});
  Bench bench;
  auto [outcome, error] = bench.deliver(permit(ChannelKind::kSlack, url_config(*server)));
  EXPECT_EQ(outcome, SendOutcome::kNotSent);
  EXPECT_LT(error.size(), 300u);
}

TEST(Notifier, follows_no_redirect) {
  std::atomic<int> asked = 0;
  auto server = net::start_server({.port = 0}, [&](const net::Request&, net::Responder responder) {
    ++asked;
    responder.respond({.status = 302, .headers = {{"Location", "/elsewhere"}}});
  });
  Bench bench;
  EXPECT_EQ(bench.deliver(permit(ChannelKind::kWebhook, url_config(*server))).first, SendOutcome::kNotSent);
  EXPECT_EQ(asked, 1);
}

TEST(Notifier, says_where_nobody_answers_without_the_path) {
  uint16_t port = 0;
  {
    auto server = answering({});
    port = server->port();
  }
  Bench bench;
  std::string config = R"({"url":"http://127.0.0.1:)" + std::to_string(port) + R"(/services/T0/secret"})";
  auto [outcome, error] = bench.deliver(permit(ChannelKind::kSlack, config));
  EXPECT_EQ(outcome, SendOutcome::kNotSent);
  EXPECT_NE(error.find("cannot connect"), std::string::npos) << error;
  EXPECT_EQ(error.find("secret"), std::string::npos) << error;
}

TEST(Notifier, goes_by_the_kind_the_channel_has_now) {
  auto server = answering({});
  Bench bench;
  SendPermit p = permit(ChannelKind::kWebhook, url_config(*server));
  p.item.channel = "notify-email";
  EXPECT_EQ(bench.deliver(p).first, SendOutcome::kAccepted);
}

TEST(Notifier, sends_nothing_but_tests_to_a_channel_that_is_switched_off) {
  auto server = answering({});
  Bench bench;
  SendPermit p = permit(ChannelKind::kWebhook, url_config(*server));
  p.channel->enabled = false;
  EXPECT_EQ(bench.deliver(p).first, SendOutcome::kRejected);
  p.item.payload = R"({"type":"test"})";
  EXPECT_EQ(bench.deliver(p).first, SendOutcome::kAccepted);
}

TEST(Notifier, rejects_what_can_never_be_sent) {
  Bench bench;
  SendPermit gone = permit(ChannelKind::kWebhook, "{}");
  gone.channel.reset();
  EXPECT_EQ(bench.deliver(gone).first, SendOutcome::kRejected);
  for (std::string config : {"{}", R"({"url":1})", R"({"url":"ftp://x"})", R"({"url":"http://a b"})", "x"})
    for (ChannelKind kind : {ChannelKind::kWebhook, ChannelKind::kSlack})
      EXPECT_EQ(bench.deliver(permit(kind, config)).first, SendOutcome::kRejected) << config;
  EXPECT_EQ(bench.deliver(permit(ChannelKind::kSlack, R"({"url":"http://127.0.0.1"})", "no JSON")).first,
            SendOutcome::kRejected);
}

TEST(Notifier, says_that_no_mail_server_is_set) {
  Bench bench;
  auto [outcome, error] = bench.deliver(permit(ChannelKind::kEmail, "{}"));
  EXPECT_EQ(outcome, SendOutcome::kRejected);
  EXPECT_NE(error.find("--smtp-url"), std::string::npos) << error;
}

TEST(Notifier, writes_to_the_members_concerned_where_a_channel_names_nobody) {
  Bench bench({.smtp = {.url = "smtp://127.0.0.1:1"}, .mail_from = "c@example.com"});
  EXPECT_EQ(bench.deliver(permit(ChannelKind::kEmail, "{}")).first, SendOutcome::kRejected);  // nobody
  EXPECT_EQ(bench.asked, std::vector{Audience::kDeployers});
  EXPECT_EQ(bench.deliver(permit(ChannelKind::kEmail, R"({"to":["a@example.com"]})")).first,
            SendOutcome::kNotSent);  // nobody listens there
  EXPECT_EQ(bench.asked.size(), 1u);
}

TEST(MailSettings, are_both_there_or_none) {
  EXPECT_TRUE(check_mail_settings("", ""));
  EXPECT_TRUE(check_mail_settings("smtp://mail:25", "c@example.com"));
  EXPECT_FALSE(check_mail_settings("smtp://mail:25", ""));
  EXPECT_FALSE(check_mail_settings("", "c@example.com"));
  EXPECT_FALSE(check_mail_settings("http://mail", "c@example.com"));
  EXPECT_FALSE(check_mail_settings("smtp://mail", "C <c@example.com>"));
}

}  // namespace
}  // namespace ctrlplane::notify
