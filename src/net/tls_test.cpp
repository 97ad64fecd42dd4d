#include <openssl/err.h>
#include <openssl/ssl.h>

#include <future>

#include "net/testing.h"
#include "net/testing_certificate.h"

namespace ctrlplane::net {
namespace {

class TlsClient {
 public:
  TlsClient(uint16_t port, const TlsFiles& trusted) : raw_(port), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_load_verify_file(context_, trusted.certificate_file.c_str());
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, raw_.fd());
    connected_ = SSL_connect(ssl_) == 1;
  }
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  bool connected() const { return connected_; }
  bool send(std::string_view bytes) {
    return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  std::string read_until(std::string_view mark) {
    while (buffer_.find(mark) == std::string::npos && fill()) {
    }
    size_t n = std::min(buffer_.find(mark), buffer_.size() - mark.size()) + mark.size();
    std::string out = buffer_.substr(0, n);
    buffer_.erase(0, n);
    return out;
  }
  std::string read_to_end() {
    while (fill()) {
    }
    return std::exchange(buffer_, {});
  }
  // The other end said goodbye in TLS, so nobody cut the connection short.
  bool ended_properly() const { return SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN; }

 private:
  bool fill() {
    char bytes[16 * 1024];
    int n = SSL_read(ssl_, bytes, sizeof bytes);
    if (n > 0) buffer_.append(bytes, static_cast<size_t>(n));
    return n > 0;
  }
  RawClient raw_;
  SSL_CTX* context_;
  SSL* ssl_ = nullptr;
  bool connected_ = false;
  std::string buffer_;
};

TEST(HttpServerTls, serves_over_tls_and_says_goodbye) {
  SelfSigned self_signed;
  auto server = start_server({.tls = self_signed.files(), .max_body_bytes = 3'000'000}, echo);
  TlsClient client(server->port(), self_signed.files());
  ASSERT_TRUE(client.connected());
  for (int i = 0; i < 3; ++i) {
    client.send("GET /t HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(client.read_until("GET /t ").starts_with("HTTP/1.1 200 OK\r\n"));
  }
  // Larger than any buffer, both ways.
  std::string body(2'000'000, 'b');
  auto sent = std::async(std::launch::async, [&] {
    return client.send(
        "POST /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2000000\r\n\r\n" + body);
  });
  EXPECT_TRUE(sent.get());
  EXPECT_TRUE(client.read_to_end().ends_with("POST /big " + body));
  EXPECT_TRUE(client.ended_properly());
}

TEST(HttpServerTls, a_refused_client_hears_why) {
  SelfSigned self_signed;
  auto server = start_server({.tls = self_signed.files(), .max_body_bytes = 3}, echo);
  TlsClient client(server->port(), self_signed.files());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  client.send(std::string(100'000, 'x'));
  EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(client.ended_properly());
}

TEST(HttpServerTls, shutdown_answers_what_was_accepted) {
  SelfSigned self_signed;
  std::promise<Responder> asked;
  auto server = start_server({.tls = self_signed.files()},
                             [&](Request, Responder responder) { asked.set_value(std::move(responder)); });
  auto client = std::make_unique<TlsClient>(server->port(), self_signed.files());
  client->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  Responder held = asked.get_future().get();
  auto done = std::async(std::launch::async, [&] { return server->shutdown(seconds(8)); });
  held.respond({.body = "late"});
  EXPECT_TRUE(client->read_to_end().ends_with("late"));
  EXPECT_TRUE(client->ended_properly());
  client.reset();
  EXPECT_TRUE(done.get());
}

TEST(HttpServerTls, a_handshake_that_fails_or_does_not_end_is_dropped) {
  SelfSigned self_signed;
  auto server = start_server({.tls = self_signed.files(), .header_timeout = milliseconds(30)}, echo);
  RawClient plain(server->port());
  plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(plain.read_to_end().find("HTTP/1.1"), std::string::npos);
  EXPECT_TRUE(RawClient(server->port()).at_end());
  EXPECT_EQ(server->stats().requests, 0u);
}

}  // namespace
}  // namespace ctrlplane::net
