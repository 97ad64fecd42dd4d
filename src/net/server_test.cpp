#include "net/server.h"

#include <future>
#include <latch>
#include <thread>

#include "net/testing.h"

namespace ctrlplane::net {
namespace {

std::string get(std::string_view path, std::string_view more = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" + std::string(more) + "\r\n";
}
std::string post(std::string_view path, std::string_view body) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(HttpServer, keeps_a_connection_for_many_requests) {
  auto server = start_server({}, echo);
  RawClient client(server->port());
  for (int i = 0; i < 50; ++i) {
    client.send(post("/p", std::to_string(i)));
    auto a = client.answer();
    EXPECT_EQ(a.status, 200);
    EXPECT_EQ(a.body, "POST /p " + std::to_string(i));
    EXPECT_FALSE(has(a.head, "Connection:"));
    EXPECT_TRUE(has(a.head, "Date: "));
  }
  EXPECT_EQ(server->stats().connections_accepted, 1u);
  EXPECT_EQ(server->stats().requests, 50u);
}

TEST(HttpServer, tells_the_handler_who_asks) {
  auto server = start_server({}, [](Request request, Responder responder) {
    responder.respond({.body = request.peer + " " + *request.headers.find("host")});
  });
  RawClient client(server->port());
  client.send(get("/"));
  EXPECT_EQ(client.answer().body, "127.0.0.1 x");
}

TEST(HttpServer, reads_a_request_cut_at_any_byte) {
  auto server = start_server({}, echo);
  const std::string bytes = post("/p", "body");
  RawClient client(server->port());
  for (size_t at = 1; at < bytes.size(); ++at) {
    client.send(bytes.substr(0, at));
    client.send(bytes.substr(at));
    ASSERT_EQ(client.answer().body, "POST /p body") << at;
  }
}

// Collects Responders, to be answered in whatever order.
struct Held {
  std::mutex mutex;
  std::condition_variable came;
  std::vector<std::pair<Request, Responder>> all;
  HttpServer::Handler handler() {
    return [this](Request request, Responder responder) {
      std::lock_guard lock(mutex);
      all.emplace_back(std::move(request), std::move(responder));
      came.notify_all();
    };
  }
  void wait_for(size_t n) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(came.wait_for(lock, std::chrono::seconds(8), [&] { return all.size() >= n; }));
  }
};

TEST(HttpServer, sends_pipelined_answers_in_the_order_of_the_requests) {
  Held held;
  auto server = start_server({}, held.handler());
  RawClient client(server->port());
  client.send(get("/0") + get("/1") + get("/2") + get("/3"));
  held.wait_for(4);
  for (size_t i : {2, 0, 3, 1}) held.all[i].second.respond({.body = held.all[i].first.path});
  for (const char* path : {"/0", "/1", "/2", "/3"}) EXPECT_EQ(client.answer().body, path);
}

TEST(HttpServer, takes_no_more_pipelined_requests_than_it_may_and_goes_on_when_answered) {
  Held held;
  auto server = start_server({.max_pipelined = 2}, held.handler());
  RawClient client(server->port());
  std::string all;
  for (int i = 0; i < 6; ++i) all += get("/" + std::to_string(i));
  client.send(all);
  held.wait_for(2);
  for (size_t i = 0; i < 6; ++i) {
    held.wait_for(i + 1);
    EXPECT_LE(server->stats().requests, i + 2);
    held.all[i].second.respond({.body = held.all[i].first.path});
    EXPECT_EQ(client.answer().body, "/" + std::to_string(i));
  }
}

TEST(HttpServer, a_refusal_waits_for_the_answers_before_it) {
  Held held;
  auto server = start_server({}, held.handler());
  RawClient client(server->port());
  client.send(get("/0") + "nonsense\r\n\r\n" + get("/never"));
  held.wait_for(1);
  held.all[0].second.respond({.body = "first"});
  EXPECT_EQ(client.answer().body, "first");
  auto a = client.answer();
  EXPECT_EQ(a.status, 400);
  EXPECT_TRUE(has(a.head, "Connection: close"));
  EXPECT_TRUE(client.at_end());
  EXPECT_EQ(server->stats().requests, 1u);
}

TEST(HttpServer, answers_head_without_a_body) {
  auto server = start_server({}, echo);
  RawClient client(server->port());
  client.send("HEAD /h HTTP/1.1\r\nHost: x\r\n\r\n" + get("/g"));
  EXPECT_TRUE(has(client.answer(true).head, "Content-Length: 8\r\n"));
  EXPECT_EQ(client.answer().body, "GET /g ");
}

TEST(HttpServer, closes_when_asked_and_after_http_1_0) {
  auto server = start_server({}, echo);
  for (const std::string& bytes : {get("/", "Connection: close\r\n"), get("/", "connection: x, Close\r\n"),
                                   std::string("GET / HTTP/1.0\r\n\r\n")}) {
    RawClient client(server->port());
    client.send(bytes);
    auto a = client.answer();
    EXPECT_EQ(a.body, "GET / ");
    EXPECT_TRUE(has(a.head, "Connection: close"));
    EXPECT_TRUE(client.at_end());
  }
  RawClient client(server->port());
  client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(has(client.answer().head, "Connection: keep-alive"));
  client.send(get("/again"));
  EXPECT_EQ(client.answer().body, "GET /again ");
}

TEST(HttpServer, closes_after_the_last_request_a_connection_may_have) {
  auto server = start_server({.max_requests_per_connection = 2}, echo);
  RawClient client(server->port());
  client.send(get("/1") + get("/2") + get("/3"));
  EXPECT_FALSE(has(client.answer().head, "close"));
  EXPECT_TRUE(has(client.answer().head, "Connection: close"));
  EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, answers_a_client_that_has_closed_its_half) {
  Held held;
  auto server = start_server({}, held.handler());
  RawClient client(server->port());
  client.send(get("/"));
  client.shut_sending();
  held.wait_for(1);
  held.all[0].second.respond({.body = "late"});
  EXPECT_EQ(client.answer().body, "late");
  EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, says_continue_to_a_client_that_waits_for_it) {
  auto server = start_server({.max_body_bytes = 10}, echo);
  RawClient client(server->port());
  client.send("PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(client.answer().body, "PUT /a abc");
  client.send("PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.answer().status, 413);
}

TEST(HttpServer, says_continue_only_after_the_answers_before_it) {
  Held held;
  auto server = start_server({}, held.handler());
  RawClient client(server->port());
  client.send(get("/0") + "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  held.wait_for(1);
  held.all[0].second.respond({.body = "zero"});
  EXPECT_EQ(client.answer().body, "zero");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  held.wait_for(2);
  EXPECT_EQ(held.all[1].first.body, "abc");
}

TEST(HttpServer, a_dropped_responder_answers_500_and_so_does_a_handler_that_throws) {
  HttpOptions options;
  options.error_response = [](int status) { return Response{.status = status, .body = "mine"}; };
  auto server = start_server(options, [](Request request, Responder) {
    if (request.path == "/throw") throw std::runtime_error("on purpose");
  });
  RawClient client(server->port());
  for (const char* path : {"/drop", "/throw"}) {
    client.send(get(path));
    auto a = client.answer();
    EXPECT_EQ(a.status, 500);
    EXPECT_EQ(a.body, "mine");
  }
}

TEST(HttpServer, answers_from_other_threads_and_serves_many_connections) {
  Held held;
  auto server = start_server({}, held.handler());
  constexpr size_t kClients = 200;
  std::vector<RawClient> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.emplace_back(server->port());
    clients.back().send(get("/" + std::to_string(i)));
  }
  held.wait_for(kClients);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = t; i < kClients; i += 4) held.all[i].second.respond({.body = held.all[i].first.path});
    });
  for (auto& t : threads) t.join();
  for (size_t i = 0; i < kClients; ++i) EXPECT_EQ(clients[i].answer().body, "/" + std::to_string(i));
  EXPECT_EQ(server->stats().connections_open, kClients);
}

TEST(HttpServer, a_responder_may_outlive_its_connection_and_its_server) {
  Held held;
  auto server = start_server({}, held.handler());
  {
    RawClient client(server->port());
    client.send(get("/0"));
    held.wait_for(1);
  }
  RawClient client(server->port());
  client.send(get("/1"));
  held.wait_for(2);
  held.all[0].second.respond({});
  server.reset();
  held.all[1].second.respond({});
  EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, says_why_it_cannot_start) {
  auto first = start_server({}, echo);
  EXPECT_FALSE(HttpServer::start({.port = first->port()}, echo));
  EXPECT_FALSE(HttpServer::start({.address = "nowhere"}, echo));
  EXPECT_FALSE(HttpServer::start({.tls = TlsFiles{"/nonexistent", "/nonexistent"}}, echo));
}

// ---- Shutdown ------------------------------------------------------------------------------------------

TEST(HttpServerShutdown, answers_what_was_accepted_and_closes_the_idle) {
  Held held;
  auto server = start_server({}, held.handler());
  RawClient idle(server->port()), busy(server->port()), half(server->port());
  idle.send(get("/idle"));
  held.wait_for(1);
  held.all[0].second.respond({});
  EXPECT_EQ(idle.answer().status, 200);
  half.send(get("/half") + "POST /rest HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na");
  held.wait_for(2);
  busy.send(get("/busy"));
  held.wait_for(3);
  auto done = std::async(std::launch::async, [&] { return server->shutdown(seconds(8)); });
  EXPECT_TRUE(idle.at_end());
  EXPECT_FALSE(RawClient(server->port()).connected());
  half.send("b");
  held.wait_for(4);
  for (size_t i : {1, 2, 3}) held.all[i].second.respond({.body = held.all[i].first.path});
  auto a = busy.answer();
  EXPECT_EQ(a.body, "/busy");
  EXPECT_TRUE(has(a.head, "Connection: close"));
  EXPECT_TRUE(busy.at_end());
  EXPECT_EQ(half.answer().body, "/half");
  EXPECT_EQ(half.answer().body, "/rest");
  EXPECT_TRUE(half.at_end());
  {
    RawClient gone[] = {std::move(idle), std::move(busy), std::move(half)};
  }
  EXPECT_TRUE(done.get());
  EXPECT_TRUE(server->shutdown(seconds(1)));
}

TEST(HttpServerShutdown, does_not_wait_for_idle_clients_to_close) {
  auto server = start_server({.linger_timeout = minutes(5)}, echo);
  RawClient idle(server->port());
  idle.send(get("/"));
  EXPECT_EQ(idle.answer().status, 200);
  EXPECT_TRUE(server->shutdown(seconds(8)));
  EXPECT_TRUE(idle.at_end());
}

TEST(HttpServerShutdown, drops_what_is_not_answered_in_time) {
  Held held;
  auto server = start_server({}, held.handler());
  RawClient client(server->port());
  client.send(get("/"));
  held.wait_for(1);
  EXPECT_FALSE(server->shutdown(milliseconds(20)));
  EXPECT_TRUE(client.at_end());
}

}  // namespace
}  // namespace ctrlplane::net
