// An HTTP/1.1 server on one I/O thread of its own, with or without TLS.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "net/http.h"
#include "net/responder.h"

namespace ctrlplane::net {

struct TlsFiles {
  std::string certificate_file;  // PEM, the whole chain
  std::string key_file;          // PEM
};

struct HttpOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one
  std::optional<TlsFiles> tls = {};

  size_t max_header_bytes = 16 * 1024;
  size_t max_body_bytes = 1024 * 1024;
  // Where set, asked with each request's head (on the I/O thread) instead of max_body_bytes.
  std::function<size_t(const Request& head)> body_limit = {};
  // Where set, makes the responses that the server gives by itself (bad requests, limits, a dropped
  // Responder), so that they look like the handler's own.
  std::function<Response(int status)> error_response = {};
  size_t max_connections = 4096;  // the next one is told 503
  size_t max_requests_per_connection = 100'000;
  size_t max_pipelined = 16;                     // unanswered requests of one connection; then reading pauses
  size_t max_unsent_bytes = 256 * 1024;          // responses not yet written; then reading pauses
  size_t max_stream_unsent_bytes = 1024 * 1024;  // events not yet written; then the reader is cut off

  // From the first byte of a request (or from the connection's start, TLS handshake included) to the end of
  // its head. Past it: 408 and the end, or silence if nothing had come.
  Duration header_timeout = seconds(10);
  // For a body to arrive, or for responses to be taken off our hands: the longest time without a byte, and
  // the longest time in all, to which each 64 KiB that moved adds a second. A slow line is served; one that
  // stands still or trickles is not.
  Duration body_timeout = seconds(30);
  Duration write_timeout = seconds(30);
  Duration idle_timeout = seconds(60);   // between requests; then a silent end
  Duration linger_timeout = seconds(2);  // for the client to close after our last word
};

struct HttpStats {
  uint64_t connections_open = 0, connections_accepted = 0, connections_refused = 0;
  uint64_t requests = 0;          // handed to the handler
  uint64_t requests_refused = 0;  // answered 4xx or 5xx by the server itself
  uint64_t timeouts = 0, streams_cut = 0;
};

class HttpServer {
 public:
  // Called on the I/O thread, so it must not block: work that takes longer goes elsewhere with its Responder.
  // Responses to pipelined requests are sent in the order of the requests, whatever order they come in.
  using Handler = std::function<void(Request, Responder)>;

  // Listening when it returns. An error if the address cannot be bound or the TLS files not be read.
  static Result<std::unique_ptr<HttpServer>> start(HttpOptions options, Handler handler);

  // Drops all connections that are left. Responders may outlive the server.
  ~HttpServer();

  uint16_t port() const;
  HttpStats stats() const;

  // Stops listening, closes idle connections and streams, answers every request that was handed to the
  // handler or has begun to arrive, and waits for that at most `deadline`; then drops the rest. True if
  // nothing had to be dropped. Not from the I/O thread; a second call finds nothing left to do.
  bool shutdown(Duration deadline);

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ctrlplane::net
