// An HTTP/1.1 client for many requests at once, on libcurl and one thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/client.h"

namespace ctrlplane::net {

class Mailbox;

struct AsyncClientOptions {
  ClientOptions client = {};
  bool use_proxy = false;     // the environment's http_proxy, https_proxy and no_proxy
  size_t max_requests = 512;  // accepted and not yet answered; the next one is refused
  size_t max_streams = 1000;
  // Of plain requests under way; further ones wait in the order they came. Streams do not count.
  size_t max_connections_per_host = 128;
};

// Why there is no answer. The error is kInvalid (malformed), kBusy (full) or kUnavailable, with the words of
// HttpClient.
struct Failure {
  Error error;
  // False: certainly no byte of the request was sent, and it may go elsewhere. True: it may have been carried
  // out.
  bool maybe_sent = false;
};

// How a response is read as it comes, on the client's thread.
struct StreamEvents {
  // Once, of any status, without body. Not called if no head came.
  std::move_only_function<void(Response head)> on_head;
  // A piece of the body, however cut. False ends the stream, as a success. There is no pausing: what cannot
  // be taken must be refused this way.
  std::move_only_function<bool(std::string_view piece)> on_data;
  // Exactly once, last: success when the response was complete or on_data had enough.
  std::move_only_function<void(std::expected<void, Failure>)> on_end;
};

// A request is never sent twice. libcurl by itself would do so where a kept connection breaks before the
// first byte of an answer; here that is a failure with `maybe_sent`, and whether to send again is for the
// caller to say, who knows if the request is a mere question or carries an idempotency key. It is rare: a
// connection that is known to be closed, or rested for 30 s, is not used again.
//
// Headers are passed on as they are, several of one name too, except those that speak of one connection and
// not of the message: Connection, Content-Length, Expect, Keep-Alive, Trailer and Transfer-Encoding are left
// out of requests and responses alike. The client makes its own, and adds `Accept: */*` and its User-Agent to
// a request that has none. Bodies are not decompressed. Trailers are dropped. No redirects are followed.
//
// Any thread may call. Callbacks are called on the client's thread and must not block; they may call the
// client, but not destroy it. A request that is refused is told so at once on the caller's thread.
class AsyncClient {
 public:
  using Done = std::move_only_function<void(std::expected<Response, Failure>)>;

  // A way to end a stream. Dropping it does nothing. It may outlive the stream and the client.
  class Stream {
   public:
    Stream() = default;
    // From any thread, any number of times. on_end follows with kUnavailable, unless the stream has ended;
    // pieces that are on their way may still come before.
    void cancel();

   private:
    friend class AsyncClient;
    std::weak_ptr<Mailbox> mailbox_;
    uint64_t id_ = 0;
  };

  explicit AsyncClient(AsyncClientOptions options = {});
  // What is under way ends with kUnavailable; every callback has been called when this returns.
  ~AsyncClient();

  // `done` is called exactly once; any status is a success. `request.timeout` is for the whole exchange,
  // waiting for a free connection included; 0: none. A body over ClientOptions::max_body_bytes is a failure.
  void send(ClientRequest request, Done done);

  // `request.timeout` is for the head to come, `idle` is the longest silence before and after; 0: any.
  Stream stream(ClientRequest request, Duration idle, StreamEvents events);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ctrlplane::net
