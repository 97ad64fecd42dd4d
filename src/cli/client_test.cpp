#include "cli/client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

constexpr const char* kSystems = "GET /api/v1/workspaces/acme/systems";

TEST(Client, sends_the_key_and_never_shows_it) {
  FakeServer server;
  server.refuse("GET ", 401, R"({"message":"who are you?","code":"unauthenticated"})");
  auto r = run_at(server, {"get", "systems", "-w", "acme"});
  EXPECT_EQ(server.headers("x-api-key"), std::vector<std::string>{"0123456789abcdef.secret"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "ctrlplane: 401 who are you?\n  set CTRLPLANE_API_KEY or --api-key\n");
}

TEST(Client, takes_the_only_workspace_if_none_is_named) {
  FakeServer server;
  EXPECT_EQ(run_at(server, {"get", "systems"}).err, "no systems in workspace acme\n");
  server.add_workspace("beta");
  auto r = run_at(server, {"get", "systems"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("choose one with --workspace"), std::string::npos);
  EXPECT_NE(r.err.find("  acme\n  beta\n"), std::string::npos);
  EXPECT_EQ(run_at(server, {"get", "systems", "-w", "beta"}).code, 0);
  EXPECT_EQ(run_at(server, {"get", "systems"}, {.environment = {{"CTRLPLANE_WORKSPACE", "beta"}}}).code, 0);
  EXPECT_EQ(run_at(server, {"get", "system", "x", "-w", "nowhere"}).err, "ctrlplane: 404 not found\n");
  EXPECT_EQ(run_at(server, {"get", "deployment", "x", "-w", "nowhere"}).err,
            "ctrlplane: 404 no workspace 'nowhere'\n");
}

TEST(Client, shows_the_details_of_a_refusal) {
  FakeServer server;
  server.refuse(kSystems, 400,
                R"({"message":"two things","details":[{"path":"name","message":"is \u001b[2Jbad"},
                                   {"path":"slug","message":"too"}]})");
  EXPECT_EQ(run_at(server, {"get", "systems"}).err,
            "ctrlplane: 400 two things\n  name: is ?[2Jbad\n  slug: too\n");
}

TEST(Client, understands_refusals_of_any_form) {
  struct Case {
    int status;
    const char *body, *said;
  };
  for (const Case& c :
       {Case{403, R"({"error":"no permission"})", "403 no permission"}, Case{404, "<html>", "404 Not Found"},
        Case{500, "", "500 Internal Server Error"}, Case{400, "[1]", "400 Bad Request"},
        Case{409, R"({"message":5,"details":"x"})", "409 5"}}) {
    FakeServer server;
    server.refuse(kSystems, c.status, c.body);
    auto r = run_at(server, {"get", "systems"});
    EXPECT_EQ(r.code, 1);
    EXPECT_EQ(r.err, fmt::format("ctrlplane: {}\n", c.said));
  }
}

TEST(Client, is_not_fooled_by_answers_that_are_none) {
  for (const char* body : {"<html>hello</html>", "{", "nul"}) {
    FakeServer server;
    server.refuse(kSystems, 200, body);
    auto r = run_at(server, {"get", "systems"});
    EXPECT_EQ(r.code, 1);
    EXPECT_NE(r.err.find("is it a ctrlplane server?"), std::string::npos) << body;
  }
  FakeServer server;
  server.refuse(kSystems, 200, R"({"items":5})");
  EXPECT_EQ(run_at(server, {"get", "systems"}).code, 1);
}

TEST(Client, waits_for_a_busy_server_and_repeats_itself_with_the_same_key) {
  FakeServer server;
  server.add("deployments", R"({"name":"api"})");
  server.refuse("POST ", 503, R"({"message":"moving","code":"unknown"})", 2);
  server.refuse_with("Retry-After", "2");
  int pauses = 0;
  auto r = run_at(server, {"version", "create", "api", "--tag", "1"}, {.on_pause = [&] { ++pauses; }});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(pauses, 2);
  auto keys = server.headers("Idempotency-Key");
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[0], keys[2]);
  run_at(server, {"version", "create", "api", "--tag", "2"});
  EXPECT_NE(server.headers("Idempotency-Key").back(), keys[0]);
}

TEST(Client, gives_up_on_a_server_that_stays_busy_or_asks_for_too_much) {
  FakeServer server;
  server.refuse(kSystems, 429, R"({"message":"busy"})");
  int pauses = 0;
  RunOptions counting{.on_pause = [&] { ++pauses; }};
  EXPECT_EQ(run_at(server, {"get", "systems"}, counting).err, "ctrlplane: 429 busy\n");
  EXPECT_EQ(pauses, 3);
  server.refuse_with("Retry-After", "3600");
  EXPECT_EQ(run_at(server, {"get", "systems"}, counting).code, 1);
  EXPECT_EQ(pauses, 3);
}

TEST(Client, says_where_it_looked_for_a_server_that_is_not_there) {
  FakeServer server;
  server.stop();
  auto r = run_at(server, {"get", "systems"});
  EXPECT_EQ(r.code, 3);
  EXPECT_NE(r.err.find("no answer from " + server.url()), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("ctrlplane serve"), std::string::npos);
}

TEST(Client, answers_wrong_use_with_2) {
  FakeServer server;
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"get"},
                                             {"get", "systems", "--limit", "0"},
                                             {"get", "systems", "--colour"},
                                             {"version"},
                                             {"job", "explode", "x"},
                                             {"apply"},
                                             {"version", "create", "x"}})
    EXPECT_EQ(run_at(server, arguments).code, 2);
  EXPECT_EQ(server.requests().size(), 0u);
}

TEST(Client, has_an_example_in_the_help_of_each_verb_and_the_exit_codes_in_its_own) {
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{{"apply"},
                                                                                    {"get"},
                                                                                    {"delete"},
                                                                                    {"version"},
                                                                                    {"version", "create"},
                                                                                    {"version", "set-status"},
                                                                                    {"versions"},
                                                                                    {"targets"},
                                                                                    {"redeploy"},
                                                                                    {"jobs"},
                                                                                    {"job"},
                                                                                    {"job", "show"},
                                                                                    {"job", "logs"},
                                                                                    {"job", "cancel"},
                                                                                    {"watch"},
                                                                                    {"completion"}}) {
    std::vector<std::string> arguments = verb;
    arguments.push_back("--help");
    auto r = run_bare(arguments);
    EXPECT_EQ(r.code, 0);
    EXPECT_NE(r.out.find("Example:\n  "), std::string::npos) << verb.back() << r.out;
  }
  EXPECT_NE(run_bare({"--help"}).out.find("3 server not reachable"), std::string::npos);
}

}  // namespace
}  // namespace ctrlplane::cli
