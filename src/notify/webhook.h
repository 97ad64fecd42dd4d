// A message as a webhook gets it, and its signature. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"
#include "net/client.h"

namespace ctrlplane::notify {

// The payload with the delivery's id as its first member. kInvalid: the payload is no object.
Result<std::string> webhook_body(OutboxId id, std::string_view payload);

// "v1=" and the HMAC-SHA256 of "<timestamp>.<body>" in hexadecimal digits.
std::string webhook_signature(std::string_view secret, int64_t timestamp, std::string_view body);

struct WebhookDraft {
  std::string_view url;
  std::string_view secret;  // empty: not signed
  OutboxId id;
  std::string_view type;
  std::string_view payload;
  Time now;
};
Result<net::ClientRequest> webhook_request(const WebhookDraft& draft);

}  // namespace ctrlplane::notify
