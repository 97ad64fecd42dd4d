// Private to the streams: reads a socket to its end and forgets what comes.
#pragma once

#include "net/asio.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "net/stream.h"

namespace ctrlplane::net {

class Drain {
 public:
  explicit Drain(Socket& socket) : socket_(socket) {}

  // Around each ordinary read. Only one read is ever under way: the reactor is edge triggered and would tell
  // the first of two about the end of input, and never the second.
  void read_begins() { reading_ = true; }
  void read_ended() {
    reading_ = false;
    if (done_) run();
  }

  void start(bool wait, Stream::Done done) {
    boost::system::error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    done_ = std::move(done);
    if (!wait)
      finished();
    else if (!reading_)
      run();
  }

 private:
  void run() {
    // An ordinary read may have met the end already, and Asio would wait for a second edge in vain.
    char peeked;
    ssize_t n = ::recv(socket_.native_handle(), &peeked, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return finished();
    socket_.async_read_some(asio::buffer(sink_),
                            [this, done = std::exchange(done_, {})](auto ec, size_t) mutable {
                              if (ec) return done(false, 0);
                              done_ = std::move(done);
                              run();
                            });
  }

  void finished() {
    asio::post(socket_.get_executor(), [done = std::exchange(done_, {})]() mutable { done(false, 0); });
  }

  Socket& socket_;
  bool reading_ = false;
  Stream::Done done_;  // waiting for an ordinary read to end
  std::array<char, 4096> sink_;
};

}  // namespace ctrlplane::net
