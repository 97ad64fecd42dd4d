#include "net/asio.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "net/drain.h"
#include "net/stream.h"

namespace ctrlplane::net {
namespace {

class PlainStream final : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  void handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)]() mutable { done(true, 0); });
  }
  void read_some(char* data, size_t size, Done done) override {
    drain_.read_begins();
    socket_.async_read_some(asio::buffer(data, size),
                            [this, done = std::move(done)](auto ec, size_t n) mutable {
                              drain_.read_ended();
                              done(!ec, n);
                            });
  }
  void write_some(const char* data, size_t size, Done done) override {
    socket_.async_write_some(asio::buffer(data, size),
                             [done = std::move(done)](auto ec, size_t n) mutable { done(!ec, n); });
  }
  void finish(bool wait, Done done) override { drain_.start(wait, std::move(done)); }
  void close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

 private:
  Socket socket_;
  Drain drain_{socket_};
};

}  // namespace

std::unique_ptr<Stream> plain_stream(Socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace ctrlplane::net
