#include "net/asio.h"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "net/drain.h"
#include "net/stream.h"

namespace ctrlplane::net {
namespace {

namespace ssl = asio::ssl;

class TlsStream final : public Stream {
 public:
  TlsStream(Socket socket, ssl::context& context) : tls_(std::move(socket), context) {}

  void handshake(Done done) override {
    tls_.async_handshake(ssl::stream_base::server,
                         [done = std::move(done)](auto ec) mutable { done(!ec, 0); });
  }
  void read_some(char* data, size_t size, Done done) override {
    drain_.read_begins();
    tls_.async_read_some(asio::buffer(data, size), [this, done = std::move(done)](auto ec, size_t n) mutable {
      drain_.read_ended();
      done(!ec, n);
    });
  }
  void write_some(const char* data, size_t size, Done done) override {
    tls_.async_write_some(asio::buffer(data, size),
                          [done = std::move(done)](auto ec, size_t n) mutable { done(!ec, n); });
  }
  void finish(bool wait, Done done) override {
    // With the other end's goodbye taken as received, ours is sent and nothing waited for.
    SSL_set_shutdown(tls_.native_handle(), SSL_RECEIVED_SHUTDOWN);
    tls_.async_shutdown(
        [this, wait, done = std::move(done)](auto) mutable { drain_.start(wait, std::move(done)); });
  }
  void close() override {
    boost::system::error_code ignored;
    tls_.next_layer().close(ignored);
  }

 private:
  ssl::stream<Socket> tls_;
  Drain drain_{tls_.next_layer()};
};

class AsioTlsContext final : public TlsContext {
 public:
  ssl::context context{ssl::context::tls_server};
  std::unique_ptr<Stream> wrap(Socket socket) override {
    return std::make_unique<TlsStream>(std::move(socket), context);
  }
};

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::load(const std::string& certificate_file,
                                                     const std::string& key_file) {
  auto made = std::make_unique<AsioTlsContext>();
  ssl::context& context = made->context;
  boost::system::error_code ec;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  // Renegotiation would let a client make the server work for nothing.
  SSL_CTX_set_options(context.native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  context.use_certificate_chain_file(certificate_file, ec);
  if (ec) return fail(ErrorCode::kInvalid, "TLS certificate " + certificate_file + ": " + ec.message());
  context.use_private_key_file(key_file, ssl::context::pem, ec);
  if (ec) return fail(ErrorCode::kInvalid, "TLS key " + key_file + ": " + ec.message());
  return made;
}

}  // namespace ctrlplane::net
