// Private to the two clients: one request as libcurl gets it, the answer as it comes, and in what words it
// failed.
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/client.h"

namespace ctrlplane::net {

// Before any other call of libcurl; any number of times, from any thread.
void init_curl_once();

// kInvalid if the request could not be written as HTTP, or is for another protocol.
Status check_request(const ClientRequest& request);

// scheme://host:port without user, path and query: what may stand in a message.
std::string origin_of(std::string_view url);

// A thousandth at least: to libcurl 0 means something else.
long whole_ms(Duration d);

struct FreeHeaderList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// Why we ended an exchange ourselves.
enum class Stop {
  kNo,
  kSinkIsDone,    // the reader has enough: no failure
  kTooLarge,      // the answer
  kInterrupted,   // from outside
  kSilent,        // nothing came for `idle`
  kLate,          // the request's time-out is over
  kNoneFree,      // the same, without having got a connection
  kBroken,        // libcurl would have sent the request a second time
  kClientClosed,  // the client ends
};

// Borrows all that it is made of. The handle must be of no multi handle when this is destroyed; it is then
// ready for another one, and its connection is kept.
struct CurlExchange {
  CurlExchange(CURL* easy, const ClientOptions& options, const ClientRequest& request, Duration idle)
      : easy(easy), options(options), request(request), idle(idle) {}
  CurlExchange(const CurlExchange&) = delete;
  CurlExchange& operator=(const CurlExchange&) = delete;
  ~CurlExchange() { curl_easy_reset(easy); }

  // Sets everything but callbacks for the answer and the time-out of the whole.
  void prepare();
  // A line of the answer's head. False if the head gets too large; `stop` says so then. Interim responses
  // and trailers leave no trace in `response`.
  bool take_header(std::string_view line);
  // A piece of the body to keep. False if it gets too large.
  bool keep(std::string_view piece);
  // The words for an end that was no success.
  Error error(CURLcode code) const;

  CURL* easy;
  const ClientOptions& options;
  const ClientRequest& request;
  Duration idle;  // the longest silence; 0: any
  Response response = {.status = 0};
  bool head_is_complete = false;
  Stop stop = Stop::kNo;

 private:
  void prepare_body();
  std::string reason(CURLcode code) const;
  std::string reason_for_stop() const;
  std::string reason_for_timeout() const;

  std::unique_ptr<curl_slist, FreeHeaderList> lines_;
  size_t header_bytes_ = 0;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
};

}  // namespace ctrlplane::net
