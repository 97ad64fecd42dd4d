// The head of a request as Beast reads it. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "net/http.h"

namespace ctrlplane::net {

struct RequestHead {
  Request request;  // without body and peer
  bool keep_alive = false, http_1_0 = false, expects_continue = false, chunked = false;
  uint64_t content_length = 0;
};

// `head` is everything up to and with the empty line. The error is the status to refuse with.
std::expected<RequestHead, int> parse_head(std::string_view head);

}  // namespace ctrlplane::net
