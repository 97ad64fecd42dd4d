#include "agent/output_sender.h"

#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "agent/fake_server.h"

namespace ctrlplane::agent {
namespace {

using State = FakeServer::State;

struct OutputSenderTest : testing::Test {
  OutputSenderTest() { server.add_job({.id = "j", .holder = "me"}); }
  auto output_is(std::string text) {
    return [text](State& state) { return state.job("j").output == text; };
  }
  FakeServer server;
  SkewedClock clock;
  OutputSender sender{server.api(), "j", clock, milliseconds(5)};
};

TEST(OutputSender, sends_a_little_output_after_a_second) {
  FakeServer server;
  server.add_job({.id = "j", .holder = "me"});
  SkewedClock clock(false);
  OutputSender sender(server.api(), "j", clock, milliseconds(5));
  sender.append("hello ");
  sender.append("you");
  clock.skip(milliseconds(999));
  sender.append("\n");
  EXPECT_EQ(server.read([](State& s) { return s.requests.size(); }), 0u);
  clock.skip(milliseconds(1));
  EXPECT_TRUE(server.wait_until([](State& s) { return s.job("j").output == "hello you\n"; }));
  EXPECT_EQ(sender.last_line(), "hello you");
}

TEST_F(OutputSenderTest, sends_much_output_at_once_and_in_pieces) {
  std::string large(300'000, 'x');
  sender.append(large);
  EXPECT_TRUE(server.wait_until([](State& s) { return s.job("j").output.size() >= 256 * 1024; }));
  sender.finish();
  EXPECT_TRUE(sender.flush(seconds(20)));
  EXPECT_TRUE(server.wait_until(output_is(large)));
  EXPECT_EQ(server.read([](State& s) { return s.requests.size(); }), 5u);
}

TEST_F(OutputSenderTest, sends_the_rest_at_the_end) {
  sender.append("half a \xE2\x82");
  sender.finish();
  EXPECT_TRUE(sender.flush(seconds(20)));
  EXPECT_TRUE(server.wait_until(output_is("half a \xEF\xBF\xBD")));
}

TEST_F(OutputSenderTest, tries_again_while_the_server_is_away_and_never_waits_for_it) {
  server.change([](State& s) { s.refusing = true; });
  sender.append("early ");
  sender.finish();
  EXPECT_TRUE(server.wait_until([](State& s) { return s.requests.size() == 1; }));
  EXPECT_FALSE(sender.flush({}));
  for (int i = 0; i < 100; ++i) sender.append(std::string(100'000, 'x') + "\n");  // returns
  server.change([](State& s) { s.refusing = false; });
  clock.skip(seconds(15));
  EXPECT_TRUE(sender.flush(seconds(20)));
  server.read([](State& s) {
    EXPECT_TRUE(s.job("j").output.starts_with("early xxx"));
    EXPECT_NE(s.job("j").output.find("bytes of output are left out here"), std::string::npos);
    EXPECT_LT(s.job("j").output.size(), 2u << 20);
  });
}

TEST_F(OutputSenderTest, a_lost_answer_does_not_double_the_output) {
  server.change([](State& s) {
    s.instead = [&s, first = true](const std::string&) mutable -> std::optional<net::Response> {
      if (!std::exchange(first, false)) return std::nullopt;
      s.job("j").output = "hello\n";  // stored, but the answer does not arrive
      return net::Response{.status = 502};
    };
  });
  sender.append("hello\n");
  sender.finish();
  EXPECT_TRUE(server.wait_until([](State& s) { return s.requests.size() == 1; }));
  clock.skip(seconds(15));
  EXPECT_TRUE(sender.flush(seconds(20)));
  EXPECT_TRUE(server.wait_until(output_is("hello\n")));
}

TEST_F(OutputSenderTest, gives_up_when_the_server_refuses_for_good) {
  server.change([](State& s) {
    s.instead = [](const std::string&) { return std::optional(net::Response{.status = 409}); };
  });
  sender.append("x");
  sender.finish();
  EXPECT_TRUE(sender.flush(seconds(20)));
  sender.append("more");
  EXPECT_TRUE(sender.flush({}));
  EXPECT_EQ(server.read([](State& s) { return s.requests.size(); }), 1u);
}

TEST(OutputSender, ends_while_the_server_is_silent) {
  std::optional<net::Responder> held;
  std::promise<void> arrived;
  auto server = net::start_server({}, [&](net::Request, net::Responder responder) {
    held.emplace(std::move(responder));
    arrived.set_value();
  });
  SystemClock clock;
  auto sender = std::make_unique<OutputSender>(
      ApiOptions{"http://127.0.0.1:" + std::to_string(server->port()), "key", "w"}, "j", clock, seconds(1));
  sender->append("x");
  sender->finish();
  arrived.get_future().wait();
  auto ending = std::async(std::launch::async, [&] { sender.reset(); });
  EXPECT_EQ(ending.wait_for(std::chrono::seconds(15)), std::future_status::ready);  // a request may take 20
}

}  // namespace
}  // namespace ctrlplane::agent
