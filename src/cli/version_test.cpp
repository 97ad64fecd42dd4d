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

// ---- Scoped versions -----------------------------------------------------------------------------------

constexpr const char* kSelector = "resource.metadata['region'] == 'us-east-1'";

struct ScopedVersions : Rollouts {
  std::string list = "deployments/" + deployment + "/versions";
  RunResult create_scoped(const std::vector<std::string>& more = {}, RunOptions options = {}) {
    std::vector<std::string> arguments{"--target-selector", kSelector};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return create(arguments, std::move(options));
  }
};

TEST_F(ScopedVersions, say_how_many_targets_they_are_for) {
  server.scope_versions(3, 0, 50);
  auto r = create_scoped({"--on-selector-error", "exclude"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "3 of 50 targets\n");
  EXPECT_TRUE(r.out.starts_with("version/1.4.2 created, id a0")) << r.out;
  std::string post = "POST /api/v1/workspaces/acme/" + list;
  EXPECT_EQ(server.writes(), (std::vector<std::string>{post + "?dryRun=true", post}));
  EXPECT_EQ(server.bodies().back(),
            fmt::format(R"({{"tag":"1.4.2","name":"1.4.2","status":"ready","config":{{}},"metadata":{{}},)"
                        R"("targetSelector":"{}","onSelectorError":"exclude"}})",
                        kSelector));
  EXPECT_EQ(server.bodies()[0], server.bodies()[1]);
}

TEST_F(ScopedVersions, list_their_targets_in_a_dry_run) {
  add_targets(3);
  server.scope_versions(1, 1, 3);
  auto r = create_scoped({"--dry-run"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out,
            "version/1.4.2 would be for 1 of 3 targets, 1 undetermined\n"
            "ENVIRONMENT  RESOURCE  MATCHES\n"
            "prod         r0        yes\n"
            "prod         r1        undetermined\n");
  EXPECT_EQ(r.err, "nothing was created: this was a dry run\n");
  EXPECT_NE(create_scoped({"--dry-run", "-o", "wide"}).out.find("MATCHES       KEY\n"), std::string::npos);
  EXPECT_EQ(create_scoped({"--dry-run", "-o", "name"}).out, "target/k0\ntarget/k1\n");
  r = create_scoped({"--dry-run", "-o", "json"});
  EXPECT_TRUE(r.out.starts_with("{\n  \"scope\": {\n    \"matched\": 1,\n")) << r.out;
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(server.count(list), 0u);
}

TEST_F(ScopedVersions, of_which_a_dry_run_lists_only_some_say_so) {
  server.refuse("POST /api/v1/workspaces/acme/" + list, 200,
                R"({"scope":{"matched":4000,"undetermined":0,"total":5000},"more":true,"targets":[)"
                R"({"releaseTargetKey":"k","resource":{"name":"r"},"environment":{"name":"prod"},)"
                R"("undetermined":false}]})");
  auto r = create_scoped({"--dry-run"});
  EXPECT_TRUE(r.out.ends_with("prod         r         yes\nonly the first 1 are listed\n")) << r.out;
}

TEST_F(ScopedVersions, are_asked_about_where_the_selector_may_not_be_what_was_meant) {
  struct Case {
    size_t matched, undetermined;
    const char* said;
  };
  for (const Case& c :
       {Case{0, 0, "0 of 50 targets\n  no target matches the selector\n"},
        Case{50, 0, "50 of 50 targets\n  every target matches: the selector leaves none out\n"},
        Case{3, 1,
             "3 of 50 targets, 1 undetermined\n"
             "  on 1 target the selector cannot be evaluated: included\n"}}) {
    server.scope_versions(c.matched, c.undetermined, 50);
    std::vector<std::string> more;
    if (c.undetermined) more = {"--on-selector-error", "include"};
    auto r = create_scoped(more, {.input = "n\n", .terminal = true});
    EXPECT_EQ(r.code, 1);
    EXPECT_EQ(r.err, fmt::format("{}create version 1.4.2? [y/N] ctrlplane: nothing was created\n", c.said));
    r = create_scoped(more);
    EXPECT_EQ(r.code, 2);
    EXPECT_EQ(r.err, fmt::format("{}ctrlplane: such a scope is asked about, and there is no terminal to ask "
                                 "on: say --yes\n",
                                 c.said));
  }
  EXPECT_EQ(server.count(list), 0u);
  EXPECT_EQ(create_scoped({"--on-selector-error", "include"}, {.input = "y\n", .terminal = true}).code, 0);
  EXPECT_EQ(server.count(list), 1u);
}

TEST_F(ScopedVersions, are_made_without_a_question_if_one_says_so) {
  server.scope_versions(0, 0, 50);
  auto r = create_scoped({"--yes"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "0 of 50 targets\n  no target matches the selector\n");
  EXPECT_EQ(server.count(list), 1u);
}

TEST_F(ScopedVersions, do_with_undetermined_targets_as_the_workspace_says) {
  server.scope_versions(3, 2, 50);
  server.refuse("GET /api/v1/workspaces/acme/deployment-versions/settings", 200,
                R"({"onSelectorError":"exclude","scopeNeedsPermission":false})");
  auto r = create_scoped({"--yes"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err,
            "3 of 50 targets, 2 undetermined\n  on 2 targets the selector cannot be evaluated: left out\n");
}

TEST_F(ScopedVersions, tell_what_the_server_warns_about) {
  server.refuse("POST /api/v1/workspaces/acme/" + list + "?dryRun", 200,
                R"({"scope":{"matched":3,"undetermined":0,"total":50},"targets":[],"more":false})");
  server.refuse("POST /api/v1/workspaces/acme/" + list, 200,
                R"({"id":"a9","tag":"1.4.2","warnings":["on r1 it fails"]})");
  EXPECT_EQ(create_scoped().err, "3 of 50 targets\nversion/1.4.2: warning: on r1 it fails\n");
}

TEST_F(ScopedVersions, do_not_begin_with_wrong_use) {
  EXPECT_EQ(create({"--target-selector", ""}).code, 2);
  EXPECT_EQ(create({"--on-selector-error", "include"}).code, 2);
  EXPECT_EQ(create_scoped({"--on-selector-error", "shrug"}).code, 2);
  EXPECT_TRUE(server.writes().empty());
  server.refuse("POST", 400,
                R"({"message":"wrong","details":[{"path":"targetSelector","message":"1:5: x"}]})");
  auto r = create_scoped();
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "ctrlplane: 400 wrong\n  targetSelector: 1:5: x\n");
  EXPECT_EQ(server.writes().size(), 1u);
}

TEST_F(ScopedVersions, are_not_made_where_the_server_does_not_say_what_they_are_for) {
  server.refuse("POST", 200, "{}");
  EXPECT_EQ(create_scoped({"--yes"}).code, 1);
  EXPECT_EQ(server.writes().size(), 1u);
}

TEST_F(ScopedVersions, are_followed_to_the_last_target_of_their_scope) {
  add_targets(3);
  server.scope_versions(2, 0, 3);
  auto r = create_scoped({"--wait"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err,
            "2 of 3 targets\n0/2 done, 1 running\n1/2 done\n1/2 done, 1 running\n2/2 done\n"
            "version 1.4.2 is on all 2 release targets of its scope\n");
}

TEST_F(ScopedVersions, are_done_at_once_where_nothing_matches) {
  add_targets(3);
  server.scope_versions(0, 0, 3);
  auto r = create_scoped({"--wait", "--yes"});
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(r.err.ends_with("no release target is in the version's scope\n")) << r.err;
}

TEST_F(ScopedVersions, are_marked_in_lists) {
  server.add(list, R"({"tag":"2","status":"ready"})");
  server.add(list, R"({"tag":"1b","status":"ready","targetSelector":"a == b",
      "scope":{"matched":3,"undetermined":0,"total":50}})");
  server.add(list, R"({"tag":"1a","status":"ready","targetSelector":"a == b",
      "scope":{"matched":3,"undetermined":2,"total":50,"counting":true}})");
  server.add(list, R"({"tag":"1","status":"ready","targetSelector":"a == b"})");
  EXPECT_EQ(run_at(server, {"versions", "api"}).out,
            "TAG  STATUS  NAME  SCOPE                                    AGE\n"
            "2    ready   -     all                                      5m\n"
            "1b   ready   -     3 of 50                                  5m\n"
            "1a   ready   -     3 of 50, 2 undetermined, still counting  5m\n"
            "1    ready   -     some                                     5m\n");
  auto r = run_at(server, {"versions", "api", "-o", "wide"});
  EXPECT_NE(r.out.find("5m   a == b"), std::string::npos) << r.out;
}

}  // namespace
}  // namespace ctrlplane::cli
