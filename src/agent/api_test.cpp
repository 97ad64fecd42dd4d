#include "agent/api.h"

#include <gtest/gtest.h>

#include "agent/fake_server.h"

namespace ctrlplane::agent {
namespace {

using State = FakeServer::State;

TEST(AgentApi, takes_the_url_in_every_spelling) {
  for (std::string_view url :
       {"http://h:1", "http://h:1/", "http://h:1/api", "http://h:1/api/", "http://h:1/api/v1//"})
    EXPECT_EQ(bare_url(url), "http://h:1") << url;
  EXPECT_EQ(bare_url("https://h/prefix/api"), "https://h/prefix");
  EXPECT_EQ(public_url("https://user:pass@h/prefix/a@b/"), "https://h/prefix/a@b");
  EXPECT_EQ(public_url("https://h/"), "https://h");
}

TEST(AgentApi, finds_and_registers_a_job_agent) {
  FakeServer server;
  Api api(server.api());
  EXPECT_EQ(api.find_agent("a \"name\"").value(), std::nullopt);
  EXPECT_EQ(api.create_agent("id-1", "a \"name\"").value(), "id-1");
  EXPECT_EQ(api.find_agent("a \"name\"").value(), "id-1");
}

TEST(AgentApi, looks_for_a_job_agent_on_every_page) {
  FakeServer server;
  server.change([](State& state) {
    state.instead = [page = 0](const std::string&) mutable -> std::optional<net::Response> {
      std::string items;
      for (int i = 0; i < (page < 2 ? 1000 : 3); ++i)
        items += (i ? "," : "") + std::string(R"({"name":"other","id":"x"})");
      if (page++ == 2) items += R"(,{"name":"mine","id":"y"})";
      return net::Response{.body = R"({"items":[)" + items + "]}"};
    };
  });
  Api api(server.api());
  EXPECT_EQ(api.find_agent("mine").value(), "y");
  EXPECT_EQ(server.read([](State& s) { return s.requests.size(); }), 3u);
}

TEST(AgentApi, claims_a_job_or_learns_that_none_waits) {
  FakeServer server;
  Api api(server.api());
  Api::Claimant claimant{"a", "instance-1", true};
  EXPECT_EQ(api.claim(claimant).value(), std::nullopt);
  server.add_job({.id = "j1", .context = R"({"version":{"tag":"1.0"}})"});
  auto job = api.claim(claimant);
  ASSERT_TRUE(job && *job);
  EXPECT_EQ((*job)->id, "j1");
  EXPECT_EQ((*job)->context, R"({"version":{"tag":"1.0"}})");
  EXPECT_TRUE(server.read([](State& s) { return s.job("j1").fences_itself; }));
  EXPECT_EQ(api.claim({"a", "instance-2", true}, "j1").error().code, ErrorCode::kConflict);
  EXPECT_TRUE(api.claim(claimant, "j1"));
}

TEST(AgentApi, reports_beats_and_appends) {
  FakeServer server;
  server.add_job({.id = "j/1", .holder = "me"});
  server.add_job({.id = "j2", .holder = "other"});
  Api api(server.api());
  EXPECT_TRUE(api.report("j/1", "me", "inProgress", "on it"));
  EXPECT_EQ(api.report("j2", "me", "inProgress").error().code, ErrorCode::kConflict);
  EXPECT_EQ(api.report("j3", "me", "inProgress").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(api.append_output("j/1", 0, "a \"line\"\n"));
  auto beat = api.heartbeat("a", "me", {"j/1", "j2"});
  ASSERT_TRUE(beat);
  EXPECT_EQ(beat->stop, std::vector<std::string>{"j2"});
  EXPECT_EQ(beat->lease, seconds(300));
  EXPECT_EQ(beat->heartbeat, seconds(30));
  server.read([](State& s) {
    EXPECT_EQ(s.job("j/1").message, "on it");
    EXPECT_EQ(s.job("j/1").output, "a \"line\"\n");
  });
}

TEST(AgentApi, tells_what_may_pass_from_what_will_not) {
  FakeServer server;
  Api api(server.api());
  auto error_at = [&](int status, std::string body) {
    server.change([&](State& state) {
      state.instead = [=](const std::string&) {
        return std::optional(net::Response{.status = status, .body = body});
      };
    });
    return api.claim({"a", "me", true}).error();
  };
  for (int status : {429, 500, 502, 503}) EXPECT_TRUE(is_transient(error_at(status, ""))) << status;
  for (int status : {301, 400, 401, 403, 404, 409})
    EXPECT_FALSE(is_transient(error_at(status, ""))) << status;
  EXPECT_EQ(error_at(403, R"({"message":"jobs.claim is missing"})").message,
            "the server answered 403 Forbidden: jobs.claim is missing");
  for (std::string nonsense : {"<html>", "[]", "{}", R"({"id":1})", R"({"id":"j","dispatchContext":"x"})"})
    EXPECT_EQ(error_at(200, nonsense).code, ErrorCode::kInternal) << nonsense;
  server.down();
  EXPECT_TRUE(is_transient(api.claim({"a", "me", true}).error()));
}

TEST(AgentApi, a_strange_heartbeat_answer_is_read_for_what_it_is_worth) {
  FakeServer server;
  server.change([](State& state) {
    state.instead = [](const std::string&) {
      return std::optional(
          net::Response{.body = R"({"stop":[1,"j1",null],"leaseSeconds":-5,"heartbeatSeconds":"x"})"});
    };
  });
  Api api(server.api());
  auto beat = api.heartbeat("a", "me", {});
  ASSERT_TRUE(beat);
  EXPECT_EQ(beat->stop, std::vector<std::string>{"j1"});
  EXPECT_EQ(beat->lease, Duration{});
  EXPECT_EQ(beat->heartbeat, Duration{});
}

}  // namespace
}  // namespace ctrlplane::agent
