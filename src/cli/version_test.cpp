#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

struct Rollouts : testing::Test {
  FakeServer server;
  std::string deployment = server.add("deployments", R"({"name":"api"})");
  void add_targets(int n) {
    for (int i = 0; i < n; ++i)
      server.add("release-targets",
                 fmt::format(R"({{"releaseTarget":{{"key":"k{}"}},"resource":{{"name":"r{}"}},
          "environment":{{"name":"prod"}},"deployment":{{"name":"api"}},
          "state":{{"currentVersion":{{"id":"old","tag":"0"}},
          "latestJob":{{"id":"j","status":"failure","createdAt":"2025-01-01T00:00:00Z"}}}}}})",
                             i, i));
  }
  RunResult create(const std::vector<std::string>& more = {}, RunOptions options = {}) {
    std::vector<std::string> arguments{"version", "create", "api", "--tag", "1.4.2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_at(server, arguments, std::move(options));
  }
};

TEST_F(Rollouts, begin_with_a_version) {
  auto r = create({"--name", "April", "--status", "building", "--metadata", "commit=4f2a", "--metadata",
                   "n=1", "--config", "image.tag=1.4.2", "--config", "replicas=3", "--message", "soon"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("version/1.4.2 created, id a0")) << r.out;
  EXPECT_EQ(
      server.bodies().back(),
      R"({"tag":"1.4.2","name":"April","status":"building","config":{"image":{"tag":"1.4.2"},"replicas":3},)"
      R"("metadata":{"commit":"4f2a","n":"1"},"message":"soon"})");
  r = create();
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "ctrlplane: 409 the tag is taken\n");
}

TEST_F(Rollouts, do_not_begin_with_wrong_use) {
  EXPECT_EQ(create({"--status", "shiny"}).code, 2);
  EXPECT_EQ(create({"--metadata", "x"}).code, 2);
  EXPECT_EQ(create({"--timeout", "soon"}).code, 2);
  EXPECT_EQ(run_at(server, {"version", "create", "nobody", "--tag", "1"}).code, 1);
  EXPECT_EQ(create({"--dry-run"}).out, "version/1.4.2 would be created\n");
  EXPECT_TRUE(server.writes().empty());
}

TEST_F(Rollouts, are_followed_to_the_last_target) {
  add_targets(3);
  auto r = create({"--wait"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err,
            "0/3 done, 1 running\n1/3 done\n1/3 done, 1 running\n2/3 done\n2/3 done, 1 running\n3/3 done\n"
            "version 1.4.2 is on all 3 release targets\n");
}

TEST_F(Rollouts, are_one_line_on_a_terminal) {
  add_targets(1);
  auto r = create({"--wait"}, {.terminal = true, .width = 80});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err,
            "\r\x1b[K0/1 done, 1 running\r\x1b[K1/1 done\r\x1b[Kversion 1.4.2 is on all 1 release targets\n");
}

TEST_F(Rollouts, end_with_4_when_a_job_fails) {
  add_targets(3);
  server.fail_jobs_after(1);
  auto r = create({"--wait"});
  EXPECT_EQ(r.code, 4);
  EXPECT_NE(
      r.err.find("ctrlplane: 1/3 done, 1 failed; on r1 in prod: failure: no room\n  ctrlplane job show a"),
      std::string::npos)
      << r.err;
}

TEST_F(Rollouts, end_with_5_when_time_runs_out) {
  add_targets(3);
  auto r = create({"--wait", "--timeout", "0s"});
  EXPECT_EQ(r.code, 5);
  EXPECT_NE(r.err.find("ctrlplane: time ran out: 0/3 done, 1 running\n"), std::string::npos) << r.err;
}

TEST_F(Rollouts, are_done_at_once_where_there_is_nowhere_to_go) {
  auto r = create({"--wait"});
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.err.find("the deployment has no release targets\n"), std::string::npos);
}

TEST_F(Rollouts, are_followed_without_a_stream_too) {
  add_targets(2);
  server.refuse("GET /api/v1/workspaces/acme/events", 404, "{}");
  auto r = create({"--wait"});
  EXPECT_EQ(r.code, 0) << r.err;
}

TEST_F(Rollouts, change_with_the_status_of_their_version) {
  std::string id =
      server.add("deployments/" + deployment + "/versions", R"({"tag":"1.0@beta","status":"ready"})");
  server.add("deployments", R"({"name":"we@b"})");
  auto r = run_at(server, {"version", "set-status", id, "rejected", "--message", "breaks"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(server.writes().back(), "PATCH /api/v1/workspaces/acme/deployment-versions/" + id);
  EXPECT_EQ(server.bodies().back(), R"({"status":"rejected","message":"breaks"})");
  server.add("deployments/" + deployment + "/versions", R"({"tag":"2","status":"ready"})");
  r = run_at(server, {"version", "set-status", "api@2", "paused"});
  EXPECT_EQ(r.out, "version/api@2 is paused\n");
  EXPECT_EQ(run_at(server, {"version", "set-status", "api@3", "ready"}).code, 1);
  for (const char* reference : {"api", "@2", "api@"})
    EXPECT_EQ(run_at(server, {"version", "set-status", reference, "ready"}).code, 2) << reference;
}

}  // namespace
}  // namespace ctrlplane::cli
