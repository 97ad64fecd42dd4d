#include "net/curl_exchange.h"

#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"

namespace ctrlplane::net {
namespace {

constexpr size_t kMaxHeaderBytes = 1u << 20;

using HeaderList = std::unique_ptr<curl_slist, FreeHeaderList>;

void append(HeaderList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  CHECK(longer != nullptr, "out of memory");
  list.release();
  list.reset(longer);
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

HeaderList header_lines(const ClientRequest& request) {
  HeaderList list;
  for (const Header& h : request.headers.items()) {
    std::string value = trimmed(h.value);  // libcurl would drop a header with a blank value
    append(list, value.empty() ? h.name + ";" : h.name + ": " + value);
  }
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

}  // namespace

void init_curl_once() {
  static const CURLcode result =
      curl_global_init(CURL_GLOBAL_DEFAULT);  // once per process, by libcurl's rules
  CHECK(result == CURLE_OK);
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

std::string origin_of(std::string_view url) {
  size_t host = url.find("://") + 3;
  size_t end = std::min(url.find_first_of("/?#", host), url.size());
  size_t at = url.substr(0, end).rfind('@');
  size_t from = at == std::string_view::npos || at < host ? host : at + 1;
  return std::string(url.substr(0, host)) + std::string(url.substr(from, end - from));
}

long whole_ms(Duration d) { return static_cast<long>(std::max<int64_t>(d.us / 1000, 1)); }

void CurlExchange::prepare_body() {
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

void CurlExchange::prepare() {
  lines_ = header_lines(request);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_text_.data());
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lines_.get());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, whole_ms(options.connect_timeout));
  if (!options.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.verify_tls) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  prepare_body();
}

bool CurlExchange::take_header(std::string_view line) {
  if ((header_bytes_ += line.size()) > kMaxHeaderBytes) {
    stop = Stop::kTooLarge;
    return false;
  }
  if (head_is_complete) return true;  // trailers
  if (line.starts_with("HTTP/")) {    // also after an interim response
    size_t space = line.find(' ');
    int status = space == line.npos ? 0 : std::atoi(std::string(line.substr(space + 1, 3)).c_str());
    response = {.status = status};
  } else if (line == "\r\n" || line == "\n") {
    head_is_complete = response.status >= 200;
  } else if (size_t colon = line.find(':'); colon != line.npos) {
    response.headers.add(std::string(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return true;
}

bool CurlExchange::keep(std::string_view piece) {
  if (piece.size() > options.max_body_bytes - response.body.size()) {
    stop = Stop::kTooLarge;
    return false;
  }
  response.body += piece;
  return true;
}

Error CurlExchange::error(CURLcode code) const {
  std::string origin = origin_of(request.url);
  if (code == CURLE_URL_MALFORMAT)
    return {ErrorCode::kInvalid, fmt::format("'{}' is not a usable URL", origin)};
  return {
      ErrorCode::kUnavailable,
      origin + ": " + (stop == Stop::kNo || stop == Stop::kSinkIsDone ? reason(code) : reason_for_stop())};
}

std::string CurlExchange::reason_for_stop() const {
  switch (stop) {
    case Stop::kTooLarge: return fmt::format("the response has over {} bytes", options.max_body_bytes);
    case Stop::kInterrupted: return "the request was interrupted";
    case Stop::kSilent: return fmt::format("nothing came for {}", seconds_text(idle));
    case Stop::kLate: return reason_for_timeout();
    case Stop::kNoneFree:
      return fmt::format("no connection was free within {}", seconds_text(request.timeout));
    case Stop::kBroken: return "the connection broke before the answer was complete";
    case Stop::kClientClosed: return "the client was closed before the answer was complete";
    case Stop::kNo:
    case Stop::kSinkIsDone: break;
  }
  return {};
}

std::string CurlExchange::reason(CURLcode code) const {
  std::string detail = error_text_[0] ? error_text_.data() : curl_easy_strerror(code);
  long os_error = 0;
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST: return "the host name is not known; is it spelled right?";
    case CURLE_COULDNT_RESOLVE_PROXY: return "the proxy's host name is not known";
    case CURLE_COULDNT_CONNECT:
      curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
      return os_error ? fmt::format("cannot connect: {}", std::strerror(static_cast<int>(os_error))) : detail;
    case CURLE_OPERATION_TIMEDOUT: return reason_for_timeout();
    case CURLE_SSL_CACERT_BADFILE: return fmt::format("the CA file '{}' cannot be used", options.ca_file);
    case CURLE_PEER_FAILED_VERIFICATION: return "the server's certificate is not trusted: " + detail;
    case CURLE_SSL_CONNECT_ERROR: return "no TLS connection (does the server speak https?): " + detail;
    case CURLE_UNSUPPORTED_PROTOCOL: return "the answer is not HTTP/1.1: " + detail;  // the URL was checked
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR: return "the connection broke before the answer was complete";
    default: return detail;
  }
}

std::string CurlExchange::reason_for_timeout() const {
  curl_off_t ready_us = 0;
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
  Duration whole = request.timeout;
  if (ready_us > 0) return fmt::format("no complete answer within {}", seconds_text(whole));
  Duration limit = whole.us > 0 ? std::min(whole, options.connect_timeout) : options.connect_timeout;
  return fmt::format("cannot connect within {}", seconds_text(limit));
}

}  // namespace ctrlplane::net
