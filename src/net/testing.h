// A blocking client on a raw socket, and a server on a free port, for the tests of this folder and of others.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "net/server.h"

namespace ctrlplane::net {

class RawClient {
 public:
  explicit RawClient(uint16_t port, int receive_buffer_bytes = 0) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer_bytes > 0)
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    timeval patience{.tv_sec = 8, .tv_usec = 0};  // a test that would hang fails instead
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  RawClient(RawClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_), buffer_(std::move(other.buffer_)) {}
  ~RawClient() {
    if (fd_ >= 0) ::close(fd_);
  }

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  void shut_sending() { ::shutdown(fd_, SHUT_WR); }

  // Up to and with `mark`, or what came before the end.
  std::string read_until(std::string_view mark) {
    size_t at;
    while ((at = buffer_.find(mark)) == std::string::npos)
      if (!fill()) return std::exchange(buffer_, {});
    return cut(at + mark.size());
  }
  std::string read_bytes(size_t n) {
    while (buffer_.size() < n && fill()) {
    }
    return cut(std::min(n, buffer_.size()));
  }
  std::string read_to_end() {
    while (fill()) {
    }
    return std::exchange(buffer_, {});
  }
  // True if the next thing is the end, in whatever way.
  bool at_end() { return buffer_.empty() && !fill() && !timed_out_; }

  struct Answer {
    int status = 0;
    std::string head, body;
  };
  // One response with a Content-Length.
  Answer answer(bool without_body = false) {
    Answer a;
    a.head = read_until("\r\n\r\n");
    if (a.head.size() > 12) a.status = std::atoi(a.head.c_str() + 9);
    size_t at = a.head.find("Content-Length: ");
    if (at != std::string::npos && !without_body)
      a.body = read_bytes(static_cast<size_t>(std::atoll(a.head.c_str() + at + 16)));
    return a;
  }

 private:
  bool fill() {
    char bytes[4096];
    ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
    timed_out_ = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (timed_out_) ADD_FAILURE() << "the server neither sent nor closed";
    if (n <= 0) return false;
    buffer_.append(bytes, static_cast<size_t>(n));
    return true;
  }
  std::string cut(size_t n) {
    std::string out = buffer_.substr(0, n);
    buffer_.erase(0, n);
    return out;
  }

  int fd_;
  bool connected_ = false, timed_out_ = false;
  std::string buffer_;
};

inline std::unique_ptr<HttpServer> start_server(HttpOptions options, HttpServer::Handler handler) {
  auto server = HttpServer::start(std::move(options), std::move(handler));
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

// Says what it was asked: method, path and body.
inline void echo(Request request, Responder responder) {
  responder.respond({.body = request.method + " " + request.path + " " + request.body});
}

}  // namespace ctrlplane::net
