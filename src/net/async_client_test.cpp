#include "net/async_client.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "net/testing.h"
#include "net/testing_certificate.h"

namespace ctrlplane::net {
namespace {

using Answer = std::expected<Response, Failure>;
using End = std::expected<void, Failure>;

std::string url_of(uint16_t port, std::string_view path = "/") {
  return "http://127.0.0.1:" + std::to_string(port) + std::string(path);
}
std::string url_of(const HttpServer& server, std::string_view path = "/") {
  return url_of(server.port(), path);
}

template <class T>
T wait_for(std::future<T> future) {
  if (future.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
    ADD_FAILURE() << "nothing came";
    std::abort();
  }
  return future.get();
}

std::future<Answer> begin(AsyncClient& client, ClientRequest request) {
  auto promise = std::make_shared<std::promise<Answer>>();
  client.send(std::move(request), [promise](Answer answer) { promise->set_value(std::move(answer)); });
  return promise->get_future();
}

Answer ask(AsyncClient& client, ClientRequest request) { return wait_for(begin(client, std::move(request))); }

// A listener whose connections are dealt with one after the other, by a function.
class Script {
 public:
  explicit Script(std::function<void(int fd)> serve) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(fd_, 8), 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this, serve = std::move(serve)] {
      for (int peer; (peer = ::accept(fd_, nullptr, nullptr)) >= 0; ::close(peer)) serve(peer);
    });
  }
  ~Script() { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  std::string url() const { return url_of(port_); }

  // A request without a body, or the end.
  static std::string read_head(int fd) {
    std::string head;
    for (char c; !head.ends_with("\r\n\r\n") && ::recv(fd, &c, 1, 0) == 1;) head += c;
    return head;
  }
  static void write(int fd, std::string_view bytes) {
    EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

 private:
  int fd_;
  uint16_t port_ = 0;
  std::thread thread_;
};

// Answers when told to.
class Holder {
 public:
  HttpServer::Handler handler() {
    return [this](Request, Responder responder) {
      std::lock_guard lock(mutex_);
      held_.push_back(std::move(responder));
      if (++seen_ == wanted_) reached_.set_value();
    };
  }
  explicit Holder(size_t wanted) : wanted_(wanted) {}
  void wait() { wait_for(reached_.get_future()); }
  void answer_all() {
    std::lock_guard lock(mutex_);
    for (Responder& responder : held_) responder.respond({.body = "at last"});
    held_.clear();
  }

 private:
  const size_t wanted_;
  std::promise<void> reached_;
  std::mutex mutex_;
  size_t seen_ = 0;
  std::vector<Responder> held_;
};

// What a stream said, and its end.
struct Heard {
  std::atomic<int> heads = 0, ends = 0;
  std::string text;
  Response head;
  std::promise<void> first;
  std::promise<End> end;

  StreamEvents events(std::function<bool(std::string_view)> then = {}) {
    return {.on_head =
                [this](Response given) {
                  ++heads;
                  head = std::move(given);
                },
            .on_data =
                [this, then](std::string_view piece) {
                  EXPECT_EQ(heads, 1);
                  if (text.empty()) first.set_value();
                  text += piece;
                  return !then || then(piece);
                },
            .on_end =
                [this](End given) {
                  if (++ends == 1) end.set_value(std::move(given));
                }};
  }
  End wait() { return wait_for(end.get_future()); }
};

TEST(AsyncClient, carries_method_path_headers_and_body_both_ways) {
  auto server = start_server({}, [](Request request, Responder responder) {
    Response response{.status = 418, .headers = {{"X-Two", "a"}, {"x-two", "b"}, {"Keep-Alive", "5"}}};
    response.body = request.method + " " + request.target + " " + request.body + "\n";
    for (const Header& h : request.headers.items()) response.body += h.name + "=" + h.value + "\n";
    responder.respond(std::move(response));
  });
  AsyncClient client;
  auto answer = ask(client, {.method = "PATCH",
                             .url = url_of(*server, "/a/../b?q=1"),
                             .headers = {{"X-Key", "1"}, {"X-Key", "2"}, {"X-Blank", ""}, {"Host", "other"}},
                             .body = "text"});
  ASSERT_TRUE(answer) << answer.error().error.message;
  EXPECT_EQ(answer->status, 418);
  for (std::string_view part :
       {"PATCH /a/../b?q=1 text\n", "X-Key=1\nX-Key=2\n", "X-Blank=\n", "Host=other\n"})
    EXPECT_NE(answer->body.find(part), std::string::npos) << part << " in " << answer->body;
  EXPECT_EQ(answer->headers.count("X-Two"), 2u);
}

TEST(AsyncClient, leaves_out_headers_that_speak_of_one_connection) {
  auto server = start_server({}, [](Request request, Responder responder) {
    Response response{.headers = {{"Keep-Alive", "5"}, {"Trailer", "X"}}};
    for (const Header& h : request.headers.items()) response.body += h.name + "=" + h.value + "\n";
    responder.respond(std::move(response));
  });
  AsyncClient client;
  Headers headers = {{"Content-Length", "99"},   {"Transfer-Encoding", "chunked"},
                     {"Expect", "100-continue"}, {"Connection", "close"},
                     {"keep-alive", "9"},        {"Trailer", "Y"}};
  auto answer = ask(client, {.method = "POST", .url = url_of(*server), .headers = headers, .body = "four"});
  ASSERT_TRUE(answer) << answer.error().error.message;
  EXPECT_NE(answer->body.find("Content-Length=4\n"), std::string::npos) << answer->body;
  for (const Header& h : headers.items()) {
    EXPECT_EQ(answer->body.find(h.name + "=" + h.value), std::string::npos) << answer->body;
    EXPECT_FALSE(answer->headers.find(h.name)) << h.name;
  }
  EXPECT_TRUE(answer->headers.find("Date"));
}

TEST(AsyncClient, keeps_connections_between_requests) {
  auto server = start_server({}, echo);
  AsyncClient client;
  for (int i = 0; i < 20; ++i) {
    auto answer = ask(client, {.method = i % 2 ? "POST" : "GET", .url = url_of(*server)});
    ASSERT_TRUE(answer) << answer.error().error.message;
  }
  EXPECT_EQ(server->stats().connections_accepted, 1u);
}

TEST(AsyncClient, has_many_requests_under_way_at_once) {
  Holder holder(200);
  auto server = start_server({}, holder.handler());
  AsyncClient client({.max_connections_per_host = 200});
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < 200; ++i) answers.push_back(begin(client, {.url = url_of(*server)}));
  holder.wait();
  holder.answer_all();
  for (auto& future : answers) {
    auto answer = wait_for(std::move(future));
    ASSERT_TRUE(answer) << answer.error().error.message;
    EXPECT_EQ(answer->body, "at last");
  }
}

TEST(AsyncClient, uses_no_more_connections_to_a_host_than_allowed) {
  auto server = start_server({}, echo);
  AsyncClient client({.max_connections_per_host = 4});
  std::vector<std::future<Answer>> answers;
  std::vector<std::jthread> senders;
  std::mutex mutex;
  for (int t = 0; t < 4; ++t)
    senders.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        auto future = begin(client, {.method = "POST", .url = url_of(*server), .body = std::to_string(i)});
        std::lock_guard lock(mutex);
        answers.push_back(std::move(future));
      }
    });
  senders.clear();
  for (auto& future : answers) EXPECT_TRUE(wait_for(std::move(future)));
  EXPECT_EQ(server->stats().requests, 200u);
  EXPECT_LE(server->stats().connections_accepted, 4u);
}

TEST(AsyncClient, refuses_what_is_over_its_bounds_and_takes_more_once_something_ended) {
  Holder holder(1);
  auto server = start_server({}, holder.handler());
  Heard open, refused;  // streams have a bound of their own
  AsyncClient client({.max_requests = 1, .max_streams = 1});
  auto first = begin(client, {.url = url_of(*server)});
  holder.wait();
  auto second = ask(client, {.url = url_of(*server)});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().error.code, ErrorCode::kBusy);
  EXPECT_FALSE(second.error().maybe_sent);

  AsyncClient::Stream handle = client.stream({.url = url_of(*server)}, {}, open.events());
  client.stream({.url = url_of(*server)}, {}, refused.events());
  ASSERT_EQ(refused.ends, 1);
  EXPECT_EQ(refused.wait().error().error.code, ErrorCode::kBusy);
  handle.cancel();
  open.wait();

  holder.answer_all();
  EXPECT_TRUE(wait_for(std::move(first)));
  auto again = begin(client, {.url = url_of(*server), .timeout = milliseconds(50)});
  EXPECT_EQ(wait_for(std::move(again)).error().error.code, ErrorCode::kUnavailable);  // taken, not answered
}

TEST(AsyncClient, refuses_what_cannot_be_a_request) {
  AsyncClient client;
  auto code = [&](ClientRequest request) {
    auto answer = ask(client, std::move(request));
    if (answer || answer.error().maybe_sent) return std::optional<ErrorCode>();
    return std::optional(answer.error().error.code);
  };
  for (std::string url : {"", "localhost:80", "file:///etc/passwd", "http://", "http://a b/",
                          "http://a/\r\nX: y", "http://localhost:99999/", "http://[::1/"})
    EXPECT_EQ(code({.url = url}), ErrorCode::kInvalid) << url;
  EXPECT_EQ(code({.method = "G T", .url = "http://localhost/"}), ErrorCode::kInvalid);
  EXPECT_EQ(code({.url = "http://localhost/", .headers = {{"X", "a\r\nY: b"}}}), ErrorCode::kInvalid);
}

TEST(AsyncClient, knows_that_nothing_was_sent_where_no_connection_came_about) {
  std::string url = url_of(*start_server({}, echo), "/secret-path");
  AsyncClient client({.client = {.connect_timeout = milliseconds(50)}});
  auto refused = ask(client, {.method = "POST", .url = url, .body = "x"});
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().maybe_sent);
  EXPECT_EQ(refused.error().error.code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().error.message.find("Connection refused"), std::string::npos)
      << refused.error().error.message;
  EXPECT_EQ(refused.error().error.message.find("secret-path"), std::string::npos);

  auto no_tls = start_server({}, echo);
  auto garbled =
      ask(client, {.method = "POST", .url = "https://127.0.0.1:" + std::to_string(no_tls->port())});
  ASSERT_FALSE(garbled);
  EXPECT_FALSE(garbled.error().maybe_sent);
  EXPECT_EQ(no_tls->stats().requests, 0u);
}

TEST(AsyncClient, knows_that_nothing_was_sent_when_connecting_takes_too_long) {
  // Nobody accepts, and the queue is full: the kernel answers no further attempt.
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(fd, 0), 0);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  RawClient fills_the_queue(ntohs(at.sin_port));
  AsyncClient client({.client = {.connect_timeout = milliseconds(50)}});
  auto late = ask(client, {.method = "POST", .url = url_of(ntohs(at.sin_port))});
  ASSERT_FALSE(late);
  EXPECT_FALSE(late.error().maybe_sent);
  EXPECT_NE(late.error().error.message.find("cannot connect within 0.05 s"), std::string::npos)
      << late.error().error.message;
  ::close(fd);
}

TEST(AsyncClient, is_in_doubt_when_the_line_breaks_after_the_request) {
  for (std::string part :
       {"", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
        "nonsense\r\n\r\n"}) {
    Script script([&](int fd) {
      Script::read_head(fd);
      if (!part.empty()) Script::write(fd, part);
    });
    AsyncClient client;
    auto answer = ask(client, {.method = "POST", .url = script.url()});
    ASSERT_FALSE(answer) << part;
    EXPECT_TRUE(answer.error().maybe_sent) << part;
    EXPECT_EQ(answer.error().error.code, ErrorCode::kUnavailable) << part;
  }
}

TEST(AsyncClient, never_sends_a_request_twice_when_a_kept_connection_breaks) {
  for (std::string method : {"POST", "GET"}) {
    for (std::string body : {"", "with a body"}) {
      std::vector<std::string> seen;
      Script script([&](int fd) {
        for (std::string head; !(head = Script::read_head(fd)).empty();) {
          seen.push_back(head.substr(0, head.find(" HTTP")));
          if (seen.size() > 1) return;  // takes the second request and closes without a word
          Script::write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
      });
      std::optional<AsyncClient> client(std::in_place);
      ASSERT_TRUE(ask(*client, {.url = script.url()}));
      auto answer = ask(*client, {.method = method, .url = script.url() + "x", .body = body});
      ASSERT_FALSE(answer) << method;
      EXPECT_TRUE(answer.error().maybe_sent);
      EXPECT_EQ(answer.error().error.code, ErrorCode::kUnavailable);
      EXPECT_NE(answer.error().error.message.find("broke"), std::string::npos)
          << answer.error().error.message;
      client.reset();  // closes all connections, so that the script has read what there is
      script.stop();
      EXPECT_EQ(seen, (std::vector<std::string>{"GET /", method + " /x"}));
    }
  }
}

TEST(AsyncClient, gives_up_at_the_timeout) {
  Holder holder(1);
  auto server = start_server({}, holder.handler());
  AsyncClient client({.max_connections_per_host = 1});
  auto unanswered = ask(client, {.url = url_of(*server), .timeout = milliseconds(300)});
  ASSERT_FALSE(unanswered);
  EXPECT_TRUE(unanswered.error().maybe_sent);
  EXPECT_NE(unanswered.error().error.message.find("no complete answer within 0.3 s"), std::string::npos)
      << unanswered.error().error.message;

  auto holds_the_connection = begin(client, {.url = url_of(*server), .timeout = {}});
  auto waiting = ask(client, {.url = url_of(*server), .timeout = milliseconds(50)});
  ASSERT_FALSE(waiting);
  EXPECT_FALSE(waiting.error().maybe_sent);
  EXPECT_NE(waiting.error().error.message.find("no connection was free within 0.05 s"), std::string::npos)
      << waiting.error().error.message;
}

TEST(AsyncClient, carries_large_bodies_and_bounds_them) {
  auto server = start_server({.max_body_bytes = 32u << 20}, [](Request request, Responder responder) {
    responder.respond({.body = std::move(request.body)});
  });
  AsyncClient client({.client = {.max_body_bytes = 16u << 20}});
  std::string body(16u << 20, '\0');
  auto answer = ask(client, {.method = "POST", .url = url_of(*server), .body = body});
  ASSERT_TRUE(answer) << answer.error().error.message;
  EXPECT_TRUE(answer->body == body);
  auto larger = ask(client, {.method = "POST", .url = url_of(*server), .body = body + "x"});
  ASSERT_FALSE(larger);
  EXPECT_TRUE(larger.error().maybe_sent);
  EXPECT_NE(larger.error().error.message.find("16777216 bytes"), std::string::npos)
      << larger.error().error.message;
}

TEST(AsyncClient, sends_nothing_to_a_server_it_does_not_trust) {
  SelfSigned certificate;
  auto server = start_server({.tls = certificate.files(), .max_body_bytes = 4u << 20}, echo);
  std::string url = "https://127.0.0.1:" + std::to_string(server->port()) + "/x";
  AsyncClient with_system_authorities;
  auto refused = ask(with_system_authorities, {.method = "POST", .url = url});
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().maybe_sent);
  EXPECT_NE(refused.error().error.message.find("not trusted"), std::string::npos);
  EXPECT_EQ(server->stats().requests, 0u);

  AsyncClient with_its_certificate({.client = {.ca_file = certificate.files().certificate_file}});
  std::string body(3u << 20, 'x');
  auto trusted = ask(with_its_certificate, {.method = "POST", .url = url, .body = body});
  ASSERT_TRUE(trusted) << trusted.error().error.message;
  EXPECT_TRUE(trusted->body == "POST /x " + body);
}

TEST(AsyncClient, asks_the_environments_proxy_only_if_told_to) {
  auto server = start_server({}, echo);
  std::string nobody = url_of(*start_server({}, echo));
  ASSERT_EQ(::setenv("http_proxy", nobody.c_str(), 1), 0);
  EXPECT_TRUE(ask(*std::make_unique<AsyncClient>(), {.url = url_of(*server)}));
  EXPECT_FALSE(
      ask(*std::make_unique<AsyncClient>(AsyncClientOptions{.use_proxy = true}), {.url = url_of(*server)}));
  ::unsetenv("http_proxy");
}

TEST(AsyncClient, a_callback_may_send_the_next_request) {
  auto server = start_server({}, echo);
  AsyncClient client({.max_requests = 1});
  std::promise<Answer> last;
  std::function<void(int)> go = [&](int left) {
    client.send({.url = url_of(*server)}, [&, left](Answer answer) {
      if (left == 0 || !answer)
        last.set_value(std::move(answer));
      else
        go(left - 1);
    });
  };
  go(10);
  EXPECT_TRUE(wait_for(last.get_future()));
  EXPECT_EQ(server->stats().requests, 11u);
}

TEST(AsyncClientStream, hands_over_pieces_as_they_come_until_the_server_ends) {
  std::optional<EventStream> stream;
  auto server = start_server({}, [&](Request, Responder responder) {
    stream.emplace(responder.stream({.headers = {{"X-Kind", "events"}}, .body = "first;"}));
  });
  Heard heard;
  AsyncClient client;
  client.stream({.url = url_of(*server)}, seconds(60), heard.events([&](std::string_view) {
    if (heard.text == "first;") stream->send("second;");  // only sent because the first one was seen
    if (heard.text == "first;second;") stream->close();
    return true;
  }));
  End end = heard.wait();
  EXPECT_TRUE(end) << end.error().error.message;
  EXPECT_EQ(heard.text, "first;second;");
  EXPECT_EQ(heard.head.status, 200);
  EXPECT_EQ(*heard.head.headers.find("X-Kind"), "events");
  EXPECT_FALSE(heard.head.headers.find("Transfer-Encoding"));
}

TEST(AsyncClientStream, hears_a_refusal_as_head_and_body) {
  auto server = start_server(
      {}, [](Request, Responder responder) { responder.respond({.status = 403, .body = "forbidden"}); });
  Heard heard;
  AsyncClient client;
  client.stream({.url = url_of(*server)}, {}, heard.events());
  EXPECT_TRUE(heard.wait());
  EXPECT_EQ(heard.head.status, 403);
  EXPECT_EQ(heard.text, "forbidden");
}

TEST(AsyncClientStream, ends_when_its_reader_has_enough) {
  std::optional<EventStream> stream;
  std::promise<void> left;
  auto server = start_server({}, [&](Request, Responder responder) {
    stream.emplace(responder.stream({.body = "first;"}));
    stream->on_close([&] { left.set_value(); });
  });
  Heard heard;
  AsyncClient client;
  client.stream({.url = url_of(*server)}, {}, heard.events([](std::string_view) { return false; }));
  EXPECT_TRUE(heard.wait());
  wait_for(left.get_future());  // and the line is closed
}

TEST(AsyncClientStream, ends_when_cancelled_from_another_thread) {
  std::optional<EventStream> stream;
  std::promise<void> left;
  auto server = start_server({}, [&](Request, Responder responder) {
    stream.emplace(responder.stream({.body = "first;"}));
    stream->on_close([&] { left.set_value(); });
  });
  Heard heard;
  AsyncClient client;
  auto handle = client.stream({.url = url_of(*server)}, {}, heard.events());
  wait_for(heard.first.get_future());
  handle.cancel();
  handle.cancel();
  End end = heard.wait();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().error.code, ErrorCode::kUnavailable);
  wait_for(left.get_future());
  handle.cancel();
  EXPECT_EQ(heard.ends, 1);
}

TEST(AsyncClientStream, its_timeout_is_for_the_head_and_silence_has_its_own) {
  Holder holder(1);
  auto mute = start_server({}, holder.handler());
  Heard headless, silent;
  AsyncClient client;
  client.stream({.url = url_of(*mute), .timeout = milliseconds(50)}, seconds(60), headless.events());
  End end = headless.wait();
  ASSERT_FALSE(end);
  EXPECT_EQ(headless.heads, 0);
  EXPECT_NE(end.error().error.message.find("within 0.05 s"), std::string::npos) << end.error().error.message;

  std::optional<EventStream> stream;
  auto server = start_server(
      {}, [&](Request, Responder responder) { stream.emplace(responder.stream({.body = "first;"})); });
  client.stream({.url = url_of(*server), .timeout = seconds(1)}, milliseconds(1500), silent.events());
  end = silent.wait();
  ASSERT_FALSE(end);
  EXPECT_EQ(silent.text, "first;");
  EXPECT_NE(end.error().error.message.find("nothing came for 1.5 s"), std::string::npos)
      << end.error().error.message;
}

TEST(AsyncClientStream, takes_no_connection_from_plain_requests) {
  std::vector<EventStream> streams;
  auto server = start_server({}, [&](Request request, Responder responder) {
    if (request.path != "/events") return echo(std::move(request), std::move(responder));
    streams.push_back(responder.stream({.body = "first;"}));
  });
  std::array<Heard, 5> heard;
  AsyncClient client({.max_connections_per_host = 1});
  for (Heard& h : heard) client.stream({.url = url_of(*server, "/events")}, {}, h.events());
  for (Heard& h : heard) wait_for(h.first.get_future());
  EXPECT_TRUE(ask(client, {.url = url_of(*server)}));
}

TEST(AsyncClientEnd, tells_everybody_once_before_it_is_gone) {
  Holder holder(4);
  std::optional<EventStream> stream;
  auto server = start_server({}, [&, hold = holder.handler()](Request request, Responder responder) {
    if (request.path != "/events") return hold(std::move(request), std::move(responder));
    stream.emplace(responder.stream({.body = "first;"}));
  });
  auto owner = std::make_unique<AsyncClient>(AsyncClientOptions{.max_connections_per_host = 4});
  AsyncClient* client = owner.get();
  Heard heard;
  auto handle = client->stream({.url = url_of(*server, "/events"), .timeout = {}}, {}, heard.events());
  wait_for(heard.first.get_future());
  int sent = 0, waiting = 0, refused = 0;
  for (int i = 0; i < 50; ++i) {
    client->send({.method = "POST", .url = url_of(*server), .timeout = {}}, [&](Answer answer) {
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().error.code, ErrorCode::kUnavailable);
      ++(answer.error().maybe_sent ? sent : waiting);
      client->send({.url = url_of(*server)}, [&](Answer late) { refused += !late; });
    });
  }
  holder.wait();
  owner.reset();
  EXPECT_EQ(sent, 4);
  EXPECT_EQ(waiting, 46);
  EXPECT_EQ(refused, 50);
  EXPECT_EQ(heard.ends, 1);
  EXPECT_FALSE(heard.wait());
  handle.cancel();  // of a client that is gone
}

TEST(AsyncClientEnd, may_come_right_after_a_request_or_never_see_one) {
  auto server = start_server({}, echo);
  for (int i = 0; i < 50; ++i) {
    std::atomic<int> told = 0;
    {
      AsyncClient client;
      for (int n = 0; n < i % 5; ++n) client.send({.url = url_of(*server)}, [&](const Answer&) { ++told; });
    }
    EXPECT_EQ(told, i % 5);
  }
}

}  // namespace
}  // namespace ctrlplane::net
