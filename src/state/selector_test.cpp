#include "state/selector.h"

#include <gtest/gtest.h>

namespace ctrlplane {
namespace {

Resource node() {
  Resource r{.id = {Uuid::from_halves(1, 2)},
             .identifier = "a/b",
             .name = "node-1",
             .kind = "Node",
             .version = "v1"};
  r.metadata = {{"env", "prod"}, {"app.kubernetes.io/name", "api"}};
  r.config = *Json::parse_object(
      R"({"cpu":8,"load":0.5,"tags":["a","b\nc"],"nested":{"é":"ü","deep":[[1],{"x":null}]},"on":true})");
  r.created_at = *parse_rfc3339("2026-01-02T03:04:05Z");
  return r;
}

Match match(std::string_view text) {
  auto s = Selector::compile(text, Selector::Subject::kResource);
  EXPECT_TRUE(s) << text << ": " << (s ? "" : s.error().message);
  return s ? s->match(node()) : Match::kError;
}

TEST(Selector, reads_every_field_of_a_resource) {
  for (const char* text : {"true",
                           "resource.name == 'node-1' && resource.kind == 'Node' && resource.version == 'v1'",
                           "resource.identifier.startsWith('a/')",
                           "resource.id == '00000000-0000-0001-0000-000000000002'",
                           "resource.metadata['env'] in ['prod', 'stage']",
                           "resource.metadata.env == 'prod'",
                           "has(resource.metadata.env)",
                           "resource.metadata['app.kubernetes.io/name'] == 'api'",
                           "resource.metadata.exists(k, k == 'env')",
                           "resource.config.cpu == 8",
                           "resource.config.load < 1.0",
                           "resource.config.tags.size() == 2",
                           "'b\\nc' in resource.config.tags",
                           "resource.config.nested['é'] == 'ü'",
                           "resource.config.nested.deep[1].x == null",
                           "resource.config.nested.deep[0][0] == 1",
                           "resource.config.on",
                           "resource.config.all(k, k != 'zz')",
                           "resource.providerId == null",
                           "resource.createdAt == timestamp('2026-01-02T03:04:05Z')",
                           "resource.createdAt == '2026-01-02T03:04:05Z'",
                           "resource.updatedAt > timestamp('2026-01-01T00:00:00Z')"})
    EXPECT_EQ(match(text), Match::kYes) << text;
}

TEST(Selector, tells_a_missing_key_from_other_errors) {
  EXPECT_EQ(match("resource.metadata['zone'] == 'a'"), Match::kMissingKey);
  EXPECT_EQ(match("resource.config.memory > 1"), Match::kMissingKey);
  EXPECT_EQ(match("1 / (resource.config.cpu - 8) == 1"), Match::kError);
  EXPECT_EQ(match("resource.metadata['zone'] == 'a' || true"), Match::kYes);
  EXPECT_EQ(match("resource.kind == 'Pod'"), Match::kNo);
}

TEST(Selector, ends_when_an_expression_asks_for_too_much) {
  std::string list = "[";
  for (int i = 0; i < 200; ++i) list += (i ? "," : "") + std::to_string(i);
  list += "]";
  EXPECT_EQ(
      match(list + ".all(a, " + list + ".all(b, " + list + ".all(c, a + b + c + resource.config.cpu >= 0)))"),
      Match::kError);
}

TEST(Selector, is_refused_with_line_column_and_reason) {
  auto refused = [](std::string_view text) {
    auto s = Selector::compile(text, Selector::Subject::kResource);
    EXPECT_FALSE(s) << text;
    return s ? std::string() : s.error().message;
  };
  EXPECT_TRUE(refused("resource.colour == 'x'").starts_with("1:"));
  EXPECT_NE(refused("resource.kind == 'a' AND true").find("&&"), std::string::npos);
  EXPECT_TRUE(refused("true &&\n  node.kind == 'x'").starts_with("2:"));
  EXPECT_FALSE(refused("resource.name").empty());
  EXPECT_FALSE(refused("jobAgent.name == 'x'").empty());
  EXPECT_FALSE(refused("").empty());
}

TEST(Selector, matches_agents) {
  JobAgent a{.id = {}, .name = "runner", .type = "http-pull", .metadata = {{"team", "core"}}};
  auto matches = [&](std::string_view text) {
    return Selector::compile(text, Selector::Subject::kAgent)->match(a);
  };
  EXPECT_EQ(matches("jobAgent.name == 'runner' && jobAgent.type == 'http-pull'"), Match::kYes);
  EXPECT_EQ(matches("jobAgent.metadata['team'] == 'web'"), Match::kNo);
  EXPECT_EQ(matches("jobAgent.metadata.region == 'eu'"), Match::kMissingKey);
}

}  // namespace
}  // namespace ctrlplane
