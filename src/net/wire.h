// Responses as bytes. Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "net/http.h"

namespace ctrlplane::net {

struct WireFormat {
  bool head_only = false;  // the answer to HEAD: the length of the body, but not the body
  bool http_1_0 = false;   // the client's version
  bool close = false;
  bool streaming = false;  // no length known: chunked, or until the connection ends for HTTP/1.0
  std::string_view date;
};

void append_response(std::string& out, const Response& response, const WireFormat& format);
void append_chunk(std::string& out, std::string_view text);

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string format_http_date(Time now);

}  // namespace ctrlplane::net
