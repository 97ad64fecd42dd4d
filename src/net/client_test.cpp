#include "net/client.h"

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "net/testing.h"
#include "net/testing_certificate.h"

namespace ctrlplane::net {
namespace {

std::string url_of(const HttpServer& server, std::string_view path = "/") {
  return "http://127.0.0.1:" + std::to_string(server.port()) + std::string(path);
}

// A listener that answers one connection with fixed bytes and closes it.
class FixedAnswer {
 public:
  explicit FixedAnswer(std::string bytes) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(fd_, 8), 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    thread_ = std::jthread([this, bytes = std::move(bytes)] { answer_one(bytes); });
  }
  ~FixedAnswer() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

 private:
  void answer_one(const std::string& bytes) {
    int peer = ::accept(fd_, nullptr, nullptr);
    if (peer < 0) return;
    char request[4096];
    EXPECT_GT(::recv(peer, request, sizeof request, 0), 0);
    EXPECT_EQ(::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    ::close(peer);
  }
  int fd_;
  uint16_t port_ = 0;
  std::jthread thread_;
};

TEST(HttpClient, sends_method_path_and_body_and_returns_any_status) {
  auto server = start_server({}, [](Request request, Responder responder) {
    std::string body = request.method + " " + request.target + " " + request.body;
    responder.respond({.status = request.method == "GET" ? 200 : 418, .body = body});
  });
  HttpClient client;
  for (std::string method : {"POST", "PUT", "PATCH", "DELETE"}) {
    auto response = client.send({.method = method, .url = url_of(*server, "/a/../b?q=1"), .body = "text"});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 418);
    EXPECT_EQ(response->body, method + " /a/../b?q=1 text");
  }
  auto response = client.send({.url = url_of(*server, "/c")});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "GET /c ");
}

TEST(HttpClient, sends_methods_that_need_no_body_without_one) {
  auto server = start_server({}, echo);
  HttpClient client;
  for (std::string method : {"POST", "PUT", "DELETE"}) {
    auto response = client.send({.method = method, .url = url_of(*server, "/a")});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, method + " /a ");
  }
  auto head = client.send({.method = "HEAD", .url = url_of(*server, "/a")});
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->body, "");
}

TEST(HttpClient, sends_a_body_with_zero_bytes_and_a_large_one_without_waiting_for_leave) {
  std::atomic<bool> expected = false;
  auto server = start_server({.max_body_bytes = 8u << 20}, [&](Request request, Responder responder) {
    if (request.headers.find("Expect")) expected = true;
    responder.respond({.body = std::move(request.body)});
  });
  HttpClient client;
  std::string body(4u << 20, '\0');
  auto response = client.send({.method = "POST", .url = url_of(*server), .body = body});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, body);
  EXPECT_FALSE(expected);
}

TEST(HttpClient, carries_headers_both_ways_and_adds_no_content_type) {
  auto server = start_server({}, [](Request request, Responder responder) {
    Response response;
    for (const Header& h : request.headers.items()) response.body += h.name + "=" + h.value + "\n";
    response.headers = {{"X-Two", " spaced  "}, {"x-two", "again"}, {"X-Empty", ""}};
    responder.respond(std::move(response));
  });
  HttpClient client({.user_agent = "tester/1"});
  auto response = client.send({.method = "POST",
                               .url = url_of(*server),
                               .headers = {{"X-Api-Key", "k"}, {"X-Blank", ""}},
                               .body = "x"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_NE(response->body.find("X-Api-Key=k\n"), std::string::npos) << response->body;
  EXPECT_NE(response->body.find("X-Blank=\n"), std::string::npos) << response->body;
  EXPECT_NE(response->body.find("User-Agent=tester/1\n"), std::string::npos) << response->body;
  EXPECT_EQ(response->body.find("Content-Type"), std::string::npos) << response->body;
  EXPECT_EQ(response->headers.count("x-two"), 2u);
  EXPECT_EQ(*response->headers.find("x-two"), "spaced");
  ASSERT_TRUE(response->headers.find("x-empty"));
  EXPECT_EQ(*response->headers.find("x-empty"), "");
}

TEST(HttpClient, keeps_one_connection_between_requests) {
  auto server = start_server({}, echo);
  HttpClient client;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.send({.url = url_of(*server)}));
  EXPECT_EQ(server->stats().connections_accepted, 1u);
}

TEST(HttpClient, goes_on_with_a_new_connection_when_the_server_has_closed_the_old_one) {
  auto server = start_server({}, [](Request, Responder responder) { responder.respond({.close = true}); });
  HttpClient client;
  ASSERT_TRUE(client.send({.url = url_of(*server)}));
  auto again = client.send({.method = "POST", .url = url_of(*server), .body = "x"});
  ASSERT_TRUE(again) << again.error().message;
}

TEST(HttpClient, follows_no_redirect) {
  auto server = start_server({}, [](Request, Responder responder) {
    responder.respond({.status = 302, .headers = {{"Location", "/elsewhere"}}});
  });
  HttpClient client;
  auto response = client.send({.url = url_of(*server)});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 302);
  EXPECT_EQ(server->stats().requests, 1u);
}

TEST(HttpClient, says_why_there_is_no_response) {
  std::string url;
  {
    auto server = start_server({}, echo);
    url = url_of(*server, "/secret-path");
  }
  HttpClient client;
  auto refused = client.send({.url = url});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find("Connection refused"), std::string::npos) << refused.error().message;
  EXPECT_EQ(refused.error().message.find("secret-path"), std::string::npos) << refused.error().message;

  FixedAnswer nothing("");
  auto empty = client.send({.url = nothing.url()});
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("broke"), std::string::npos) << empty.error().message;
}

TEST(HttpClient, a_cut_response_is_no_response) {
  HttpClient client;
  FixedAnswer cut("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
  auto response = client.send({.url = cut.url()});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  FixedAnswer cut_chunks("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  response = client.send({.url = cut_chunks.url()});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
}

TEST(HttpClient, skips_interim_responses_and_trailers) {
  HttpClient client;
  FixedAnswer answer(
      "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n"
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Late: 2\r\n\r\n3\r\nabc\r\n0\r\nX-Trailer: "
      "3\r\n\r\n");
  auto response = client.send({.url = answer.url()});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "abc");
  EXPECT_FALSE(response->headers.find("X-Early"));
  EXPECT_TRUE(response->headers.find("X-Late"));
  EXPECT_FALSE(response->headers.find("X-Trailer"));
}

TEST(HttpClient, refuses_a_response_that_is_too_large) {
  auto server = start_server(
      {}, [](Request, Responder responder) { responder.respond({.body = std::string(100'000, 'x')}); });
  HttpClient client({.max_body_bytes = 99'999});
  auto response = client.send({.url = url_of(*server)});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(response.error().message.find("99999 bytes"), std::string::npos) << response.error().message;
  HttpClient larger({.max_body_bytes = 100'000});
  EXPECT_TRUE(larger.send({.url = url_of(*server)}));
}

TEST(HttpClient, refuses_what_cannot_be_a_request) {
  HttpClient client;
  auto code = [&](const ClientRequest& request) {
    auto response = client.send(request);
    return response ? std::nullopt : std::optional(response.error().code);
  };
  for (std::string url : {"", "localhost:80", "file:///etc/passwd", "ftp://localhost/", "http://",
                          "http://a b/", "http://a/\r\nX: y", "http://localhost:99999/", "http://[::1/"})
    EXPECT_EQ(code({.url = url}), ErrorCode::kInvalid) << url;
  EXPECT_EQ(code({.method = "G T", .url = "http://localhost/"}), ErrorCode::kInvalid);
  EXPECT_EQ(code({.url = "http://localhost/", .headers = {{"X", "a\r\nY: b"}}}), ErrorCode::kInvalid);
  EXPECT_EQ(code({.url = "http://localhost/", .headers = {{"X: Y", "a"}}}), ErrorCode::kInvalid);
}

TEST(HttpClient, gives_up_at_the_timeout) {
  std::optional<Responder> held;
  auto server = start_server({}, [&](Request, Responder responder) { held.emplace(std::move(responder)); });
  HttpClient client;
  auto response = client.send({.url = url_of(*server), .timeout = milliseconds(50)});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(response.error().message.find("within 0.05 s"), std::string::npos) << response.error().message;
}

TEST(HttpClient, an_interrupt_ends_the_running_request) {
  std::optional<Responder> held;
  std::promise<void> arrived;
  auto server = start_server({}, [&](Request, Responder responder) {
    held.emplace(std::move(responder));
    arrived.set_value();
  });
  HttpClient client;
  auto sending =
      std::async(std::launch::async, [&] { return client.send({.url = url_of(*server), .timeout = {}}); });
  arrived.get_future().wait();
  client.interrupt();
  EXPECT_EQ(sending.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  auto response = sending.get();
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
}

TEST(HttpClient, an_interrupt_before_a_request_ends_that_one_alone) {
  auto server = start_server({}, echo);
  HttpClient client;
  client.interrupt();
  EXPECT_FALSE(client.send({.url = url_of(*server)}));
  EXPECT_TRUE(client.send({.url = url_of(*server)}));
}

TEST(HttpClient, streams_pieces_as_they_come_until_the_server_ends) {
  std::optional<EventStream> stream;
  auto server = start_server(
      {}, [&](Request, Responder responder) { stream.emplace(responder.stream({.body = "first;"})); });
  HttpClient client;
  std::string seen;
  auto response =
      client.stream({.url = url_of(*server), .timeout = {}}, seconds(30), [&](std::string_view piece) {
        seen += piece;
        if (seen == "first;") stream->send("second;");  // only sent because the first one was seen
        if (seen == "first;second;") stream->close();
        return true;
      });
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "");
  EXPECT_EQ(seen, "first;second;");
}

TEST(HttpClient, a_stream_ends_when_its_reader_has_enough) {
  std::optional<EventStream> stream;
  std::promise<void> left;
  auto server = start_server({}, [&](Request, Responder responder) {
    stream.emplace(responder.stream({.body = "first;"}));
    stream->on_close([&] { left.set_value(); });
  });
  HttpClient client;
  auto response =
      client.stream({.url = url_of(*server), .timeout = {}}, {}, [](std::string_view) { return false; });
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  left.get_future().wait();  // and the line is closed
}

TEST(HttpClient, a_stream_that_is_refused_comes_back_whole) {
  auto server = start_server(
      {}, [](Request, Responder responder) { responder.respond({.status = 403, .body = "forbidden"}); });
  HttpClient client;
  auto response = client.stream({.url = url_of(*server)}, seconds(30), [](std::string_view) {
    ADD_FAILURE() << "not a piece of the stream";
    return true;
  });
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 403);
  EXPECT_EQ(response->body, "forbidden");
}

TEST(HttpClient, a_stream_that_falls_silent_or_breaks_is_an_error) {
  std::optional<EventStream> stream;
  auto server = start_server(
      {}, [&](Request, Responder responder) { stream.emplace(responder.stream({.body = "first;"})); });
  HttpClient client;
  auto all = [](std::string_view) { return true; };
  auto silent = client.stream({.url = url_of(*server), .timeout = {}}, milliseconds(50), all);
  ASSERT_FALSE(silent);
  EXPECT_NE(silent.error().message.find("nothing came for 0.05 s"), std::string::npos)
      << silent.error().message;

  FixedAnswer cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  auto broken = client.stream({.url = cut.url(), .timeout = {}}, seconds(30), all);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kUnavailable);
}

TEST(HttpClient, trusts_a_server_only_through_a_known_certificate_unless_told_not_to_look) {
  SelfSigned self_signed;
  auto server = start_server({.tls = self_signed.files()}, echo);
  std::string url = "https://127.0.0.1:" + std::to_string(server->port()) + "/x";
  HttpClient with_system_authorities;
  auto refused = with_system_authorities.send({.url = url});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("not trusted"), std::string::npos) << refused.error().message;

  HttpClient with_its_certificate({.ca_file = self_signed.files().certificate_file});
  auto trusted = with_its_certificate.send({.url = url});
  ASSERT_TRUE(trusted) << trusted.error().message;
  EXPECT_EQ(trusted->body, "GET /x ");

  EXPECT_TRUE(HttpClient({.verify_tls = false}).send({.url = url}));

  auto no_file = HttpClient({.ca_file = self_signed.folder.file("absent.pem")}).send({.url = url});
  ASSERT_FALSE(no_file);
  EXPECT_NE(no_file.error().message.find("absent.pem"), std::string::npos) << no_file.error().message;
}

TEST(PercentEncode, escapes_everything_but_unreserved_characters) {
  EXPECT_EQ(percent_encode("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encode("a/b c+d%\xc3\xa9?&="), "a%2Fb%20c%2Bd%25%C3%A9%3F%26%3D");
  EXPECT_EQ(percent_encode(std::string_view("\0", 1)), "%00");
  EXPECT_EQ(percent_decode(percent_encode("\x7f\xff\n")).value(), "\x7f\xff\n");
}

}  // namespace
}  // namespace ctrlplane::net
