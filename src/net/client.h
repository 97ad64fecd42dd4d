// A blocking HTTP/1.1 client with or without TLS, on libcurl. The environment's http_proxy, https_proxy and
// no_proxy hold.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/http.h"

namespace ctrlplane::net {

struct ClientOptions {
  Duration connect_timeout = seconds(5);
  std::string ca_file = {};  // empty: the system's
  bool verify_tls = true;
  std::string user_agent = "ctrlplane";
  size_t max_body_bytes = 256u << 20;  // of a response that is kept whole
};

struct ClientRequest {
  std::string method = "GET";
  std::string url = {};  // http:// or https://
  Headers headers = {};
  std::string body = {};
  Duration timeout = seconds(30);  // for the whole exchange; 0: none (streams)
};

// One connection at a time, kept alive between requests; one thread at a time. No redirects are followed.
// Where a kept connection turns out to be closed before any byte of an answer came, the request is sent once
// more on a new one.
class HttpClient {
 public:
  explicit HttpClient(ClientOptions options = {});
  ~HttpClient();

  // kUnavailable if no complete response came (the message says why, in words a person can act on); any
  // status is a success here. kInvalid if the request itself cannot be sent: a malformed URL, method or
  // header, a scheme other than http and https.
  Result<Response> send(const ClientRequest& request);

  // Hands each piece of a 200 response's body to `sink` as it comes, until it returns false or the server
  // ends. A response of another status comes back whole with its body. kUnavailable when the line broke.
  // `idle`: the longest silence; 0: any.
  Result<Response> stream(const ClientRequest& request, Duration idle,
                          const std::function<bool(std::string_view)>& sink);

  // Ends a send or stream that is running in another thread; that one returns kUnavailable. If none is
  // running the next one ends so, at once: there is no moment in which an interrupt gets lost.
  void interrupt();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One path segment or query value: everything but unreserved characters is escaped.
std::string percent_encode(std::string_view text);

}  // namespace ctrlplane::net
