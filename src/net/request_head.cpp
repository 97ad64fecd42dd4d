#include "net/asio.h"

#include "net/request_head.h"

#include <boost/beast/http/basic_parser.hpp>

namespace ctrlplane::net {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

std::string text(string_view v) { return {v.data(), v.size()}; }

class HeadParser final : public http::basic_parser<true> {
 public:
  explicit HeadParser(Request& request) : request_(request) {}

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int, error_code&) override {
    request_.method = text(method);
    request_.target = text(target);
  }
  void on_field_impl(http::field, string_view name, string_view value, error_code&) override {
    request_.headers.add(text(name), text(value));
  }
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
  size_t on_body_impl(string_view, error_code&) override { return 0; }
  void on_chunk_header_impl(uint64_t, string_view, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, string_view, error_code&) override { return 0; }
  void on_finish_impl(error_code&) override {}

  Request& request_;
};

// A well-formed version that is not 1.x deserves its own answer.
bool is_other_version(std::string_view head) {
  std::string_view line = head.substr(0, head.find('\r'));
  if (line.size() < 9) return false;
  std::string_view v = line.substr(line.size() - 9);
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return v.starts_with(" HTTP/") && digit(v[6]) && v[7] == '.' && digit(v[8]) && !v.ends_with("1.0") &&
         !v.ends_with("1.1");
}

// Origin form, absolute form (as sent to proxies), or "*" for OPTIONS.
bool split_target(Request& request) {
  std::string_view rest = request.target;
  if (rest == "*" && request.method == "OPTIONS") {
    request.path = "*";
    return true;
  }
  for (std::string_view scheme : {"http://", "https://"})
    if (rest.size() > scheme.size() && same_name(rest.substr(0, scheme.size()), scheme)) {
      rest.remove_prefix(scheme.size());
      rest.remove_prefix(std::min(rest.find_first_of("/?"), rest.size()));
      if (!rest.starts_with('/')) {
        request.path = "/";
        request.query = rest.empty() ? "" : rest.substr(1);
        return true;
      }
    }
  if (!rest.starts_with('/') || rest.find('#') != std::string_view::npos) return false;
  size_t mark = std::min(rest.find('?'), rest.size());
  request.path = rest.substr(0, mark);
  request.query = rest.substr(std::min(mark + 1, rest.size()));
  return true;
}

}  // namespace

std::expected<RequestHead, int> parse_head(std::string_view head) {
  if (is_other_version(head)) return std::unexpected(505);
  RequestHead out;
  HeadParser parser(out.request);
  parser.header_limit(static_cast<uint32_t>(head.size()) + 1);
  parser.body_limit(boost::none);
  error_code ec;
  size_t used = parser.put(boost::asio::const_buffer(head.data(), head.size()), ec);
  if (ec || used != head.size() || !parser.is_header_done()) return std::unexpected(400);
  if (!split_target(out.request)) return std::unexpected(400);

  const Headers& headers = out.request.headers;
  out.http_1_0 = head.substr(0, head.find('\r')).ends_with("1.0");
  if (headers.count("Host") > 1 || (headers.count("Host") == 0 && !out.http_1_0)) return std::unexpected(400);
  if (const std::string* coding = headers.find("Transfer-Encoding")) {
    // Anything but exactly one "chunked" leaves the length of the body open to interpretation.
    if (headers.count("Transfer-Encoding") > 1 || headers.count("Content-Length") > 0 || out.http_1_0)
      return std::unexpected(400);
    if (!same_name(*coding, "chunked")) return std::unexpected(501);
    out.chunked = true;
  } else if (const std::string* length = headers.find("Content-Length")) {
    // Beast also takes lists of equal numbers; another reader on the way might not.
    if (headers.count("Content-Length") > 1 || length->find(',') != std::string::npos ||
        !parser.content_length())
      return std::unexpected(400);
    out.content_length = *parser.content_length();
  }
  out.keep_alive = parser.keep_alive();
  if (const std::string* expect = headers.find("Expect"))
    out.expects_continue = !out.http_1_0 && same_name(*expect, "100-continue");
  return out;
}

}  // namespace ctrlplane::net
