#include "notify/webhook.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include <fmt/core.h>

#include "base/check.h"
#include "model/json.h"

namespace ctrlplane::notify {

Result<std::string> webhook_body(OutboxId id, std::string_view payload) {
  std::string object = TRY(Json::parse_object(payload)).text();
  std::string_view rest = std::string_view(object).substr(1);
  return fmt::format(R"({{"id":"{}"{}{})", id.str(), rest == "}" ? "" : ",", rest);
}

std::string webhook_signature(std::string_view secret, int64_t timestamp, std::string_view body) {
  std::string text = fmt::format("{}.{}", timestamp, body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned int size = 0;
  CHECK(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), code.data(), &size));
  std::string hex = "v1=";
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", code[i]);
  return hex;
}

Result<net::ClientRequest> webhook_request(const WebhookDraft& draft) {
  net::ClientRequest request{.method = "POST", .url = std::string(draft.url)};
  request.body = TRY(webhook_body(draft.id, draft.payload));
  int64_t timestamp = draft.now.us / 1'000'000;
  request.headers.add("Content-Type", "application/json");
  request.headers.add("X-Ctrlplane-Delivery", draft.id.str());
  request.headers.add("X-Ctrlplane-Event", std::string(draft.type));
  request.headers.add("X-Ctrlplane-Timestamp", std::to_string(timestamp));
  if (!draft.secret.empty())
    request.headers.add("X-Ctrlplane-Signature", webhook_signature(draft.secret, timestamp, request.body));
  return request;
}

}  // namespace ctrlplane::notify
