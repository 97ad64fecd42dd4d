#include "net/client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"

namespace ctrlplane::net {
namespace {

constexpr size_t kMaxHeaderBytes = 1u << 20;

void init_curl_once() {
  static const CURLcode result =
      curl_global_init(CURL_GLOBAL_DEFAULT);  // once per process, by libcurl's rules
  CHECK(result == CURLE_OK);
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void append(HeaderList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  CHECK(longer != nullptr, "out of memory");
  list.release();
  list.reset(longer);
}

// scheme://host:port without user, path and query: what may stand in a message.
std::string origin_of(std::string_view url) {
  size_t host = url.find("://") + 3;
  size_t end = std::min(url.find_first_of("/?#", host), url.size());
  size_t at = url.substr(0, end).rfind('@');
  size_t from = at == std::string_view::npos || at < host ? host : at + 1;
  return std::string(url.substr(0, host)) + std::string(url.substr(from, end - from));
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return std::string(text.substr(0, text.find_last_not_of(kBlank) + 1));
}

bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return (c < 128 && std::isalnum(c)) || kOthers.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

Status check_request(const ClientRequest& request) {
  std::string_view url = request.url;
  if (!same_name(url.substr(0, 7), "http://") && !same_name(url.substr(0, 8), "https://"))
    return fail(ErrorCode::kInvalid, "the URL must begin with http:// or https://");
  if (std::ranges::any_of(url, [](unsigned char c) { return c <= 0x20 || c == 0x7f; }))
    return fail(ErrorCode::kInvalid, "the URL has a space or a control character in it");
  if (!is_token(request.method)) return fail(ErrorCode::kInvalid, "the method is not a word");
  for (const Header& h : request.headers.items()) {
    if (!is_token(h.name)) return fail(ErrorCode::kInvalid, "a header's name is not a word");
    if (h.value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      return fail(ErrorCode::kInvalid, fmt::format("the value of {} has a line break in it", h.name));
  }
  return {};
}

HeaderList header_lines(const ClientRequest& request) {
  HeaderList list;
  for (const Header& h : request.headers.items())
    append(list, h.value.empty() ? h.name + ";" : h.name + ": " + h.value);
  // libcurl's own ideas: waiting for a 100, and a form's content type.
  append(list, "Expect:");
  if (!request.headers.find("Content-Type")) append(list, "Content-Type:");
  return list;
}

// libcurl's own sockets would be inherited by every command that the process starts.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

std::string seconds_text(Duration d) { return fmt::format("{:g} s", static_cast<double>(d.us) / 1e6); }

// A thousandth at least: to libcurl 0 means something else.
long whole_ms(Duration d) { return static_cast<long>(std::max<int64_t>(d.us / 1000, 1)); }

}  // namespace

struct HttpClient::Impl {
  using Sink = std::function<bool(std::string_view)>;
  enum class Stop { kNo, kSinkIsDone, kTooLarge, kInterrupted, kSilent };

  // One request under way.
  struct Exchange {
    Impl& client;
    const ClientRequest& request;
    Duration idle;
    const Sink* sink;  // null: the body is kept whole
    Duration last_byte;
    Response response = {.status = 0};
    size_t header_bytes = 0;
    bool in_body = false;
    Stop stop = Stop::kNo;
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
  void prepare(Exchange& exchange, curl_slist* lines);
  void prepare_body(const ClientRequest& request);
  CURLcode perform(Exchange& exchange);
  Error error_of(const Exchange& exchange, CURLcode code);
  std::string reason(const Exchange& exchange, CURLcode code);
  std::string reason_for_timeout(const Exchange& exchange);

  static size_t on_header(char* data, size_t, size_t size, void* self);
  static size_t on_body(char* data, size_t, size_t size, void* self);

  ClientOptions options;
  SystemClock clock;
  CURL* easy = nullptr;
  CURLM* multi = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  std::atomic<bool> interrupted = false;
};

size_t HttpClient::Impl::on_header(char* data, size_t, size_t size, void* self) {
  auto& exchange = *static_cast<Exchange*>(self);
  exchange.last_byte = exchange.client.clock.boot();
  if ((exchange.header_bytes += size) > kMaxHeaderBytes) {
    exchange.stop = Stop::kTooLarge;
    return 0;
  }
  std::string_view line(data, size);
  if (exchange.in_body) return size;  // trailers
  if (line.starts_with("HTTP/")) {    // also after an interim response
    size_t space = line.find(' ');
    exchange.response = {
        .status = space == line.npos ? 0 : std::atoi(std::string(line.substr(space + 1, 3)).c_str())};
    return size;
  }
  size_t colon = line.find(':');
  if (colon == line.npos) return size;
  exchange.response.headers.add(std::string(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  return size;
}

size_t HttpClient::Impl::on_body(char* data, size_t, size_t size, void* self) {
  auto& exchange = *static_cast<Exchange*>(self);
  exchange.last_byte = exchange.client.clock.boot();
  exchange.in_body = true;
  std::string_view piece(data, size);
  if (exchange.sink && exchange.response.status == 200) {
    if ((*exchange.sink)(piece)) return size;
    exchange.stop = Stop::kSinkIsDone;
    return CURL_WRITEFUNC_ERROR;
  }
  if (size > exchange.client.options.max_body_bytes - exchange.response.body.size()) {
    exchange.stop = Stop::kTooLarge;
    return CURL_WRITEFUNC_ERROR;
  }
  exchange.response.body += piece;
  return size;
}

void HttpClient::Impl::prepare_body(const ClientRequest& request) {
  bool no_body_expected = request.method == "GET" || request.method == "HEAD" || request.method == "DELETE";
  if (request.body.empty() && no_body_expected) {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    if (request.method == "HEAD") curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void HttpClient::Impl::prepare(Exchange& exchange, curl_slist* lines) {
  const ClientRequest& request = exchange.request;
  error_text[0] = 0;
  curl_easy_reset(easy);  // keeps the connection
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_text.data());
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lines);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, whole_ms(options.connect_timeout));
  if (request.timeout.us > 0) curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, whole_ms(request.timeout));
  if (!options.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.verify_tls) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Impl::on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Impl::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
  prepare_body(request);
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
  HeaderList lines = header_lines(request);
  Exchange exchange{*this, request, idle, sink, clock.boot()};
  prepare(exchange, lines.get());
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
  return std::unexpected(error_of(exchange, code));
}

Error HttpClient::Impl::error_of(const Exchange& exchange, CURLcode code) {
  bool bad_url = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
  if (bad_url)
    return {ErrorCode::kInvalid, fmt::format("'{}' is not a usable URL", origin_of(exchange.request.url))};
  return {ErrorCode::kUnavailable, origin_of(exchange.request.url) + ": " + reason(exchange, code)};
}

std::string HttpClient::Impl::reason(const Exchange& exchange, CURLcode code) {
  switch (exchange.stop) {
    case Stop::kTooLarge: return fmt::format("the response has over {} bytes", options.max_body_bytes);
    case Stop::kInterrupted: return "the request was interrupted";
    case Stop::kSilent: return fmt::format("nothing came for {}", seconds_text(exchange.idle));
    case Stop::kNo:
    case Stop::kSinkIsDone: break;
  }
  std::string detail = error_text[0] ? error_text.data() : curl_easy_strerror(code);
  long os_error = 0;
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST: return "the host name is not known; is it spelled right?";
    case CURLE_COULDNT_RESOLVE_PROXY: return "the proxy's host name is not known";
    case CURLE_COULDNT_CONNECT:
      curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
      return os_error ? fmt::format("cannot connect: {}", std::strerror(static_cast<int>(os_error))) : detail;
    case CURLE_OPERATION_TIMEDOUT: return reason_for_timeout(exchange);
    case CURLE_SSL_CACERT_BADFILE: return fmt::format("the CA file '{}' cannot be used", options.ca_file);
    case CURLE_PEER_FAILED_VERIFICATION: return "the server's certificate is not trusted: " + detail;
    case CURLE_SSL_CONNECT_ERROR: return "no TLS connection (does the server speak https?): " + detail;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR: return "the connection broke before the answer was complete";
    default: return detail;
  }
}

std::string HttpClient::Impl::reason_for_timeout(const Exchange& exchange) {
  curl_off_t ready_us = 0;
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
  Duration whole = exchange.request.timeout;
  if (ready_us > 0) return fmt::format("no complete answer within {}", seconds_text(whole));
  Duration limit = whole.us > 0 ? std::min(whole, options.connect_timeout) : options.connect_timeout;
  return fmt::format("cannot connect within {}", seconds_text(limit));
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
