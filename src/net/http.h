// Requests and responses as plain structs: all that a handler sees of HTTP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ctrlplane::net {

struct Header {
  std::string name;
  std::string value;
};

// In the order they came; names are compared without regard to case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> items) : items_(items) {}

  void add(std::string name, std::string value) { items_.push_back({std::move(name), std::move(value)}); }
  // The first of that name, or null.
  const std::string* find(std::string_view name) const;
  size_t count(std::string_view name) const;
  const std::vector<Header>& items() const { return items_; }

 private:
  std::vector<Header> items_;
};

using QueryPairs = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;  // as sent: methods are case sensitive
  std::string target;  // as sent
  std::string path;    // before the '?', still percent-encoded; starts with '/', or is "*"
  std::string query;   // after the '?', still percent-encoded
  Headers headers;
  std::string body;
  std::string peer;  // the address of the other end, without port

  // The parts between slashes, decoded one by one, so that %2F stays inside its segment. "/" has none;
  // "/a/" has "a" and an empty one. An error if an escape is malformed.
  Result<std::vector<std::string>> path_segments() const;
  // Decoded names and values in order; '+' is a space. An error if an escape is malformed.
  Result<QueryPairs> query_pairs() const;
};

struct Response {
  int status = 200;
  // Content-Length, Transfer-Encoding, Connection and Date are the server's own and skipped here. A control
  // character in a value is written as a space, so a value can never start a header of its own.
  Headers headers = {};
  std::string body = {};
  bool close = false;  // end the connection after this response
};

bool same_name(std::string_view a, std::string_view b);
// An error if a '%' is not followed by two hexadecimal digits.
Result<std::string> percent_decode(std::string_view text, bool plus_is_space = false);
std::string_view reason_phrase(int status);

}  // namespace ctrlplane::net
