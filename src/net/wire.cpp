#include "net/wire.h"

#include <array>
#include <ctime>

#include <fmt/core.h>

#include "base/check.h"

namespace ctrlplane::net {
namespace {

bool is_token(std::string_view name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  for (char c : name) {
    bool letter_or_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter_or_digit && kOthers.find(c) == std::string_view::npos) return false;
  }
  return !name.empty();
}

bool is_servers_own(std::string_view name) {
  for (std::string_view own : {"Content-Length", "Transfer-Encoding", "Connection", "Date"})
    if (same_name(name, own)) return true;
  return false;
}

void append_header(std::string& out, const Header& header) {
  CHECK(is_token(header.name), "a response header's name is a token");
  out += header.name;
  out += ": ";
  for (char c : header.value) {
    auto u = static_cast<unsigned char>(c);
    out += (u < 0x20 && c != '\t') || u == 0x7f ? ' ' : c;
  }
  out += "\r\n";
}

}  // namespace

void append_response(std::string& out, const Response& response, const WireFormat& format) {
  CHECK(response.status >= 200 && response.status <= 999, "interim responses are the server's own");
  bool has_body = response.status != 204 && response.status != 304;
  out += "HTTP/1.1 ";
  out += std::to_string(response.status);
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\nDate: ";
  out += format.date;
  out += "\r\n";
  for (const Header& header : response.headers.items())
    if (!is_servers_own(header.name)) append_header(out, header);
  if (format.streaming) {
    if (!format.http_1_0) out += "Transfer-Encoding: chunked\r\n";
  } else if (has_body) {
    out += "Content-Length: ";
    out += std::to_string(response.body.size());
    out += "\r\n";
  }
  if (format.close)
    out += "Connection: close\r\n";
  else if (format.http_1_0)
    out += "Connection: keep-alive\r\n";
  out += "\r\n";
  if (has_body && !format.head_only && !format.streaming) out += response.body;
}

void append_chunk(std::string& out, std::string_view text) {
  out += fmt::format("{:x}\r\n", text.size());
  out += text;
  out += "\r\n";
}

std::string format_http_date(Time now) {
  // By hand, since strftime would follow the locale.
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  time_t t = now.us / 1'000'000;
  tm utc{};
  gmtime_r(&t, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[static_cast<size_t>(utc.tm_wday)],
                     utc.tm_mday, kMonths[static_cast<size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

}  // namespace ctrlplane::net
