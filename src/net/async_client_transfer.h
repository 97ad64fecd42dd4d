// Private to AsyncClient: one request under way, and the way other threads hand one over.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "net/async_client.h"
#include "net/curl_exchange.h"

namespace ctrlplane::net {

using Receiver = std::variant<AsyncClient::Done, StreamEvents>;

// The last that a receiver hears.
void tell(Receiver& receiver, std::expected<Response, Failure> result);

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

class Transfer;

// The plain requests to one origin.
struct Host {
  size_t active = 0;
  std::deque<Transfer*> waiting = {};
};
using Hosts = std::map<std::string, Host>;

// Made by any thread, then used by the client's alone.
class Transfer {
 public:
  Transfer(uint64_t id, const AsyncClientOptions& options, ClientRequest request, Duration idle,
           Receiver receiver);

  CURL* easy() const { return easy_.get(); }
  bool is_stream() const { return std::holds_alternative<StreamEvents>(receiver_); }
  const ClientRequest& request() const { return request_; }

  // When it must end if nothing comes until then. Gets later with time, never earlier.
  Duration due() const;
  // Why, when that moment has come.
  Stop reason_at_due() const;

  // Tells the receiver; nothing else may be called after.
  void finish(CURLcode code);
  void finish(Stop why);

  const uint64_t id;
  bool added = false;         // to the loop
  Duration watched_for = {};  // the key of its place among the deadlines
  Hosts::iterator host = {};  // of a plain request

 private:
  static size_t on_header(char* data, size_t, size_t size, void* self);
  static size_t on_body(char* data, size_t, size_t size, void* self);
  static int before_request(void* self, char*, char*, int, int);
  void prepare(const AsyncClientOptions& options);

  SystemClock clock_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  ClientRequest request_;
  Receiver receiver_;
  CurlExchange exchange_;
  Duration begun_;
  Duration last_byte_;
  bool maybe_sent_ = false;
};

// Shared with the Stream handles, which may outlive the client.
class Mailbox {
 public:
  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  struct Mail {
    std::vector<std::unique_ptr<Transfer>> starts = {};
    std::vector<uint64_t> cancels = {};  // to be done after the starts
    bool closed = false;
  };

  // False once closed: then the transfer stays where it is.
  bool start(std::unique_ptr<Transfer>& transfer);
  void cancel(uint64_t id);
  void close();

  // By the client's thread; wake_fd() is readable when there is something new.
  Mail take();
  int wake_fd() const { return wake_fd_; }

 private:
  void wake();

  int wake_fd_;
  std::mutex mutex_;
  Mail mail_;
};

}  // namespace ctrlplane::net
