#include <future>
#include <thread>

#include "net/testing.h"

namespace ctrlplane::net {
namespace {

const std::string kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

// The status with which bytes are refused, after which the connection ends.
int refused_with(HttpOptions options, std::string_view bytes) {
  auto server = start_server(std::move(options), echo);
  RawClient client(server->port());
  client.send(bytes);
  int status = client.answer().status;
  EXPECT_TRUE(client.at_end()) << bytes.substr(0, 80);
  EXPECT_EQ(server->stats().requests, 0u);
  return status;
}

TEST(HttpLimits, each_has_its_status_and_ends_the_connection) {
  EXPECT_EQ(refused_with({}, "nonsense\r\n\r\n"), 400);
  EXPECT_EQ(refused_with({}, "GET / HTTP/3.0\r\nHost: x\r\n\r\n"), 505);
  EXPECT_EQ(refused_with({.max_header_bytes = 100}, "GET /" + std::string(200, 'a')), 431);
  EXPECT_EQ(refused_with({.max_body_bytes = 3}, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"),
            413);
  EXPECT_EQ(refused_with({.max_body_bytes = 3},
                         "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n"),
            413);
}

TEST(HttpLimits, a_client_in_the_midst_of_sending_too_much_still_hears_why) {
  auto server = start_server({.max_body_bytes = 10}, echo);
  RawClient client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n");
  std::string piece(100'000, 'x');
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(client.send(piece)) << i;
  EXPECT_EQ(client.answer().status, 413);
}

TEST(HttpLimits, a_body_limit_may_depend_on_the_route) {
  HttpOptions options;
  options.body_limit = [](const Request& head) {
    return head.path == "/bulk" ? size_t{5'000'000} : size_t{3};
  };
  auto server = start_server(options, [](Request request, Responder responder) {
    responder.respond({.body = std::to_string(request.body.size())});
  });
  RawClient client(server->port());
  client.send("POST /bulk HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n" +
              std::string(5'000'000, 'b'));
  EXPECT_EQ(client.answer().body, "5000000");
  client.send("POST /else HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.answer().status, 413);
}

TEST(HttpLimits, one_connection_too_many_is_told_so) {
  auto server = start_server({.max_connections = 2}, echo);
  RawClient a(server->port()), b(server->port());
  for (RawClient* c : {&a, &b}) {
    c->send(kGet);
    EXPECT_EQ(c->answer().status, 200);
  }
  RawClient c(server->port());
  EXPECT_EQ(c.answer().status, 503);
  EXPECT_TRUE(c.at_end());
  EXPECT_EQ(server->stats().connections_refused, 1u);
}

// ---- Time ----------------------------------------------------------------------------------------------

TEST(HttpTimeouts, a_connection_that_says_nothing_is_closed_in_silence) {
  auto server = start_server({.header_timeout = milliseconds(30)}, echo);
  EXPECT_TRUE(RawClient(server->port()).at_end());
}

TEST(HttpTimeouts, an_idle_connection_is_closed_in_silence) {
  auto server = start_server({.idle_timeout = milliseconds(30)}, echo);
  RawClient client(server->port());
  client.send(kGet);
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_TRUE(client.at_end());
  EXPECT_GE(server->stats().timeouts, 1u);
}

TEST(HttpTimeouts, a_head_that_does_not_end_is_408_also_for_one_that_keeps_trickling) {
  auto server = start_server({.header_timeout = milliseconds(50)}, echo);
  RawClient client(server->port());
  client.send("GET / HT");
  EXPECT_EQ(client.answer().status, 408);
  EXPECT_TRUE(client.at_end());

  RawClient trickling(server->port());
  timeval tick{.tv_sec = 0, .tv_usec = 5000};
  ::setsockopt(trickling.fd(), SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof tick);
  trickling.send("GET / HTTP/1.1\r\nX: ");
  char first = 0;
  int sent = 0;
  while (::recv(trickling.fd(), &first, 1, 0) < 0 && sent < 1600) sent += trickling.send("a") ? 1 : 0;
  EXPECT_EQ(first, 'H');  // the answer came while bytes were still moving
}

TEST(HttpTimeouts, a_body_that_does_not_end_is_408) {
  auto server = start_server({.body_timeout = milliseconds(30)}, echo);
  RawClient client(server->port());
  client.send(kGet + "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc");
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.answer().status, 408);
  EXPECT_TRUE(client.at_end());
}

TEST(HttpTimeouts, a_reader_that_takes_nothing_is_dropped) {
  auto server = start_server({.write_timeout = milliseconds(50)}, [](Request, Responder responder) {
    responder.respond({.body = std::string(20'000'000, 'x')});
  });
  RawClient client(server->port(), 4096);
  client.send(kGet);
  client.read_until("\r\n\r\n");
  while (server->stats().timeouts == 0) std::this_thread::yield();  // and read nothing
  EXPECT_LT(client.read_to_end().size(), 20'000'000u);
}

TEST(HttpTimeouts, a_slow_handler_is_not_a_slow_client) {
  std::promise<Responder> asked;
  auto server = start_server({.header_timeout = milliseconds(20), .idle_timeout = milliseconds(20)},
                             [&](Request request, Responder responder) {
                               if (request.path == "/slow") return asked.set_value(std::move(responder));
                               echo(std::move(request), std::move(responder));
                             });
  RawClient client(server->port());
  client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  Responder held = asked.get_future().get();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(RawClient(server->port()).at_end());  // three time-outs pass
  held.respond({.body = "at last"});
  EXPECT_EQ(client.answer().body, "at last");
}

}  // namespace
}  // namespace ctrlplane::net
