#include "net/http.h"

#include <algorithm>

namespace ctrlplane::net {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

const std::string* Headers::find(std::string_view name) const {
  for (const Header& h : items_)
    if (same_name(h.name, name)) return &h.value;
  return nullptr;
}

size_t Headers::count(std::string_view name) const {
  return static_cast<size_t>(
      std::count_if(items_.begin(), items_.end(), [&](const Header& h) { return same_name(h.name, name); }));
}

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  if (text.find('%') == text.npos && !(plus_is_space && text.find('+') != text.npos))
    return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
      int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return fail(ErrorCode::kInvalid, "malformed percent escape in the URL");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

Result<std::vector<std::string>> Request::path_segments() const {
  std::vector<std::string> segments;
  std::string_view rest = path;
  if (rest.starts_with('/')) rest.remove_prefix(1);
  if (rest.empty()) return segments;
  segments.reserve(1 + static_cast<size_t>(std::count(rest.begin(), rest.end(), '/')));
  while (true) {
    size_t slash = rest.find('/');
    segments.push_back(TRY(percent_decode(rest.substr(0, slash))));
    if (slash == std::string_view::npos) return segments;
    rest.remove_prefix(slash + 1);
  }
}

Result<QueryPairs> Request::query_pairs() const {
  QueryPairs pairs;
  for (size_t at = 0; at < query.size();) {
    const size_t end = std::min(query.find('&', at), query.size());
    const size_t equals = std::min(query.find('=', at), end);
    std::string_view all = query;
    if (end > at) {
      std::string name = TRY(percent_decode(all.substr(at, equals - at), true));
      std::string value =
          equals < end ? TRY(percent_decode(all.substr(equals + 1, end - equals - 1), true)) : "";
      pairs.emplace_back(std::move(name), std::move(value));
    }
    at = end + 1;
  }
  return pairs;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

}  // namespace ctrlplane::net
