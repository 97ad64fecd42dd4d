#include <future>
#include <latch>
#include <thread>

#include "net/testing.h"

namespace ctrlplane::net {
namespace {

const std::string kGet = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n";

// A server whose one request becomes a stream.
struct Streaming {
  std::promise<EventStream> promise;
  std::unique_ptr<HttpServer> server;
  explicit Streaming(HttpOptions options = {}) {
    server = start_server(std::move(options), [this](Request, Responder responder) {
      promise.set_value(responder.stream({.headers = {{"Content-Type", "text/event-stream"}}, .body = "hi"}));
    });
  }
  EventStream stream() { return promise.get_future().get(); }
};

TEST(EventStream, sends_chunks_as_they_come_and_ends_properly) {
  Streaming s;
  RawClient client(s.server->port());
  client.send(kGet);
  EventStream stream = s.stream();
  std::string head = client.read_until("\r\n\r\n");
  EXPECT_NE(head.find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_EQ(client.read_until("hi\r\n"), "2\r\nhi\r\n");
  EXPECT_TRUE(stream.send("data: 1\n\n"));
  EXPECT_EQ(client.read_until("\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
  EXPECT_TRUE(stream.send("bye"));
  stream.close();
  EXPECT_EQ(client.read_to_end(), "3\r\nbye\r\n0\r\n\r\n");
  EXPECT_FALSE(stream.send("more"));
}

TEST(EventStream, is_plain_for_http_1_0_and_only_a_head_for_head) {
  {
    Streaming s;
    RawClient client(s.server->port());
    client.send("GET / HTTP/1.0\r\n\r\n");
    EventStream stream = s.stream();
    stream.send("!");
    stream.close();
    client.read_until("\r\n\r\n");
    EXPECT_EQ(client.read_to_end(), "hi!");
  }
  Streaming s;
  RawClient client(s.server->port());
  client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  EventStream stream = s.stream();
  client.read_until("\r\n\r\n");
  EXPECT_TRUE(client.at_end());
}

TEST(EventStream, takes_events_from_several_threads_and_loses_none) {
  Streaming s({.max_stream_unsent_bytes = 10'000'000});
  RawClient client(s.server->port());
  client.send(kGet);
  EventStream stream = s.stream();
  std::vector<std::thread> threads;
  for (char c : {'a', 'b', 'c'})
    threads.emplace_back([&, c] {
      for (int i = 0; i < 2000; ++i) EXPECT_TRUE(stream.send({&c, 1}));
    });
  for (auto& t : threads) t.join();
  stream.close();
  std::string all = client.read_to_end().substr(0);
  EXPECT_TRUE(all.ends_with("0\r\n\r\n"));
  // Chunk sizes are hexadecimal and would count as letters: take the chunks apart.
  size_t at = all.find("\r\n\r\n") + 4, letters = 0;
  while (size_t size = std::stoul(all.substr(at), nullptr, 16)) {
    letters += size;
    at = all.find("\r\n", at) + 2 + size + 2;
  }
  EXPECT_EQ(letters, 6002u);
}

TEST(EventStream, cuts_off_a_slow_reader_and_says_so) {
  Streaming s({.max_stream_unsent_bytes = 100'000});
  RawClient client(s.server->port(), 4096);
  client.send(kGet);
  EventStream stream = s.stream();
  std::latch closed(1);
  stream.on_close([&] { closed.count_down(); });
  std::string event(50'000, 'e');
  int sent = 0;
  while (stream.send(event)) {
    ASSERT_LT(++sent, 10'000);  // the kernel's buffers take some megabytes, but not this
  }
  closed.wait();
  EXPECT_FALSE(client.read_to_end().ends_with("0\r\n\r\n"));
  EXPECT_EQ(s.server->stats().streams_cut, 1u);
}

TEST(EventStream, notices_that_the_client_has_gone) {
  Streaming s;
  std::latch closed(1);
  EventStream stream;
  {
    RawClient client(s.server->port());
    client.send(kGet);
    stream = s.stream();
    client.read_until("hi");
    stream.on_close([&] { closed.count_down(); });
  }
  closed.wait();
  EXPECT_FALSE(stream.send("anyone?"));
  std::latch again(1);
  stream.on_close([&] { again.count_down(); });  // told at once
  again.wait();
}

TEST(EventStream, ends_properly_at_shutdown) {
  Streaming s;
  RawClient client(s.server->port());
  client.send(kGet);
  EventStream stream = s.stream();
  std::latch closed(1);
  stream.on_close([&] { closed.count_down(); });
  auto done = std::async(std::launch::async, [&] { return s.server->shutdown(seconds(8)); });
  EXPECT_TRUE(client.read_to_end().ends_with("0\r\n\r\n"));
  closed.wait();
  {
    RawClient gone = std::move(client);
  }
  EXPECT_TRUE(done.get());
  EXPECT_FALSE(stream.send("x"));
  s.server.reset();
  EXPECT_FALSE(stream.send("x"));
}

}  // namespace
}  // namespace ctrlplane::net
