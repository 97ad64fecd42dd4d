#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

constexpr const char* kWs = "/api/v1/workspaces/acme";

TEST(Get, shows_a_table_of_a_kind) {
  FakeServer server;
  server.add("environments",
             R"({"name":"prod","resourceSelector":"true","createdAt":"2026-01-01T00:02:00Z"})");
  server.add("environments", R"({"name":"staging","createdAt":"2025-12-30T00:00:00Z"})");
  auto r = run_at(server, {"get", "environments"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "NAME     SELECTOR  AGE\nprod     true      3m\nstaging  -         2d\n");
  EXPECT_EQ(r.err, "");
}

TEST(Get, takes_singular_plural_and_short_names_of_kinds) {
  FakeServer server;
  server.add("environments", R"({"name":"prod"})");
  for (const char* word : {"environment", "environments", "env", "Environments"})
    EXPECT_EQ(run_at(server, {"get", word, "-o", "name"}).out, "environment/prod\n") << word;
  auto r = run_at(server, {"get", "enviroment"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("there is no kind 'enviroment' (did you mean 'environments'?)"), std::string::npos)
      << r.err;
}

TEST(Get, writes_json_and_yaml_as_the_server_sent_it) {
  FakeServer server;
  server.add("systems", R"({"id":"a0","name":"shop","metadata":{"n":"1"},"createdAt":"x","big":50})");
  EXPECT_EQ(run_at(server, {"get", "systems", "-o", "json"}).out,
            "[\n  {\n    \"id\": \"a0\",\n    \"name\": \"shop\",\n    \"metadata\": {\n      \"n\": \"1\"\n "
            "   },\n"
            "    \"createdAt\": \"x\",\n    \"big\": 50\n  }\n]\n");
  EXPECT_EQ(run_at(server, {"get", "systems", "-o", "yaml"}).out,
            "- id: a0\n  name: shop\n  metadata:\n    \"n\": \"1\"\n  createdAt: x\n  big: 50\n");
  EXPECT_EQ(run_at(server, {"get", "systems", "-o", "xml"}).code, 2);
}

TEST(Get, pages_through_everything_unless_limited) {
  FakeServer server;
  for (int i = 0; i < 1203; ++i) server.add("systems", fmt::format(R"({{"name":"s{}"}})", i));
  auto r = run_at(server, {"get", "systems", "-o", "name"});
  EXPECT_EQ(std::ranges::count(r.out, '\n'), 1203);
  EXPECT_TRUE(r.out.ends_with("system/s1202\n"));
  r = run_at(server, {"get", "systems", "-o", "name", "--limit", "501"});
  EXPECT_EQ(std::ranges::count(r.out, '\n'), 501);
  EXPECT_EQ(server.requests().back(), fmt::format("GET {}/systems?limit=1&offset=500", kWs));
}

TEST(Get, says_so_where_there_is_nothing_and_that_is_no_failure) {
  FakeServer server;
  auto r = run_at(server, {"get", "systems"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "no systems in workspace acme\n");
  r = run_at(server, {"get", "systems", "-o", "json"});
  EXPECT_EQ(r.out, "[]\n");
  EXPECT_EQ(r.err, "");
}

TEST(Get, fails_if_what_it_writes_is_lost) {
  FakeServer server;
  server.add("systems", R"({"name":"shop"})");
  auto r = run_at(server, {"get", "systems"}, {.lines = 1});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "ctrlplane: the output could not be written\n");
}

TEST(Get, finds_one_by_name_id_or_beginning_of_the_id) {
  FakeServer server;
  server.add("systems", R"({"id":"0190aaaa-0000-7000-8000-000000000001","name":"shop"})");
  server.add("systems", R"({"id":"0190bbbb-0000-7000-8000-000000000002","name":"billing"})");
  for (const char* which :
       {"shop", "0190aaaa-0000-7000-8000-000000000001", "0190aa", "0190AAAA-00", "0190aaaa…"}) {
    auto r = run_at(server, {"get", "system", which, "-o", "name"});
    EXPECT_EQ(r.out, "system/shop\n") << which << r.err;
  }
  auto r = run_at(server, {"get", "system", "0190"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err,
            "ctrlplane: '0190' can be any of 2 systems:\n"
            "  0190aaaa-0000-7000-8000-000000000001  shop\n"
            "  0190bbbb-0000-7000-8000-000000000002  billing\n");
  r = run_at(server, {"get", "system", "019"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "ctrlplane: 404 no system '019' in workspace 'acme'\n");
}

TEST(Get, prefers_a_name_to_the_beginning_of_an_id) {
  FakeServer server;
  server.add("systems", R"({"id":"cafe0000-0000-7000-8000-000000000001","name":"shop"})");
  server.add("systems", R"({"name":"cafe"})");
  EXPECT_EQ(run_at(server, {"get", "system", "cafe", "-o", "name"}).out, "system/cafe\n");
}

TEST(Get, asks_by_name_where_the_api_can) {
  FakeServer server;
  server.add("deployments", R"({"name":"a/b ü"})");
  auto r = run_at(server, {"get", "deployment", "a/b ü", "-o", "name"});
  EXPECT_EQ(r.out, "deployment/a/b ü\n");
  EXPECT_EQ(server.requests().back(), fmt::format("GET {}/deployments/name/a%2Fb%20%C3%BC", kWs));
}

TEST(Get, never_takes_a_name_for_a_step_in_the_path) {
  FakeServer server;
  for (const char* name : {".", ".."}) {
    auto r = run_at(server, {"get", "resource", name});
    EXPECT_EQ(r.code, 1);
    EXPECT_EQ(r.err, fmt::format("ctrlplane: 404 no resource '{}' in workspace 'acme'\n", name));
  }
}

TEST(Get, looks_up_the_id_of_a_resource_by_an_expression) {
  FakeServer server;
  for (int i = 0; i < 600; ++i) server.add("resources", fmt::format(R"({{"identifier":"r{}"}})", i));
  server.add("resources", R"({"id":"0190cccc-0000-7000-8000-000000000001","identifier":"eu-1"})");
  EXPECT_EQ(run_at(server, {"get", "resource", "0190cccc", "-o", "name"}).out, "resource/eu-1\n");
  EXPECT_LE(server.requests().size(), 3u);
}

TEST(Get, sends_selector_and_kind_as_one_expression) {
  FakeServer server;
  run_at(server, {"get", "resources", "--selector", "resource.name == 'x' || true", "--kind", "a\"b"});
  EXPECT_EQ(
      server.requests().back(),
      fmt::format("GET {}/resources?cel=%28resource.name%20%3D%3D%20%27x%27%20%7C%7C%20true%29%20%26%26%20"
                  "resource.kind%20%3D%3D%20%22a%5C%22b%22&limit=500&offset=0",
                  kWs));
  EXPECT_EQ(run_at(server, {"get", "systems", "--kind", "x"}).code, 2);
}

TEST(Get, needs_the_deployment_of_versions) {
  FakeServer server;
  EXPECT_EQ(run_at(server, {"get", "versions"}).code, 2);
  std::string id = server.add("deployments", R"({"name":"api"})");
  server.add("deployments/" + id + "/versions", R"({"tag":"1.0","name":"first","status":"ready"})");
  auto r = run_at(server, {"versions", "api"});
  EXPECT_EQ(r.out, "TAG  STATUS  NAME   SCOPE  AGE\n1.0  ready   first  all    5m\n");
  EXPECT_EQ(run_at(server, {"get", "versions", "--deployment", "api"}).out, r.out);
  EXPECT_EQ(run_at(server, {"versions", "nobody"}).err,
            "ctrlplane: 404 no deployment 'nobody' in workspace 'acme'\n");
}

TEST(Get, colours_and_cuts_only_on_a_terminal) {
  FakeServer server;
  std::string id = server.add("deployments", R"({"name":"api"})");
  server.add("deployments/" + id + "/versions",
             R"({"tag":"1.0","name":"a name that is too long","status":"ready"})");
  auto r = run_at(server, {"versions", "api"}, {.terminal = true, .width = 37});
  EXPECT_EQ(r.out,
            "TAG  STATUS  NAME          SCOPE  AGE\n1.0  \x1b[32mready\x1b[0m   a name that…  all    5m\n");
}

TEST(Targets, show_what_runs_where) {
  FakeServer server;
  std::string deployment = server.add("deployments", R"({"name":"api"})");
  server.add("release-targets",
             R"({"releaseTarget":{"key":"k"},"deployment":{"name":"api"},"environment":{"name":"prod"},
                 "resource":{"name":"eu-1"},"state":{"currentVersion":{"id":"1","tag":"1.0"},
                 "latestJob":{"status":"failure"},"reason":"waits"}})");
  auto r = run_at(server, {"targets", "--deployment", "api", "-o", "wide"});
  EXPECT_EQ(r.out,
            "DEPLOYMENT  ENVIRONMENT  RESOURCE  CURRENT  DESIRED  JOB      FROZEN  REASON  KEY\n"
            "api         prod         eu-1      1.0      -        failure  -       waits   k\n");
  EXPECT_EQ(server.requests().back(),
            fmt::format("GET {}/release-targets?deploymentId={}&limit=500&offset=0", kWs, deployment));
  EXPECT_EQ(run_at(server, {"targets", "-o", "name"}).out, "target/k\n");
  run_at(server, {"targets", "--off-main-line"});
  EXPECT_EQ(server.requests().back(),
            fmt::format("GET {}/release-targets?offMainLine=true&limit=500&offset=0", kWs));
  r = run_at(server, {"redeploy", "target/k"});
  EXPECT_EQ(r.out, "target/k redeployed\n");
  EXPECT_EQ(server.writes().back(), fmt::format("POST {}/release-targets/k/redeploy", kWs));
}

}  // namespace
}  // namespace ctrlplane::cli
