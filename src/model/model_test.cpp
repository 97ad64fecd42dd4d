#include <gtest/gtest.h>

#include "model/agent_type.h"
#include "model/entities.h"
#include "model/policy.h"

namespace ctrlplane {
namespace {

TEST(Json, is_canonical_whatever_the_order_of_members) {
  EXPECT_EQ(Json::parse_object(R"({"b":1, "a":{"y":[1,2],"x":true}})")->text(),
            R"({"a":{"x":true,"y":[1,2]},"b":1})");
}

TEST(Json, refuses_what_is_not_an_object) {
  for (const char* text : {"", "[]", "1", "{", "{} x", R"({"a":})"}) {
    auto r = Json::parse_object(text);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().code, ErrorCode::kInvalid);
  }
  EXPECT_FALSE(Json::parse_object(std::string(100, '[')));
}

TEST(Json, merges_maps_and_replaces_the_rest) {
  Json base = *Json::parse_object(R"({"a":{"x":1,"y":2},"l":[1,2],"s":"old"})");
  Json over = *Json::parse_object(R"({"a":{"y":3},"l":[9],"s":"new"})");
  EXPECT_EQ(merge(base, over).text(), R"({"a":{"x":1,"y":3},"l":[9],"s":"new"})");
  EXPECT_EQ(merge(base, Json()), base);
}

TEST(Metadata, round_trips_any_text) {
  Metadata m{{"zone", "eu\"1\\"}, {"a\n", std::string("tab\tbell\a nul") + '\0' + "é"}, {"", ""}};
  EXPECT_EQ(Metadata::parse_trusted(m.json()), m);
  EXPECT_EQ(Metadata::parse_trusted("{}"), Metadata());
  EXPECT_EQ(*m.find("zone"), "eu\"1\\");
  EXPECT_EQ(m.find("none"), nullptr);
}

TEST(Enums, spell_and_parse_alike) {
  for (int i = 0; i <= static_cast<int>(JobStatus::kExternalRunNotFound); ++i) {
    auto s = static_cast<JobStatus>(i);
    EXPECT_EQ(parse_enum<JobStatus>(to_string(s)), s);
  }
  for (const char* role : {"viewer", "agent", "deployer", "operator", "admin"})
    EXPECT_EQ(to_string(parse_enum<Role>(role).value()), role);
  EXPECT_FALSE(parse_enum<Role>("owner"));
  EXPECT_FALSE(parse_enum<VersionStatus>("Ready"));
  EXPECT_TRUE(is_terminal(JobStatus::kSkipped));
  EXPECT_FALSE(is_terminal(JobStatus::kActionRequired));
}

TEST(Enums, spell_approvals) {
  for (const char* word : {"approved", "rejected"})
    EXPECT_EQ(to_string(parse_enum<ApprovalStatus>(word).value()), word);
  EXPECT_FALSE(parse_enum<ApprovalStatus>("Approved"));
}

TEST(PolicyRules, round_trip_as_one_text) {
  std::vector<PolicyRule> rules;
  EXPECT_EQ(parse_rules(rules_json(rules)), rules);
  for (const char* body :
       {"{}", R"({"z":[1,2.5,{"a":null}],"a":{"b\f\u0001\b":"\b\u0001\"\\"},"n":1e100})"}) {
    PolicyRule r{.id = {Uuid::from_halves(1, rules.size())}, .created_at = Time{INT64_MIN}};
    r.type = "gradualRollout \"\n";
    r.body = *Json::parse_object(body);
    r.shown_created_at = "2026-01-01T00:00:00Z";
    rules.push_back(r);
  }
  std::string deep;
  for (int i = 0; i < 31; ++i) deep += R"({"a":[)";
  for (int i = 0; i < 31; ++i) deep += "]}";
  rules.push_back({.id = {}, .created_at = {}, .type = "t", .body = *Json::parse_object(deep)});
  EXPECT_EQ(parse_rules(rules_json(rules)), rules);
}

TEST(PolicyRules, that_nobody_wrote_are_refused) {
  const std::string good = rules_json({PolicyRule{.type = "t"}});
  ASSERT_TRUE(parse_rules(good));
  for (std::string_view cut :
       {"\"id\":", "\"createdAt\":0,", "\"type\":\"t\",", "\"body\":{},", "\"shown\":"}) {
    std::string bad = good;
    bad.erase(bad.find(cut), cut.size());
    EXPECT_FALSE(parse_rules(bad)) << bad;
  }
  for (const char* bad : {"", "{}", "[", "[1]", "[null]", R"([{"id":"x"}])"})
    EXPECT_FALSE(parse_rules(bad)) << bad;
}

TEST(AgentType, of_another_name_waits_for_claims) {
  EXPECT_EQ(agent_type("webhook").delivery, Delivery::kPush);
  for (const char* name : {"http-pull", "jenkins", ""}) EXPECT_EQ(agent_type(name).delivery, Delivery::kPull);
  EXPECT_EQ(find_agent_type("jenkins"), nullptr);
}

}  // namespace
}  // namespace ctrlplane
