#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/bracket_text.h"
#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

constexpr const char* kId = "0190aaaa-0000-7000-8000-000000000001";
constexpr const char* kOther = "0190bbbb-0000-7000-8000-000000000002";
constexpr const char* kAct =
    "POST /api/v1/workspaces/acme/bracket-groups/0190aaaa-0000-7000-8000-000000000001/actions";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string group(const char* id, const std::string& node, const std::string& status,
                  const std::string& more = "") {
  return fmt::format(
      R"({{"id":"{0}","ruleId":"r1","policyName":"node-upgrade","resource":{{"id":"{1}-id",)"
      R"("identifier":"n/{1}","name":"{1}"}},"environment":{{"id":"e1","name":"prod"}},"status":"{2}",)"
      R"("course":"forward","createdAt":"2025-12-31T23:00:00Z","collectionStartedAt":"2025-12-31T23:00:00Z",)"
      R"("collectionEndsAt":"2026-01-01T00:15:00Z"{3}}})",
      id, node, status, more);
}

std::string member(const std::string& name, const std::string& role, const std::string& outcome,
                   const std::string& more = "") {
  return fmt::format(R"({{"deploymentId":"{0}-id","deploymentName":"{0}","role":"{1}",)"
                     R"("participation":"{2}","outcome":"{3}"{4}}})",
                     name, role, role == "work" ? "changed" : "hook", outcome, more);
}

// Its members in no good order.
std::string stuck_group(const std::string& more = "") {
  const std::string uncordon =
      member("uncordon", "post_hook", "waiting",
             R"(,"tag":"1","attempts":0,"dependsOn":["containerd","kubelet"],"waitingFor":"kubelet")");
  const std::string kubelet = member(
      "kubelet", "work", "failed",
      R"(,"tag":"1.29","previousTag":"1.28","attempts":3,"dependsOn":["os-patch"],)"
      R"("startedAt":"2026-01-01T00:02:00.5Z","finishedAt":"2026-01-01T00:03:00.5Z","waitingFor":"a person")");
  const std::string drain =
      member("drain", "pre_hook", "succeeded",
             R"(,"tag":"1","previousTag":"1","attempts":1,"dependsOn":[],)"
             R"("startedAt":"2026-01-01T00:01:00Z","finishedAt":"2026-01-01T00:01:30Z")");
  const std::string containerd =
      member("containerd", "work", "running",
             R"(,"tag":"1.8","attempts":1,"dependsOn":["os-patch"],"startedAt":"2026-01-01T00:02:00Z")");
  const std::string os =
      R"({"deploymentId":"os-id","deploymentName":"os-patch","role":"work","participation":"skipped",)"
      R"("outcome":"waiting","previousTag":"7","attempts":0,"dependsOn":["drain"]})";
  return group(
      kId, "node-3", "stuck",
      fmt::format(R"(,"readyAt":"2026-01-01T00:00:00Z","startedAt":"2026-01-01T00:01:00Z",)"
                  R"("stuckSince":"2026-01-01T00:03:00.5Z","note":"kubelet failed: no retries left",)"
                  R"("members":[{},{},{},{},{}],"actions":["retry","skip_member","abort"]{})",
                  uncordon, kubelet, drain, containerd, os, more));
}

struct Brackets : testing::Test {
  FakeServer server;

  RunResult run(const std::vector<std::string>& arguments, RunOptions options = {}) {
    return run_at(server, arguments, std::move(options));
  }
  // With its resource, so that it can be named by that.
  void add(const std::string& json, const std::string& node) {
    server.add("bracket-groups", json);
    server.add("resources", fmt::format(R"({{"id":"{0}-id","identifier":"n/{0}","name":"{0}"}})", node));
  }
};

// ---- One group -----------------------------------------------------------------------------------------

TEST_F(Brackets, are_shown_as_a_tree_in_the_order_in_which_members_run) {
  server.add("bracket-groups", stuck_group());
  auto r = run({"bracket", "show", kId});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(
      r.out,
      fmt::format(
          "STUCK  node-3 in prod\n"
          "  group     {0}\n"
          "  bracket   node-upgrade\n"
          "  since     2026-01-01T00:03:00Z (1m59s ago)\n"
          "  window    closed 2026-01-01T00:00:00Z (5m ago)\n"
          "  started   2026-01-01T00:01:00Z (4m ago)\n"
          "  note      kubelet failed: no retries left\n"
          "\n"
          "MEMBER                      VERSION      STATE               STARTED               TOOK  WAITS "
          "FOR\n"
          "drain (pre-hook)            1            succeeded           2026-01-01T00:01:00Z  30s   -\n"
          "└ os-patch                  7            unchanged           -                     -     -\n"
          "  ├ containerd              1.8          running             2026-01-01T00:02:00Z  3m    -\n"
          "  └ kubelet                 1.28 → 1.29  failed, 3 attempts  2026-01-01T00:02:00Z  1m    -\n"
          "    └ uncordon (post-hook)  1            waiting             -                     -     kubelet\n"
          "\n"
          "what can be done:\n"
          "  ctrlplane bracket retry {0}\n"
          "  ctrlplane bracket skip {0} --member NAME\n"
          "  ctrlplane bracket abort {0} --run-post-hooks\n",
          kId));
}

TEST_F(Brackets, that_collect_show_what_would_be_locked) {
  const std::string members =
      member("drain", "pre_hook", "waiting", R"(,"attempts":0,"dependsOn":[],"previousTag":"1")") + "," +
      member("kubelet", "work", "waiting",
             R"(,"attempts":0,"dependsOn":[],"candidate":{"id":"v","tag":"1.29"})") +
      "," + member("os-patch", "work", "waiting", R"(,"attempts":0,"dependsOn":[],"previousTag":"7")");
  server.add("bracket-groups",
             group(kId, "node-3", "collecting",
                   fmt::format(R"(,"members":[{}],"waitingFor":"its window","actions":["abort"])", members)));
  auto r = run({"bracket", "show", kId});
  EXPECT_TRUE(has(r.out, "COLLECTING  node-3 in prod\n")) << r.out << r.err;
  EXPECT_TRUE(has(r.out, "  window    closes 2026-01-01T00:15:00Z (in 10m)\n")) << r.out;
  EXPECT_TRUE(has(r.out, "drain (pre-hook)  1        hook ")) << r.out;
  EXPECT_TRUE(has(r.out, "├ kubelet         1.29     has a new version ")) << r.out;
  EXPECT_FALSE(has(r.out, "waits for its window")) << "the line above says it: " << r.out;
  EXPECT_TRUE(has(r.out, fmt::format("  ctrlplane bracket abort {}\n", kId))) << r.out;
  EXPECT_TRUE(has(r.out, "└ os-patch        7        no new version ")) << r.out;
}

TEST_F(Brackets, with_members_that_wait_for_each_other_are_still_shown) {
  const std::string a = member("a", "work", "waiting", R"(,"attempts":0,"dependsOn":["b"])"),
                    b = member("b", "work", "waiting", R"(,"attempts":0,"dependsOn":["a"])");
  server.add("bracket-groups",
             group(kId, "node-3", "stuck",
                   fmt::format(R"(,"readyAt":"2026-01-01T00:00:00Z","members":[{},{}])", a, b)));
  auto r = run({"bracket", "show", kId});
  EXPECT_TRUE(has(r.out, "├ a ")) << r.out;
  EXPECT_TRUE(has(r.out, "└ b ")) << r.out;
}

TEST_F(Brackets, in_full_have_their_history_and_their_jobs) {
  server.add(
      "bracket-groups",
      stuck_group(R"(,"timeline":[{"at":"2026-01-01T00:00:00Z","event":"closed","by":"user:ann@x.test"},)"
                  R"({"at":"2026-01-01T00:03:00Z","event":"member_finished","deploymentName":"kubelet",)"
                  R"("outcome":"failed"}],"jobs":[{"id":"j1","deploymentName":"kubelet","tag":"1.29",)"
                  R"("status":"failure","cause":"retry","createdAt":"2026-01-01T00:02:00Z",)"
                  R"("message":"exit 1"}])"));
  EXPECT_FALSE(has(run({"bracket", "show", kId}).out, "member_finished"));
  auto r = run({"bracket", "show", kId, "-o", "wide"});
  EXPECT_TRUE(has(r.out, "2026-01-01T00:00:00Z  closed           -        -       ann@x.test  -\n")) << r.out;
  EXPECT_TRUE(has(r.out, "member_finished  kubelet  failed")) << r.out;
  EXPECT_TRUE(has(r.out, "j1   failure  kubelet     1.29     retry  2026-01-01T00:02:00Z  exit 1\n"))
      << r.out;
  EXPECT_EQ(run({"bracket", "show", kId, "-o", "name"}).out, fmt::format("bracket-group/{}\n", kId));
  EXPECT_TRUE(
      has(run({"bracket", "show", kId, "-o", "json"}).out, R"("stuckSince": "2026-01-01T00:03:00.5Z")"));
}

TEST_F(Brackets, say_when_they_go_back_or_were_let_through_a_freeze_and_who_is_in_quarantine) {
  server.add(
      "bracket-groups",
      group(kId, "node-3", "failed",
            R"(,"readyAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:04:00Z","members":[],)"
            R"("finishBy":"user:ann@x.test","quarantine":{"groupId":"g","since":"2026-01-01T00:04:00Z"})"));
  auto r = run({"bracket", "show", kId});
  EXPECT_TRUE(has(r.out, "FAILED  node-3")) << r.out;
  EXPECT_TRUE(has(r.out, "  freezes   do not hold it: ann@x.test lets it finish\n")) << r.out;
  EXPECT_TRUE(has(r.out, "  resource  in quarantine since 2026-01-01T00:04:00Z (1m ago)\n")) << r.out;
}

// ---- Which group ---------------------------------------------------------------------------------------

TEST_F(Brackets, are_found_by_id_beginning_of_an_id_and_resource) {
  add(stuck_group(), "node-3");
  add(group(kOther, "node-4", "ready", R"(,"members":[])"), "node-4");
  for (const std::string& name :
       {std::string(kId), std::string("0190aaaa"), std::string("node-3"), std::string("n/node-3"),
        std::string("bracket-group/") + kId, std::string("0190AAAA")}) {
    auto r = run({"bracket", "show", name, "-o", "name"});
    EXPECT_EQ(r.out, fmt::format("bracket-group/{}\n", kId)) << name << r.err;
  }
  auto r = run({"bracket", "show", "node-9"});
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(has(r.err, "no bracket-group 'node-9' in workspace 'acme'\n")) << r.err;
  EXPECT_TRUE(has(r.err, "ctrlplane brackets")) << r.err;
  r = run({"bracket", "show", "0190"});
  EXPECT_EQ(r.code, 2) << "either";
  EXPECT_TRUE(has(r.err, kOther)) << r.err;
  EXPECT_EQ(run({"bracket", "show", ""}).code, 2);
}

TEST_F(Brackets, on_one_resource_are_not_guessed_between) {
  add(stuck_group(), "node-3");
  server.add("bracket-groups", group(kOther, "node-3", "collecting", R"(,"members":[])"));
  auto r = run({"bracket", "close-now", "node-3"});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(has(r.err, "'node-3' has 2 open bracket groups:\n")) << r.err;
  EXPECT_TRUE(has(r.err, fmt::format("{}  collecting  node-upgrade\n", kOther))) << r.err;
  EXPECT_TRUE(server.writes().empty());
}

TEST_F(Brackets, that_have_ended_are_not_found_by_their_resource) {
  add(group(kId, "node-3", "completed", R"(,"finishedAt":"2026-01-01T00:04:00Z","members":[])"), "node-3");
  EXPECT_EQ(run({"bracket", "show", "node-3"}).code, 1);
  EXPECT_EQ(run({"bracket", "show", "0190aaaa"}).code, 0);
}

// ---- What people do ------------------------------------------------------------------------------------

TEST_F(Brackets, are_acted_on_with_what_was_said_and_no_more) {
  add(stuck_group(), "node-3");
  server.refuse(kAct, 200, stuck_group());
  using Words = std::vector<std::string>;
  const std::vector<std::tuple<Words, std::string, std::string>> cases = {
      {{"close-now"}, R"({"action":"close_now"})", "the window of node-3 closes now\n"},
      {{"retry"}, R"({"action":"retry"})", "what failed on node-3 is tried again\n"},
      {{"retry", "--member", "kubelet", "--relock", "--reason", "fixed"},
       R"({"action":"retry","deploymentId":"kubelet-id","relock":true,"reason":"fixed"})",
       "kubelet on node-3 is tried again, with the newest version\n"},
      {{"skip", "--member", "kubelet"},
       R"({"action":"skip_member","deploymentId":"kubelet-id"})",
       "kubelet is left out on node-3\n"},
      {{"finish"}, R"({"action":"finish"})", "the group on node-3 runs to its end, whatever is frozen\n"},
      {{"abort"}, R"({"action":"abort"})", "the group on node-3 is ended\n"},
      {{"abort", "--run-post-hooks"},
       R"({"action":"abort","runPostHooks":true})",
       "the group on node-3 ends; its closing hooks run first\n"},
      {{"clear"}, R"({"action":"clear_quarantine"})", "node-3 is out of quarantine\n"}};
  for (const auto& [words, body, said] : cases) {
    Words arguments{"bracket", words[0], "node-3"};
    arguments.insert(arguments.end(), words.begin() + 1, words.end());
    auto r = run(arguments);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, said);
    ASSERT_FALSE(server.writes().empty());
    EXPECT_EQ(server.writes().back(), kAct);
    EXPECT_EQ(server.bodies().back(), body);
  }
  EXPECT_EQ(run({"bracket", "retry", "node-3", "-o", "name"}).out, fmt::format("bracket-group/{}\n", kId));
  EXPECT_TRUE(has(run({"bracket", "retry", "node-3", "-o", "json"}).out, R"("status": "stuck")"));
}

TEST_F(Brackets, that_are_aborted_tell_how_the_resource_gets_out_of_quarantine) {
  add(stuck_group(), "node-3");
  server.refuse(
      kAct, 200,
      group(kId, "node-3", "failed",
            R"(,"finishedAt":"2026-01-01T00:05:00Z","quarantine":{"since":"2026-01-01T00:05:00Z"})"));
  auto r = run({"bracket", "abort", "node-3"});
  EXPECT_EQ(r.out, fmt::format("the group on node-3 is ended; nothing starts there until it is out of "
                               "quarantine: ctrlplane bracket clear {}\n",
                               kId));
}

TEST_F(Brackets, in_quarantine_are_found_by_their_resource_though_they_have_ended) {
  server.add("brackets", fmt::format(R"({{"policyName":"p","quarantines":[{{"resource":{{"name":"node-3"}},)"
                                     R"("groupId":"{}"}}]}})",
                                     kId));
  server.refuse(kAct, 200, stuck_group());
  auto r = run({"bracket", "clear", "node-3", "--reason", "new disk"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(server.bodies().back(), R"({"action":"clear_quarantine","reason":"new disk"})");
  EXPECT_EQ(run({"bracket", "retry", "node-3"}).code, 1) << "only what clears it";
}

TEST_F(Brackets, are_not_acted_on_with_wrong_use) {
  add(stuck_group(), "node-3");
  using Words = std::vector<std::string>;
  for (const auto& [words, said] : std::vector<std::pair<Words, std::string>>{
           {{"skip", "node-3"}, "--member"},
           {{"skip", "node-3", "--member", ""}, "is empty"},
           {{"skip", "node-3", "--member", "kublet"}, "no member 'kublet' (did you mean 'kubelet'?)"},
           {{"retry", "node-3", "--member", "api"},
            "members: uncordon, kubelet, drain, containerd, os-patch"},
           {{"abort", "node-3", "--relock"}, "--relock"},
           {{"retry", "node-3", "--run-post-hooks"}, "--run-post-hooks"},
           {{"explode", "node-3"}, "subcommand is required"},
           {{"retry"}, "group"}}) {
    Words arguments{"bracket"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    auto r = run(arguments);
    EXPECT_EQ(r.code, 2) << r.out << r.err;
    EXPECT_TRUE(has(r.err, said)) << said << " | " << r.err;
  }
  EXPECT_TRUE(server.writes().empty());
}

TEST_F(Brackets, pass_on_what_the_server_refuses) {
  server.refuse(kAct, 409, R"({"message":"the group is completed","code":"conflict"})");
  auto r = run({"bracket", "retry", kId});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "ctrlplane: 409 the group is completed\n");
}

// ---- brackets ------------------------------------------------------------------------------------------

std::string rule(const std::string& groups, const std::string& more = "") {
  return fmt::format(
      R"({{"ruleId":"r1","policyId":"p1","policyName":"node-upgrade","terms":{{"deploymentSelector":"true",)"
      R"("readinessWindowSeconds":86400}},"counts":{{"collecting":1,"ready":1,"queued":1,"executing":1,)"
      R"("stuck":1}},"quarantined":0,"quarantines":[],"groups":[{}]{}}})",
      groups, more);
}

TEST_F(Brackets, are_listed_with_their_open_groups_and_what_these_wait_for) {
  const std::string running = member("kubelet", "work", "running"),
                    other = member("drain", "pre_hook", "succeeded");
  const std::string ready = group(kOther, "node-5", "ready",
                                  R"(,"readyAt":"2026-01-01T00:03:00Z","members":[],)"
                                  R"("waitingFor":"Concurrency limit reached: 2/2 resources active")");
  server.add(
      "brackets",
      rule(fmt::format(
          "{},{},{},{},{}",
          group("g1", "node-3", "stuck", R"(,"stuckSince":"2026-01-01T00:00:00Z","note":"kubelet failed")"),
          group("g2", "node-4", "executing",
                fmt::format(R"(,"startedAt":"2026-01-01T00:04:00Z","members":[{},{}])", other, running)),
          ready, group("g4", "node-6", "queued"), group("g5", "node-7", "collecting"))));
  server.add("bracket-groups", ready);
  auto r = run({"brackets"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(
      r.out,
      fmt::format(
          "POLICY        READINESS             STUCK  EXECUTING  READY  QUEUED  COLLECTING  QUARANTINED\n"
          "node-upgrade  collection_window 1d  1      1          1      1       1           0\n"
          "\n"
          "GROUP                                 RESOURCE  ENVIRONMENT  STATUS      SINCE  WAITS FOR\n"
          "g1                                    node-3    prod         stuck       5m     kubelet failed\n"
          "g2                                    node-4    prod         executing   1m     kubelet\n"
          "{}  node-5    prod         ready       2m     Concurrency limit reached: 2/2 resources active\n"
          "g4                                    node-6    prod         queued      1h5m   the group before "
          "it on this resource\n"
          "g5                                    node-7    prod         collecting  1h5m   its window closes "
          "in 10m\n",
          kOther));
  EXPECT_TRUE(has(run({"brackets", "-o", "wide"}).out, "skip_unchanged  queue")) << "with defaults in words";
  EXPECT_TRUE(run({"brackets", "-o", "json"}).out.starts_with("[\n  {\n    \"ruleId\": \"r1\""));
  EXPECT_EQ(run({"brackets", "-o", "name"}).out, fmt::format("bracket-group/{}\n", kOther));
}

TEST_F(Brackets, that_do_not_fit_are_counted_and_quarantines_are_shown) {
  server.add("brackets", rule("", R"(,"quarantined":2,"quarantines":[{"resource":{"name":"node-8"},)"
                                  R"("groupId":"g8","since":"2026-01-01T00:00:00Z"}])"));
  auto r = run({"brackets"});
  EXPECT_TRUE(has(r.out, "and 5 groups more: ctrlplane brackets -o name has all\n")) << r.out;
  EXPECT_TRUE(has(r.out, "node-8         5m     g8     node-upgrade\nand 1 more\n")) << r.out;
  EXPECT_TRUE(has(r.out, "ctrlplane bracket clear RESOURCE\n")) << r.out;
}

TEST_F(Brackets, that_do_not_exist_are_no_failure) {
  auto r = run({"brackets"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "no brackets in workspace acme\n");
  EXPECT_EQ(run({"brackets", "-o", "json"}).out, "[]\n");
  EXPECT_EQ(run({"concurrency"}).err, "no concurrency limits in workspace acme\n");
}

TEST_F(Brackets, from_elsewhere_do_not_move_the_cursor) {
  server.add("bracket-groups", group(kId, "no\\u001b[2Jde", "stuck", R"(,"note":"a\u0007b","members":[])"));
  auto r = run({"bracket", "show", kId});
  EXPECT_FALSE(has(r.out, "\x1b"));
  EXPECT_FALSE(has(r.out, "\x07"));
}

// ---- concurrency ---------------------------------------------------------------------------------------

TEST_F(Brackets, have_slots_that_are_shown_as_a_gauge) {
  server.add(
      "concurrency",
      R"({"ruleId":"r2","policyName":"node-upgrade","limitType":"percentage","limitValue":20,"total":10,)"
      R"("max":2,"active":2,"quarantined":1,"holders":[{"resourceId":"i3","name":"node-3",)"
      R"("since":"2026-01-01T00:02:00Z","groupId":"g3","why":"bracket group executing"},)"
      R"({"resourceId":"i7","since":"2026-01-01T00:03:00Z","why":"active jobs of api"}],)"
      R"("waiting":[{"name":"node-1","position":1},{"identifier":"n/2","position":2}],"waitingTotal":9,)"
      R"("unlimited":{"count":1,"identifiers":["gpu-1"]}})");
  auto r = run({"concurrency"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out,
            "node-upgrade  [##--------] 2/2 of 10  (20 %)\n"
            "  HOLDS A SLOT  SINCE                          WHY                      GROUP\n"
            "  node-3        2026-01-01T00:02:00Z (3m ago)  bracket group executing  g3\n"
            "  i7            2026-01-01T00:03:00Z (2m ago)  active jobs of api       -\n"
            "  waiting   node-1, n/2 and 7 more\n"
            "  isolated  1 resource in quarantine\n"
            "  unlimited 1 resource of the policy that the rule does not count: gpu-1\n");
  EXPECT_EQ(run({"concurrency", "-o", "name"}).out, "concurrency/r2\n");
  EXPECT_TRUE(has(run({"concurrency", "-o", "json"}).out, "\"limitValue\": 20"));
}

TEST(Gauge, shows_a_share_of_what_there_is) {
  EXPECT_EQ(gauge(2, 2, 10), "[##--------] 2/2 of 10");
  EXPECT_EQ(gauge(0, 2, 10), "[----------] 0/2 of 10");
  EXPECT_EQ(gauge(1, 50, 1000), "[#---------] 1/50 of 1000") << "one is seen among many";
  EXPECT_EQ(gauge(1, 1, 3), "[#--] 1/1 of 3");
  EXPECT_EQ(gauge(5, 2, 3), "[###] 5/2 of 3") << "the group shrank";
  EXPECT_EQ(gauge(0, 0, 0), "[-] 0/0 of 0");
  EXPECT_EQ(gauge(1, 0, 0), "[#] 1/0 of 0");
}

TEST_F(Brackets, offer_their_verbs_to_a_shell) {
  std::string script = run_bare({"completion", "zsh"}).out;
  EXPECT_TRUE(has(script, "'bracket') next='show close-now retry skip finish abort clear '")) << script;
}

}  // namespace
}  // namespace ctrlplane::cli
