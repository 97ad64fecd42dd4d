#include "notify/webhook.h"

namespace ctrlplane::notify {
namespace {

const OutboxId kId = *OutboxId::parse("01890000-0000-7000-8000-000000000001");

TEST(Webhook, has_the_deliverys_id_first) {
  EXPECT_EQ(webhook_body(kId, R"({"type":"test","at":"x"})"),
            R"({"id":"01890000-0000-7000-8000-000000000001","at":"x","type":"test"})");
  EXPECT_EQ(webhook_body(kId, "{}"), R"({"id":"01890000-0000-7000-8000-000000000001"})");
  EXPECT_FALSE(webhook_body(kId, "[]"));
  EXPECT_FALSE(webhook_body(kId, ""));
}

// Computed with: printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key
TEST(Webhook, is_signed_over_timestamp_and_body) {
  EXPECT_EQ(webhook_signature("key", 1700000000, R"({"a":1})"),
            "v1=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03");
}

TEST(Webhook, says_in_headers_what_it_is) {
  auto request = webhook_request({.url = "https://example.com/hook",
                                  .secret = "key",
                                  .id = kId,
                                  .type = "freeze.activated",
                                  .payload = R"({"type":"freeze.activated"})",
                                  .now = Time{1700000000'999999}});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(*request->headers.find("X-Ctrlplane-Delivery"), kId.str());
  EXPECT_EQ(*request->headers.find("X-Ctrlplane-Event"), "freeze.activated");
  EXPECT_EQ(*request->headers.find("X-Ctrlplane-Timestamp"), "1700000000");
  EXPECT_EQ(*request->headers.find("X-Ctrlplane-Signature"),
            webhook_signature("key", 1700000000, request->body));
}

TEST(Webhook, is_not_signed_without_a_secret) {
  auto request = webhook_request({.url = "https://example.com", .id = kId, .type = "test", .payload = "{}"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->headers.find("X-Ctrlplane-Signature"), nullptr);
}

}  // namespace
}  // namespace ctrlplane::notify
