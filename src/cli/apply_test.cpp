#include "cli/apply.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

constexpr const char* kShop = R"(
type: ResourceProvider
name: aws
---
type: JobAgent
name: runner
agentType: http-pull
config: {pool: blue}
---
type: System
name: shop
description: The shop
metadata: {team: web}
---
type: Environment
name: prod
resourceSelector: resource.metadata["stage"] == "prod"
systems: [shop]
---
type: Deployment
name: api
resourceSelector: "true"
jobAgentSelector: jobAgent.name == "runner"
jobAgentConfig: {replicas: 3}
jobTimeout: 20m
systems: [shop]
---
type: Resource
identifier: eu/1
kind: Cluster
version: v1
config: {zone: a}
provider: aws
---
type: Version
deployment: api
tag: "1.0"
config: {image: api:1.0}
)";

RunResult apply_text(const FakeServer& server, const std::string& text,
                     const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"apply", "-f", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_at(server, arguments, {.input = text});
}

TEST(Apply, creates_everything_and_finds_nothing_to_do_the_second_time) {
  FakeServer server;
  auto r = apply_text(server, kShop);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out,
            "provider/aws created\nagent/runner created\nsystem/shop created\nenvironment/prod created\n"
            "deployment/api created\nresource/eu/1 created\nversion/api@1.0 created\n"
            "7 created, 0 changed, 0 unchanged\n");
  size_t writes = server.writes().size();
  r = apply_text(server, kShop);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(
      r.out,
      "provider/aws unchanged\nagent/runner unchanged\nsystem/shop unchanged\nenvironment/prod unchanged\n"
      "deployment/api unchanged\nresource/eu/1 unchanged\nversion/api@1.0 unchanged\n"
      "0 created, 0 changed, 7 unchanged\n");
  EXPECT_EQ(server.writes().size(), writes);
}

TEST(Apply, changes_what_differs_and_leaves_alone_what_a_document_does_not_mention) {
  FakeServer server;
  apply_text(server, kShop);
  auto r = apply_text(server, "{type: System, name: shop, metadata: {team: core}, description: Shops}");
  EXPECT_EQ(r.out, "system/shop changed (description, metadata)\n0 created, 1 changed, 0 unchanged\n");
  r = apply_text(server, "{type: Deployment, name: api, jobAgentConfig: {replicas: 4}}");
  EXPECT_EQ(r.out, "deployment/api changed (jobAgentConfig)\n0 created, 1 changed, 0 unchanged\n");
  EXPECT_EQ(server.bodies().back(), R"({"name":"api","slug":"api","resourceSelector":"true",)"
                                    R"("jobAgentSelector":"jobAgent.name == \"runner\"",)"
                                    R"("jobAgentConfig":{"replicas":4},"jobTimeout":"PT20M"})");
  r = apply_text(server, "{type: Environment, name: prod, resourceSelector: 'false'}");
  EXPECT_EQ(r.out, "environment/prod changed (resourceSelector)\n0 created, 1 changed, 0 unchanged\n");
}

TEST(Apply, takes_an_absent_selector_for_one_that_selects_nothing) {
  FakeServer server;
  server.add("environments", R"({"name":"prod","description":""})");
  for (const char* selector : {"''", "'false'"})
    EXPECT_EQ(
        apply_text(
            server,
            fmt::format("{{type: Environment, name: prod, resourceSelector: {}, metadata: {{}}}}", selector))
            .out,
        "environment/prod unchanged\n0 created, 0 changed, 1 unchanged\n");
}

TEST(Apply, links_exactly_the_systems_that_are_named) {
  FakeServer server;
  apply_text(server, kShop);
  auto r =
      apply_text(server, "{type: System, name: other}\n---\n{type: Deployment, name: api, systems: [other]}");
  EXPECT_EQ(r.out,
            "system/other created\ndeployment/api changed (systems)\n1 created, 1 changed, 0 unchanged\n");
  auto writes = server.writes();
  ASSERT_GE(writes.size(), 2u);
  EXPECT_TRUE(writes[writes.size() - 2].starts_with("PUT /api/v1/workspaces/acme/systems/"))
      << writes[writes.size() - 2];
  EXPECT_TRUE(writes.back().starts_with("DELETE /api/v1/workspaces/acme/systems/")) << writes.back();
  r = apply_text(server, "{type: Deployment, name: api, systems: []}");
  EXPECT_EQ(r.out, "deployment/api changed (systems)\n0 created, 1 changed, 0 unchanged\n");
  r = apply_text(server, "{type: Deployment, name: api, systems: []}");
  EXPECT_EQ(r.out, "deployment/api unchanged\n0 created, 0 changed, 1 unchanged\n");
}

TEST(Apply, only_says_what_it_would_do_in_a_dry_run) {
  FakeServer server;
  auto r = apply_text(server, kShop, {"--dry-run"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("provider/aws would be created\n"));
  EXPECT_TRUE(r.out.ends_with(
      "version/api@1.0 would be created\n7 would be created, 0 would be changed, 0 unchanged\n"));
  EXPECT_TRUE(server.writes().empty());
  apply_text(server, kShop);
  size_t writes = server.writes().size();
  r = apply_text(server, "{type: System, name: shop, description: x}", {"--dry-run"});
  EXPECT_EQ(
      r.out,
      "system/shop would be changed (description)\n0 would be created, 1 would be changed, 0 unchanged\n");
  EXPECT_EQ(server.writes().size(), writes);
}

TEST(Apply, sends_nothing_if_any_document_is_wrong_or_refers_to_nothing) {
  FakeServer server;
  auto r = apply_text(server, std::string(kShop) + "---\n{type: System, nam: x}");
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(server.requests().empty());
  r = apply_text(server,
                 "{type: System, name: a}\n---\ntype: Deployment\nname: b\nsystems: [c]\n---\n"
                 "{type: Version, deployment: d, tag: x}\n---\n"
                 "{type: Resource, identifier: e, kind: k, version: v, provider: f}");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(
      r.err,
      "ctrlplane: 3 mistakes; nothing was sent\n"
      "  standard input, document 2, line 5: systems: there is no system 'c', here or on the server\n"
      "  standard input, document 4, line 9: provider: there is no provider 'f', here or on the server\n"
      "  standard input, document 3, line 7: deployment: there is no deployment 'd', here or on the "
      "server\n");
  EXPECT_TRUE(server.writes().empty());
}

TEST(Apply, goes_on_with_what_does_not_depend_on_what_failed) {
  FakeServer server;
  server.refuse(
      "POST /api/v1/workspaces/acme/systems", 400,
      R"({"message":"wrong","details":[{"path":"name","message":"is taken"},{"path":"x","message":"y"}]})",
      1);
  auto r = apply_text(server, kShop);
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out,
            "provider/aws created\nagent/runner created\nresource/eu/1 created\n"
            "3 created, 0 changed, 0 unchanged, 1 failed, 3 skipped\n");
  EXPECT_EQ(r.err,
            "system/shop failed: 400 wrong\n  name: is taken\n  x: y\n"
            "environment/prod skipped: system/shop failed\ndeployment/api skipped: system/shop failed\n"
            "version/api@1.0 skipped: deployment/api failed\n"
            "ctrlplane: 4 of 7 documents were not applied\n");
  r = apply_text(server, kShop);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out.ends_with("4 created, 0 changed, 3 unchanged\n")) << r.out;
}

TEST(Apply, never_changes_a_version_but_for_its_status) {
  FakeServer server;
  apply_text(server, kShop);
  size_t writes = server.writes().size();
  auto r = apply_text(server, "{type: Version, deployment: api, tag: '1.0', config: {image: 'api:1.1'}}");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(
      r.err.find("version/api@1.0 failed: it is published with another config, and versions do not change\n"),
      std::string::npos)
      << r.err;
  EXPECT_EQ(server.writes().size(), writes);
  r = apply_text(server, "{type: Version, deployment: api, tag: '1.0', status: rejected}");
  EXPECT_EQ(r.out, "version/api@1.0 changed (status)\n0 created, 1 changed, 0 unchanged\n");
  EXPECT_EQ(server.bodies().back(), R"({"status":"rejected"})");
  r = apply_text(server, "{type: Version, deployment: api, tag: '1.0'}");  // says nothing about the status
  EXPECT_EQ(r.out, "version/api@1.0 unchanged\n0 created, 0 changed, 1 unchanged\n");
}

TEST(Apply, publishes_scoped_versions_and_tells_their_warnings) {
  FakeServer server;
  apply_text(server, kShop);
  constexpr const char* kHotfix =
      "{type: Version, deployment: api, tag: '1.1', targetSelector: environment.name == 'prod', "
      "onSelectorError: exclude}";
  auto r = apply_text(server, kHotfix);
  EXPECT_EQ(r.out, "version/api@1.1 created\n1 created, 0 changed, 0 unchanged\n") << r.err;
  EXPECT_EQ(server.bodies().back(),
            R"({"tag":"1.1","targetSelector":"environment.name == 'prod'","onSelectorError":"exclude",)"
            R"("name":"1.1","status":"ready","config":{},"metadata":{}})");
  EXPECT_EQ(apply_text(server, kHotfix).out,
            "version/api@1.1 unchanged\n0 created, 0 changed, 1 unchanged\n");
  r = apply_text(server, "{type: Version, deployment: api, tag: '1.1', targetSelector: 'true'}");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("it is published with another targetSelector"), std::string::npos) << r.err;

  server.refuse("POST /api/v1/workspaces/acme/deployments/", 200,
                R"({"id":"a9","warnings":["on 2 targets the selector fails"]})");
  r = apply_text(server, "{type: Version, deployment: api, tag: '1.2', targetSelector: 'true'}");
  EXPECT_EQ(r.err, "version/api@1.2: warning: on 2 targets the selector fails\n");
}

TEST(Apply, makes_the_workspace_that_the_rest_goes_into) {
  FakeServer server;
  std::string text = "{type: Workspace, slug: fresh, name: Fresh}\n---\n{type: System, name: shop}";
  auto r = apply_text(server, text, {"--dry-run"});
  EXPECT_EQ(r.out,
            "workspace/fresh would be created\nsystem/shop would be created\n"
            "2 would be created, 0 would be changed, 0 unchanged\n")
      << r.err;
  r = apply_text(server, text);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(server.writes().back(), "POST /api/v1/workspaces/fresh/systems");
  r = apply_text(server, "{type: System, name: shop}", {"-w", "nowhere"});
  EXPECT_EQ(r.err, "ctrlplane: 404 no workspace 'nowhere'\n");
}

TEST(Apply, puts_nothing_into_a_workspace_that_could_not_be_made) {
  FakeServer server;
  server.refuse("POST /api/v1/workspaces", 403, R"({"message":"administrators only"})");
  auto r = apply_text(server, "{type: Workspace, slug: fresh, name: Fresh}\n---\n{type: System, name: shop}");
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(
      r.err.starts_with("workspace/fresh failed: 403 administrators only\n"
                        "system/shop skipped: workspace/fresh failed\n"))
      << r.err;
  EXPECT_EQ(server.writes().size(), 1u);
}

TEST(Apply, fetches_many_resources_as_one_list_and_shows_how_far_it_is) {
  FakeServer server;
  std::string text;
  for (int i = 0; i < 250; ++i)
    text += fmt::format("---\n{{type: Resource, identifier: r{}, kind: K, version: v}}\n", i);
  auto r = run_at(server, {"apply", "-f", "-"}, {.input = text, .terminal = true});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("125 of 250"), std::string::npos);
  EXPECT_EQ(server.count("resources"), 250u);
  size_t before = server.requests().size();
  r = apply_text(server, text);
  EXPECT_TRUE(r.out.ends_with("0 created, 0 changed, 250 unchanged\n"));
  EXPECT_LT(server.requests().size() - before, 5u);
  EXPECT_EQ(r.err, "");
}

TEST(Apply, reports_to_programs_as_json) {
  FakeServer server;
  auto r = apply_text(server, "{type: System, name: shop}", {"-o", "json"});
  EXPECT_EQ(r.out, "[\n  {\n    \"document\": \"system/shop\",\n    \"result\": \"created\"\n  }\n]\n");
  EXPECT_EQ(apply_text(server, "{type: System, name: shop}", {"-o", "name"}).out, "system/shop\n");
}

TEST(Apply, takes_policies_and_compares_their_rules_without_what_the_server_adds) {
  FakeServer server;
  const std::string text =
      "{type: Policy, name: calm, selector: 'true', priority: 3, enabled: true,"
      " rules: [{retry: {maxRetries: 2}}, {versionCooldown: {intervalSeconds: 60}}]}";
  auto r = apply_text(server, text);
  EXPECT_EQ(r.out, "policy/calm created\n1 created, 0 changed, 0 unchanged\n") << r.err;
  EXPECT_EQ(server.writes().back(), "POST /api/v1/workspaces/acme/policies");
  EXPECT_EQ(server.bodies().back(),
            R"({"name":"calm","selector":"true","priority":3,"enabled":true,"rules":[)"
            R"({"retry":{"maxRetries":2}},{"versionCooldown":{"intervalSeconds":60}}]})");

  FakeServer known;
  std::string id = known.add("policies", R"({"name":"calm","selector":"true","priority":3,"enabled":true,)"
                                         R"("rules":[{"id":"r1","policyId":"p","createdAt":"2026-01-01",)"
                                         R"("retry":{"maxRetries":2}},{"id":"r2","policyId":"p",)"
                                         R"("versionCooldown":{"intervalSeconds":60}}]})");
  EXPECT_EQ(apply_text(known, text).out, "policy/calm unchanged\n0 created, 0 changed, 1 unchanged\n");
  for (const char* other : {"rules: [{retry: {maxRetries: 2}}]", "rules: []",
                            "rules: [{versionCooldown: {intervalSeconds: 60}}, {retry: {maxRetries: 2}}]"}) {
    r = apply_text(known, std::string("type: Policy\nname: calm\n") + other, {"--dry-run"});
    EXPECT_TRUE(r.out.starts_with("policy/calm would be changed (rules)\n")) << r.out << r.err;
  }
  r = apply_text(known, "{type: Policy, name: calm, enabled: false}");
  EXPECT_TRUE(r.out.starts_with("policy/calm changed (enabled)\n")) << r.out << r.err;
  EXPECT_EQ(known.writes().back(), "PUT /api/v1/workspaces/acme/policies/" + id);
  EXPECT_NE(known.bodies().back().find(R"("rules":[{"id":"r1")"), std::string::npos) << "left as they are";
}

TEST(Apply, passes_on_what_the_server_warns_about) {
  FakeServer server;
  server.refuse("POST /api/v1/workspaces/acme/policies", 202,
                R"({"id":"p1","warnings":["a stuck resource holds its slot"]})");
  auto r = apply_text(server, "{type: Policy, name: calm}");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "policy/calm created\n1 created, 0 changed, 0 unchanged\n");
  EXPECT_EQ(r.err, "policy/calm: warning: a stuck resource holds its slot\n");
}

TEST(Apply, refuses_to_guess_between_systems_of_one_name) {
  FakeServer server;
  server.add("systems", R"({"name":"shop"})");
  server.add("systems", R"({"name":"shop"})");
  auto r = apply_text(server, "{type: System, name: shop, description: x}");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("there are 2 of system/shop on the server"), std::string::npos) << r.err;
  r = apply_text(server, "{type: Environment, name: e, systems: [shop]}");
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(server.writes().empty());
}

}  // namespace
}  // namespace ctrlplane::cli
