// Private to AsyncClient: libcurl's transfers driven by epoll. A turn costs what the transfers cost that have
// something to do; silent streams, of which there may be a thousand, cost nothing. (curl_multi_poll asks
// every socket each time.)
#pragma once

#include <curl/curl.h>

#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/time.h"

namespace ctrlplane::net {

// One thread at a time. Callbacks of the transfers are called in turn() and remove().
class CurlLoop {
 public:
  // `wake_fd`: an eventfd that ends a waiting turn; borrowed. Up to `max_connections` are kept alive.
  CurlLoop(int wake_fd, size_t max_connections);
  ~CurlLoop();
  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;

  bool add(CURL* easy);
  // Also of one that has not ended: its connection is closed then.
  void remove(CURL* easy);

  // Waits until there is something to do, at most `longest`, and does it.
  void turn(Duration longest);

  // The next transfer that has ended and was not removed.
  std::optional<std::pair<CURL*, CURLcode>> next_ended();

 private:
  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void* known);
  static int on_timer(CURLM*, long timeout_ms, void* self);
  int wait_ms(Duration longest) const;
  void act(curl_socket_t fd, int what);

  SystemClock clock_;
  int wake_fd_;
  int epoll_;
  CURLM* multi_;
  std::optional<Duration> timer_;  // when libcurl wants to be called without an event
};

}  // namespace ctrlplane::net
