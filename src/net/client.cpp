#include "net/client.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <cctype>

#include "base/check.h"
#include "base/clock.h"
#include "net/curl_exchange.h"

namespace ctrlplane::net {

struct HttpClient::Impl {
  using Sink = std::function<bool(std::string_view)>;

  // One request under way.
  struct Exchange : CurlExchange {
    Exchange(Impl& client, const ClientRequest& request, Duration idle, const Sink* sink)
        : CurlExchange(client.easy, client.options, request, idle),
          clock(client.clock),
          sink(sink),
          last_byte(clock.boot()) {}

    const Clock& clock;
    const Sink* sink;  // null: the body is kept whole
    Duration last_byte;
  };

  explicit Impl(ClientOptions given) : options(std::move(given)) {
    init_curl_once();
    easy = curl_easy_init();
    multi = curl_multi_init();
    CHECK(easy && multi, "out of memory");
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 1L);
  }
  ~Impl() {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }

  Result<Response> run(const ClientRequest& request, Duration idle, const Sink* sink);
  void prepare(Exchange& exchange);
  CURLcode perform(Exchange& exchange);

  static size_t on_header(char* data, size_t, size_t size, void* self);
  static size_t on_body(char* data, size_t, size_t size, void* self);

  ClientOptions options;
  SystemClock clock;
  CURL* easy = nullptr;
  CURLM* multi = nullptr;
  std::atomic<bool> interrupted = false;
};

size_t HttpClient::Impl::on_header(char* data, size_t, size_t size, void* self) {
  auto& exchange = *static_cast<Exchange*>(self);
  exchange.last_byte = exchange.clock.boot();
  return exchange.take_header({data, size}) ? size : 0;
}

size_t HttpClient::Impl::on_body(char* data, size_t, size_t size, void* self) {
  auto& exchange = *static_cast<Exchange*>(self);
  exchange.last_byte = exchange.clock.boot();
  std::string_view piece(data, size);
  if (exchange.sink && exchange.response.status == 200) {
    if ((*exchange.sink)(piece)) return size;
    exchange.stop = Stop::kSinkIsDone;
    return CURL_WRITEFUNC_ERROR;
  }
  return exchange.keep(piece) ? size : CURL_WRITEFUNC_ERROR;
}

void HttpClient::Impl::prepare(Exchange& exchange) {
  exchange.prepare();
  Duration timeout = exchange.request.timeout;
  if (timeout.us > 0) curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, whole_ms(timeout));
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Impl::on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Impl::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
}

// Drives the one transfer to its end, or to a reason of ours to leave it.
CURLcode HttpClient::Impl::perform(Exchange& exchange) {
  constexpr Duration kLongestPoll = seconds(60);
  for (;;) {
    int running = 0;
    if (curl_multi_perform(multi, &running) != CURLM_OK) return CURLE_FAILED_INIT;
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi, &left))
      if (message->msg == CURLMSG_DONE) return message->data.result;
    if (running == 0) return CURLE_FAILED_INIT;
    Duration wait = kLongestPoll;
    if (exchange.idle.us > 0) {
      Duration left_of_idle = exchange.last_byte + exchange.idle - clock.boot();
      if (left_of_idle.us <= 0) {
        exchange.stop = Stop::kSilent;
        return CURLE_ABORTED_BY_CALLBACK;
      }
      wait = std::min(wait, left_of_idle);
    }
    if (interrupted.exchange(false)) {
      exchange.stop = Stop::kInterrupted;
      return CURLE_ABORTED_BY_CALLBACK;
    }
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(whole_ms(wait)), nullptr);
  }
}

Result<Response> HttpClient::Impl::run(const ClientRequest& request, Duration idle, const Sink* sink) {
  TRY(check_request(request));
  Exchange exchange(*this, request, idle, sink);
  prepare(exchange);
  CURLcode code = CURLE_ABORTED_BY_CALLBACK;
  if (interrupted.exchange(false)) {
    exchange.stop = Stop::kInterrupted;
  } else if (curl_multi_add_handle(multi, easy) != CURLM_OK) {
    code = CURLE_FAILED_INIT;
  } else {
    code = perform(exchange);
    curl_multi_remove_handle(multi, easy);  // ends what is unfinished
  }
  if (code == CURLE_OK || exchange.stop == Stop::kSinkIsDone) return std::move(exchange.response);
  return std::unexpected(exchange.error(code));
}

HttpClient::HttpClient(ClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
HttpClient::~HttpClient() = default;

Result<Response> HttpClient::send(const ClientRequest& request) { return impl_->run(request, {}, nullptr); }

Result<Response> HttpClient::stream(const ClientRequest& request, Duration idle,
                                    const std::function<bool(std::string_view)>& sink) {
  return impl_->run(request, idle, &sink);
}

void HttpClient::interrupt() {
  impl_->interrupted = true;
  curl_multi_wakeup(impl_->multi);
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (unsigned char c : text) {
    bool unreserved = (c < 128 && std::isalnum(c)) || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out += static_cast<char>(c);
    } else {
      out += {'%', kDigits[c >> 4], kDigits[c & 15]};
    }
  }
  return out;
}

}  // namespace ctrlplane::net
