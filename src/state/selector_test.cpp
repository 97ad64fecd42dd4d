#include "state/selector.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/check.h"

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

// ---- Several entities ------------------------------------------------------------------------------------

struct Rows {
  Resource resource = node();
  Deployment deployment{
      .id = {Uuid::from_halves(3, 4)}, .name = "api", .slug = "api-slug", .description = "d"};
  Environment environment{.id = {Uuid::from_halves(5, 6)}, .name = "prod", .description = "e"};
  Version version{.id = {Uuid::from_halves(7, 8)}, .deployment = {Uuid::from_halves(3, 4)}, .tag = "v1"};
  Rows() {
    deployment.metadata = {{"tier", "1"}};
    deployment.agent_selector = "jobAgent.name == 'x'";
    deployment.agent_config = *Json::parse_object(R"({"image":"i"})");
    environment.metadata = {{"region", "eu"}};
    version.name = "one";
    version.status = VersionStatus::kPaused;
    version.message = "m";
    version.metadata = {{"branch", "main"}};
    version.config = *Json::parse_object(R"({"hotfix":true})");
    deployment.created_at = environment.created_at = version.created_at =
        *parse_rfc3339("2026-01-02T03:04:05Z");
  }
  SelectorInput all() const {
    return {
        .resource = &resource, .deployment = &deployment, .environment = &environment, .version = &version};
  }
};

Match match(Selector::Subject subject, std::string_view text, const SelectorInput& input) {
  auto s = Selector::compile(text, subject);
  EXPECT_TRUE(s) << text << ": " << (s ? "" : s.error().message);
  return s ? s->match(input) : Match::kError;
}

TEST(Selector, reads_every_field_of_deployments_environments_and_versions) {
  const Rows rows;
  for (const char* text :
       {"deployment.id == '00000000-0000-0003-0000-000000000004'",
        "deployment.name == 'api' && deployment.slug == 'api-slug'",
        "deployment.description == 'd' && deployment.metadata['tier'] == '1'",
        "deployment.jobAgentSelector.contains('jobAgent')", "deployment.jobAgentConfig.image == 'i'",
        "deployment.createdAt == '2026-01-02T03:04:05Z'",
        "environment.id == '00000000-0000-0005-0000-000000000006'",
        "environment.name == 'prod' && environment.description == 'e'", "environment.metadata.region == 'eu'",
        "environment.createdAt < timestamp('2027-01-01T00:00:00Z')",
        "version.id == '00000000-0000-0007-0000-000000000008'",
        "version.tag == 'v1' && version.name == 'one' && version.status == 'paused'",
        "version.message == 'm' && version.metadata['branch'] == 'main'", "version.config.hotfix",
        "version.createdAt == '2026-01-02T03:04:05Z'", "version.deploymentId == deployment.id",
        "resource.kind == 'Node'"})
    EXPECT_EQ(match(Selector::Subject::kVersion, text, rows.all()), Match::kYes) << text;
}

TEST(Selector, knows_the_variables_of_its_subject_and_no_others) {
  using S = Selector::Subject;
  const std::map<S, std::set<std::string>> known = {
      {S::kResource, {"resource"}},
      {S::kAgent, {"jobAgent"}},
      {S::kTarget, {"deployment", "environment", "resource"}},
      {S::kVersion, {"version", "environment", "resource", "deployment"}},
      {S::kDependency, {"deployment", "version"}},
      {S::kEnvironment, {"environment"}},
      {S::kDeployment, {"deployment"}},
      {S::kVersionOnly, {"version"}}};
  const Rows rows;
  const JobAgent agent{};
  SelectorInput input = rows.all();
  input.agent = &agent;
  for (const auto& [subject, variables] : known)
    for (const char* variable : {"resource", "jobAgent", "deployment", "environment", "version"}) {
      const std::string text = variable + std::string(".id != ''");
      EXPECT_EQ(Selector::compile(text, subject).has_value(), variables.contains(variable)) << text;
      if (variables.contains(variable)) {
        EXPECT_EQ(match(subject, text, input), Match::kYes) << text;
      }
    }
}

TEST(Selector, is_an_error_where_a_row_it_reads_is_not_given) {
  const Rows rows;
  using S = Selector::Subject;
  EXPECT_EQ(match(S::kTarget, "environment.name == 'prod'", {.deployment = &rows.deployment}), Match::kError);
  EXPECT_EQ(match(S::kTarget, "deployment.name == 'api'", {.deployment = &rows.deployment}), Match::kYes);
  EXPECT_EQ(match(S::kVersionOnly, "version.metadata['x'] == ''", rows.all()), Match::kMissingKey);
}

TEST(Selector, says_what_it_depends_on) {
  auto compiled = [](std::string_view text) {
    auto s = Selector::compile(text, Selector::Subject::kTarget);
    CHECK(s.has_value(), text);
    return *std::move(s);
  };
  Selector s = compiled("environment.name == 'prod' && deployment.metadata['tier'] == '1'");
  EXPECT_TRUE(s.uses("environment"));
  EXPECT_TRUE(s.uses("deployment"));
  EXPECT_FALSE(s.uses("resource"));
  EXPECT_FALSE(s.uses("version"));
  EXPECT_EQ(s.narrowing().kind, Narrowing::Kind::kAll);
  EXPECT_TRUE(s.narrowing().partial);
  s = compiled("resource.metadata['a'] == 'x'");
  EXPECT_EQ(s.narrowing().kind, Narrowing::Kind::kTerm);
  EXPECT_EQ(s.narrowing().any_of, std::vector<std::string>{"x"});
}

}  // namespace
}  // namespace ctrlplane
