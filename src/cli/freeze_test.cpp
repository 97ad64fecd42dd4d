#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/duration.h"
#include "cli/insist.h"
#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

constexpr const char* kId = "0190aaaa-0000-7000-8000-000000000001";
constexpr const char* kPost = "POST /api/v1/workspaces/acme/freezes";
constexpr const char* kOne = "/api/v1/workspaces/acme/freezes/0190aaaa-0000-7000-8000-000000000001";

std::string job_json(int n) {
  return fmt::format(R"({{"id":"0190bbbb-0000-7000-8000-{:012}","status":"inProgress",)"
                     R"("releaseTargetKey":"key-{}","versionId":"v","jobAgentId":"a"}})",
                     n, n);
}

std::string impact_json(int jobs) {
  std::string list;
  for (int i = 1; i <= jobs; ++i) list += (i > 1 ? "," : "") + job_json(i);
  return fmt::format(
      R"({{"targets":1204,"undetermined":3,"heldJobs":17,"inFlightJobs":[{}],"openBrackets":[]}})", list);
}

std::string freeze_json(const std::string& more = "", const std::string& status = "active") {
  return fmt::format(
      R"({{"id":"{}","scope":"workspace","reason":"Elevated error rates","createdBy":"user:ann@acme.test",)"
      R"("createdAt":"2026-01-01T00:05:00Z","effectiveAt":"2026-01-01T00:05:00Z","inFlight":"finish_jobs",)"
      R"("metadata":{{}},"status":"{}"{}}})",
      kId, status, more);
}

struct Freezes : testing::Test {
  FakeServer server;
  std::string prod = server.add("environments", R"({"name":"prod"})");

  void answer(int jobs = 0, const std::string& more = R"(,"expiresAt":"2026-01-01T04:04:59.900001Z")") {
    server.refuse(kPost, 201, freeze_json(fmt::format(R"({},"impact":{})", more, impact_json(jobs))));
  }
  RunResult freeze_prod(const std::vector<std::string>& more = {}, RunOptions options = {}) {
    std::vector<std::string> arguments{"freeze", "environment", "prod", "--reason", "Elevated error rates"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_at(server, arguments, std::move(options));
  }
};

// ---- Making one --------------------------------------------------------------------------------------

TEST_F(Freezes, are_told_on_one_screen) {
  answer(1);
  auto r = freeze_prod({"--for", "4h", "--incident", "https://i.test/4521"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(r.out, fmt::format("FROZEN  environment prod\n"
                               "  reason    Elevated error rates\n"
                               "  by        ann@acme.test\n"
                               "  from      2026-01-01T00:05:00Z (0s ago)\n"
                               "  until     2026-01-01T04:04:59Z (in 4h)\n"
                               "  id        {0}\n"
                               "  covers    1204 targets, 3 of them undetermined (only a version can tell, "
                               "or the selector fails)\n"
                               "  held      17 jobs\n"
                               "  running   1 job that agents have: left to finish\n"
                               "    0190bbbb-0000-7000-8000-000000000001  inProgress  key-1\n"
                               "  extend    ctrlplane freeze extend {0} --for 4h\n"
                               "  thaw      ctrlplane thaw {0} --reason \"…\"\n",
                               kId));
  EXPECT_EQ(server.bodies().back(),
            fmt::format(R"({{"scope":"environment","reason":"Elevated error rates",)"
                        R"("incidentUrl":"https://i.test/4521","expiresIn":"PT4H","scopeEntityId":"{}"}})",
                        prod));
}

TEST_F(Freezes, name_the_jobs_that_still_run_where_the_server_knows_them) {
  server.add("jobs", job_json(1));
  answer(1);
  EXPECT_NE(freeze_prod().out.find("  inProgress  api  on prod/eu-1\n"), std::string::npos);
}

TEST_F(Freezes, are_short_however_much_is_running) {
  answer(5000);
  auto r = freeze_prod();
  EXPECT_NE(r.out.find("running   5000 jobs that agents have"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("-000000000020  inProgress  key-20\n    and 4980 more\n  extend"), std::string::npos);
  EXPECT_LT(std::ranges::count(r.out, '\n'), 40);
  EXPECT_NE(freeze_prod({"-o", "json"}).out.find("-000000005000"), std::string::npos) << "programs get all";
}

TEST_F(Freezes, take_all_that_can_be_said_of_them) {
  answer();
  std::string system = server.add("systems", R"({"name":"shop"})");
  auto r = run_at(server, {"freeze", "system", "shop", "--reason", "r", "--from", "2026-01-02T00:00:00+01:00",
                           "--until", "2026-01-03T00:00:00Z", "--selector", "resource.kind == \"x\"",
                           "--in-flight", "finish-brackets"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(server.bodies().back(),
            fmt::format(R"({{"scope":"system","reason":"r","selector":"resource.kind == \"x\"",)"
                        R"("expiresAt":"2026-01-03T00:00:00Z","effectiveAt":"2026-01-01T23:00:00Z",)"
                        R"("inFlight":"finish_brackets","scopeEntityId":"{}"}})",
                        system));
  EXPECT_EQ(freeze_prod({"-o", "name"}).out, fmt::format("freeze/{}\n", kId));
  EXPECT_EQ(run_at(server, {"freeze", "env", "prod", "--reason", "r"}).code, 0);
}

TEST_F(Freezes, that_are_planned_or_endless_say_so) {
  server.refuse(kPost, 201, freeze_json(R"(,"effectiveAt":"2026-01-01T03:05:00Z")", "scheduled"), 1);
  auto r = freeze_prod({"--from", "2026-01-01T03:05:00Z"});
  EXPECT_TRUE(r.out.starts_with("SCHEDULED  environment prod\n")) << r.out;
  EXPECT_NE(r.out.find("until     it is thawed; it does not expire\n"), std::string::npos) << r.out;
}

TEST_F(Freezes, are_not_made_with_wrong_use) {
  using Words = std::vector<std::string>;
  for (const auto& [more, said] : std::vector<std::pair<Words, std::string>>{
           {{"--for", "soon"}, "--for takes a duration like 4h or 1h30m, not 'soon'"},
           {{"--for", ""}, "--for: is empty"},
           {{"--for", "0s"}, "--for must be longer than nothing"},
           {{"--for", "99999999999999999999h"}, "--for takes a duration"},
           {{"--until", "tomorrow"}, "--until takes an instant like 2026-04-01T18:00:00Z, not 'tomorrow'"},
           {{"--until", "never"}, "--until takes an instant"},
           {{"--from", ""}, "--from: is empty"},
           {{"--for", "4h", "--until", "2026-01-03T00:00:00Z"}, "excludes --"},
           {{"--selector", ""}, "--selector: is empty"},
           {{"--incident", ""}, "--incident: is empty"},
           {{"--in-flight", "explode"}, "--in-flight"}}) {
    auto r = freeze_prod(more);
    EXPECT_EQ(r.code, 2) << r.err;
    EXPECT_NE(r.err.find(said), std::string::npos) << said << " | " << r.err;
  }
  EXPECT_EQ(run_at(server, {"freeze", "environment", "prod", "--reason", " "}).code, 2);
  EXPECT_EQ(run_at(server, {"freeze", "environment", "prod"}).code, 2);
  EXPECT_EQ(run_at(server, {"freeze", "environment", "--reason", "r"}).code, 2);
  EXPECT_EQ(run_at(server, {"freeze", "planet", "earth", "--reason", "r"}).code, 2);
  EXPECT_EQ(run_at(server, {"freeze"}).code, 2);
  EXPECT_EQ(run_at(server, {"freeze", "environment", "moon", "--reason", "r"}).code, 1);
  EXPECT_TRUE(server.writes().empty());
}

TEST_F(Freezes, can_be_tried_without_effect) {
  server.refuse(std::string(kPost) + "?dryRun=true", 200, fmt::format(R"({{"impact":{}}})", impact_json(2)));
  auto r = freeze_prod({"--dry-run"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("would freeze  environment prod\n  covers    1204 targets")) << r.out;
  EXPECT_EQ(r.out.find("FROZEN"), std::string::npos);
  EXPECT_EQ(r.err, "nothing was frozen: this was a dry run\n");
  EXPECT_EQ(server.writes(), std::vector<std::string>{std::string(kPost) + "?dryRun=true"});
  EXPECT_EQ(run_at(server, {"freeze", "workspace", "--reason", "r", "--dry-run"}).code, 0) << "asks nobody";
}

TEST_F(Freezes, of_a_workspace_want_its_slug_typed) {
  answer();
  std::vector<std::string> words{"freeze", "workspace", "--reason", "r"};
  auto r = run_at(server, words, {.input = "acme\n", .terminal = true, .width = 100});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("Type acme to freeze it: "), std::string::npos);
  EXPECT_EQ(server.bodies().back(), R"({"scope":"workspace","reason":"r"})");
  for (const char* typed : {"y\n", "", "acm\n", "\n", " acme\n"}) {
    r = run_at(server, words, {.input = typed, .terminal = true});
    EXPECT_EQ(r.code, 1) << typed;
    EXPECT_NE(r.err.find("nothing was frozen"), std::string::npos);
  }
  EXPECT_EQ(server.writes().size(), 1u);
}

TEST_F(Freezes, of_a_workspace_are_refused_where_nobody_can_be_asked) {
  answer();
  auto r = run_at(server, {"freeze", "workspace", "--reason", "r"}, {.input = "acme\n"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("there is no terminal to ask on: say --yes"), std::string::npos) << r.err;
  EXPECT_TRUE(server.requests().empty());
  EXPECT_EQ(run_at(server, {"freeze", "workspace", "acme", "--reason", "r", "--yes"}).code, 0);
  EXPECT_EQ(run_at(server, {"freeze", "workspace", "acme", "--reason", "r", "--yes", "-w", "beta"}).code, 2);
}

TEST_F(Freezes, are_asked_for_until_they_are_made_with_one_key) {
  server.refuse(kPost, 503, R"({"message":"the store does not answer","code":"unknown"})", 7);
  answer();
  int pauses = 0;
  auto r = freeze_prod({}, {.on_pause = [&] { ++pauses; }});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(pauses, 7);
  EXPECT_TRUE(r.out.starts_with("FROZEN  environment prod\n"));
  EXPECT_TRUE(r.err.starts_with(
      "ctrlplane: NOT FROZEN YET, trying since 2026-01-01T00:05:00Z; Ctrl-C ends it\n"
      "  while the server's store is out of reach nothing can start: each start is written there first\n"
      "attempt 1 (0s): 503 the store does not answer; again in a moment\n"
      "attempt 2 (0s): 503 the store does not answer; again in 1s\n"))
      << r.err;
  EXPECT_NE(r.err.find("attempt 7 (17s): 503 the store does not answer; again in 5s\n"), std::string::npos)
      << r.err;
  EXPECT_TRUE(r.err.ends_with("done at attempt 8, after 22s\n")) << r.err;
  auto keys = server.headers("Idempotency-Key");
  ASSERT_EQ(keys.size(), 8u);
  for (const std::string& key : keys) EXPECT_EQ(key, keys[0]);
  for (const std::string& body : server.bodies()) EXPECT_EQ(body, server.bodies()[0]);
  freeze_prod();
  EXPECT_NE(server.headers("Idempotency-Key").back(), keys[0]);
}

TEST_F(Freezes, wait_for_names_to_be_known_too) {
  server.refuse("GET /api/v1/workspaces/acme/environments", 503, R"({"message":"starting"})", 9);
  answer();
  auto r = freeze_prod();
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("NOT FROZEN YET"), std::string::npos);
}

TEST_F(Freezes, are_not_asked_for_again_once_refused) {
  server.refuse(kPost, 503, "{}", 1);
  server.refuse(kPost, 403, R"({"message":"this needs deployment_freeze.create"})");
  auto r = freeze_prod();
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(
      r.err.ends_with("ctrlplane: 403 this needs deployment_freeze.create\n"
                      "  an attempt before this one may have made it: see `ctrlplane freezes`\n"))
      << r.err;
  EXPECT_EQ(server.writes().size(), 2u);
}

TEST_F(Freezes, are_not_told_where_somebody_else_answers) {
  server.refuse(kPost, 200, "<html>Welcome to the airport</html>");
  auto r = freeze_prod();
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_NE(r.err.find("is it a ctrlplane server?"), std::string::npos);
}

// Takes a request and hangs up, some times; then answers. Each connection has one request.
class BrokenLine {
 public:
  BrokenLine(int breaks, std::string answer) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, breaks, answer = std::move(answer)] {
      for (int i = 0; i <= breaks; ++i) take(i < breaks ? "" : answer);
    });
  }
  ~BrokenLine() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  std::vector<std::string> heard;  // to be read when all is said

 private:
  void take(const std::string& answer) {
    int line = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (line < 0) return;
    std::string all;
    char piece[4096];
    while (!all.ends_with('}')) {
      ssize_t n = ::recv(line, piece, sizeof piece, 0);
      if (n <= 0) break;
      all.append(piece, static_cast<size_t>(n));
    }
    heard.push_back(all);
    std::string text = fmt::format(
        "HTTP/1.1 201 Created\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", answer.size(), answer);
    if (!answer.empty()) ::send(line, text.data(), text.size(), MSG_NOSIGNAL);
    ::close(line);
  }

  int listener_ = -1;
  uint16_t port_ = 0;
  std::thread thread_;
};

std::string key_in(const std::string& request) {
  size_t at = request.find("Idempotency-Key: ");
  return at == std::string::npos ? "" : request.substr(at + 17, 36);
}

TEST(FreezesOverABrokenLine, are_sent_again_with_the_same_key) {
  std::string id = "0190cccc-0000-7000-8000-000000000009";
  BrokenLine line(3, freeze_json());
  auto r = run_bare({"freeze", "environment", id, "-w", "acme", "--reason", "r", "-o", "name"},
                    {.environment = {{"CTRLPLANE_URL", line.url()}}});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, fmt::format("freeze/{}\n", kId));
  ASSERT_EQ(line.heard.size(), 4u);
  EXPECT_EQ(key_in(line.heard[0]).size(), 36u);
  for (const std::string& request : line.heard) EXPECT_EQ(key_in(request), key_in(line.heard[0]));
  EXPECT_NE(r.err.find("  whether jobs start meanwhile is not known: the server was not reached\n"),
            std::string::npos)
      << r.err;
  EXPECT_EQ(r.err.find("nothing can start"), std::string::npos) << r.err;
}

TEST(FreezesOverABrokenLine, say_what_is_not_known_when_they_are_given_up) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // Who runs the tests in the background may have had it ignored; then nobody would end the insisting.
  auto before = ::signal(SIGINT, SIG_DFL);
  FakeServer server;
  server.refuse(kPost, 503, "{}");
  EXPECT_EXIT(run_at(server, {"freeze", "workspace", "--reason", "r", "--yes"},
                     {.on_pause = [] { ::raise(SIGINT); }}),
              testing::ExitedWithCode(130), "may or may not have been made: see `ctrlplane freezes`");
  server.refuse("GET ", 503, "{}");
  EXPECT_EXIT(
      run_at(server, {"freeze", "system", "x", "--reason", "r"}, {.on_pause = [] { ::raise(SIGINT); }}),
      testing::ExitedWithCode(130), "Nothing was frozen");
  ::signal(SIGINT, before);
}

TEST(FreezesOverABrokenLine, leave_signals_as_they_were) {
  auto old = ::signal(SIGTERM, SIG_IGN);
  {
    InterruptNotice notice(true);
  }
  EXPECT_EQ(::signal(SIGTERM, old), SIG_IGN);
}

// ---- Looking at them -----------------------------------------------------------------------------------

TEST_F(Freezes, are_listed_with_names_and_times) {
  constexpr const char* kList = "GET /api/v1/workspaces/acme/freezes?status=";
  std::string other = "0190aaaa-0000-7000-8000-000000000002";
  std::string scheduled = fmt::format(
      R"({{"id":"{}","scope":"environment","scopeEntityId":"{}","reason":"Black Friday",)"
      R"("status":"scheduled","createdBy":"user:bob@acme.test","effectiveAt":"2026-01-01T03:05:00Z",)"
      R"("inFlight":"cancel","expiresAt":"2026-01-03T03:35:00Z"}})",
      other, prod);
  std::string active = freeze_json(R"(,"effectiveAt":"2025-12-31T23:00:00Z")");
  server.refuse(std::string(kList) + "scheduled", 200,
                fmt::format(R"({{"items":[{}],"total":1}})", scheduled));
  server.refuse(std::string(kList) + "active", 200, fmt::format(R"({{"items":[{}],"total":1}})", active));
  auto r = run_at(server, {"freezes"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out,
            fmt::format(
                "ID{:36}STATUS     SCOPE             REASON                BY             SINCE  EXPIRES IN\n"
                "{}  active     workspace acme    Elevated error rates  ann@acme.test  1h5m   never\n"
                "{}  scheduled  environment prod  Black Friday          bob@acme.test  in 3h  2d3h\n",
                "", kId, other));
  EXPECT_EQ(run_at(server, {"freezes", "--scheduled", "-o", "name"}).out, fmt::format("freeze/{}\n", other));
  EXPECT_NE(run_at(server, {"freezes", "-o", "wide"}).out.find("IN FLIGHT"), std::string::npos);
  EXPECT_EQ(run_at(server, {"freezes", "--limit", "1", "-o", "name"}).out, fmt::format("freeze/{}\n", kId));
  EXPECT_EQ(run_at(server, {"freezes", "--all", "--ended"}).code, 2);
}

TEST_F(Freezes, that_are_none_are_no_failure) {
  auto r = run_at(server, {"freezes", "--ended"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "no ended freezes in workspace acme\n");
  EXPECT_EQ(server.requests().back(), "GET /api/v1/workspaces/acme/freezes?status=ended&limit=500&offset=0");
  EXPECT_EQ(run_at(server, {"freezes", "-o", "json"}).out, "[]\n");
}

TEST_F(Freezes, name_what_was_deleted_and_do_without_names_where_there_are_none) {
  std::string gone = "0190dddd-0000-7000-8000-000000000001";
  server.add("freezes", fmt::format(R"({{"scope":"system","scopeEntityId":"{}","status":"ended",)"
                                    R"("reason":"x\u001b[2J","thawedAt":"2025-12-30T00:00:00Z"}})",
                                    gone));
  auto r = run_at(server, {"freezes", "--all"});
  EXPECT_NE(r.out.find("system (deleted)  x?[2J   -   -      ended 2d ago"), std::string::npos) << r.out;
  server.refuse("GET /api/v1/workspaces/acme/systems", 403, "{}");
  r = run_at(server, {"freezes", "--all"});
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.out.find("system " + gone), std::string::npos) << r.out;
}

TEST_F(Freezes, are_shown_with_their_history) {
  server.add("freezes", freeze_json(R"(,"events":[{"action":"activated","actor":"user:ann@acme.test",
      "note":"Elevated error rates","createdAt":"2026-01-01T00:05:00Z"},
      {"action":"expiring_soon","note":"","createdAt":"2026-01-01T00:06:00Z"}],"impact":)" +
                                    impact_json(0)));
  auto r = run_at(server, {"freeze", "show", "0190aaaa"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("FROZEN  workspace acme\n")) << r.out;
  EXPECT_NE(r.out.find("running   nothing: no agent has a job that this covers\n"), std::string::npos)
      << r.out;
  EXPECT_NE(r.out.find("2026-01-01T00:06:00Z  expiring_soon  the system     -\n"), std::string::npos)
      << r.out;
  EXPECT_EQ(run_at(server, {"freeze", "show", "0190ffff"}).code, 1);
  EXPECT_EQ(run_at(server, {"freeze", "show", std::string("freeze/") + kId, "-o", "name"}).out,
            fmt::format("freeze/{}\n", kId));
}

TEST_F(Freezes, are_checked_with_an_exit_code_of_their_own) {
  constexpr const char* kCheck = "GET /api/v1/workspaces/acme/freezes/check";
  server.refuse(kCheck, 200, R"({"frozen":false,"partial":false,"freezes":[]})", 1);
  auto r = run_at(server, {"freeze", "check"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "OPEN  workspace acme\n");
  EXPECT_EQ(server.requests().back(), std::string(kCheck) + "?scope=workspace");

  std::string by =
      fmt::format(R"("freezes":[{{"id":"{}","reason":"Elevated error rates","scope":"workspace",)"
                  R"("expiresAt":"2026-01-01T04:05:00Z"}}],"opensAt":"2026-01-01T04:05:00Z")",
                  kId);
  server.refuse(kCheck, 200, fmt::format(R"({{"frozen":true,"partial":false,{}}})", by), 1);
  r = run_at(server, {"freeze", "check", "env", "prod", "--at", "2026-01-01T00:00:00Z"});
  EXPECT_EQ(r.code, 6) << r.err;
  EXPECT_EQ(r.out, fmt::format("FROZEN  environment prod\n"
                               "  {}  workspace, until 2026-01-01T04:05:00Z (in 4h): Elevated error rates\n"
                               "  opens     2026-01-01T04:05:00Z (in 4h)\n",
                               kId));
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(server.requests().back(),
            fmt::format("{}?scope=environment&at=2026-01-01T00%3A00%3A00Z&entityId={}", kCheck, prod));

  server.refuse(kCheck, 200, fmt::format(R"({{"frozen":false,"partial":true,{}}})", by), 1);
  r = run_at(server, {"freeze", "check", "workspace", "-o", "json"});
  EXPECT_EQ(r.code, 7) << "also for programs";
  EXPECT_NE(r.out.find("\"partial\": true"), std::string::npos) << r.out;
}

TEST_F(Freezes, are_not_taken_for_open_where_nothing_is_known) {
  constexpr const char* kCheck = "GET /api/v1/workspaces/acme/freezes/check";
  for (const char* body : {"{}", "[]", R"({"frozen":"no","partial":false})", R"({"frozen":null})", "null"}) {
    server.refuse(kCheck, 200, body, 1);
    EXPECT_EQ(run_at(server, {"freeze", "check"}).code, 1) << body;
  }
  server.refuse(kCheck, 403, "{}", 1);
  EXPECT_EQ(run_at(server, {"freeze", "check"}).code, 1);
  EXPECT_EQ(run_at(server, {"freeze", "check", ""}).code, 2);
  EXPECT_EQ(run_at(server, {"freeze", "check", "environment"}).code, 2);
  EXPECT_EQ(run_at(server, {"freeze", "check", "deploymnet", "x"}).code, 2);
  EXPECT_EQ(run_at(server, {"freeze", "check", "--at", "now"}).code, 2);
  server.stop();
  EXPECT_EQ(run_at(server, {"freeze", "check", "-w", "acme"}).code, 3);
  EXPECT_NE(run_bare({"freeze", "check", "--help"}).out.find("6 frozen; 7 partly frozen"), std::string::npos);
}

TEST_F(Freezes, are_reported_as_they_are_written) {
  std::string path = fmt::format("GET {}/report?format=", kOne);
  server.refuse(path + "markdown", 503, "{}", 1);
  server.refuse(path + "markdown", 200, "# Freeze\n\x1b[2Jx");
  server.refuse(path + "json", 200, R"({"timeline":[]})");
  EXPECT_EQ(run_at(server, {"freeze", "report", kId}).out, "# Freeze\n\x1b[2Jx\n");
  EXPECT_EQ(run_at(server, {"freeze", "report", kId}, {.terminal = true}).out, "# Freeze\n?[2Jx\n");
  EXPECT_EQ(run_at(server, {"freeze", "report", kId, "--format", "json"}).out, "{\n  \"timeline\": []\n}\n");
  EXPECT_EQ(run_at(server, {"freeze", "report", kId, "-o", "yaml"}).out, "timeline: []\n");
  EXPECT_EQ(run_at(server, {"freeze", "report", kId, "--format", "pdf"}).code, 2);
}

// ---- Changing them -------------------------------------------------------------------------------------

TEST_F(Freezes, are_extended) {
  server.refuse(fmt::format("PATCH {}", kOne), 200, freeze_json(R"(,"expiresAt":"2026-01-01T04:05:00Z")"), 1);
  auto r = run_at(server, {"freeze", "extend", kId, "--for", "4h", "--reason", "still looking"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, fmt::format("freeze/{} lasts until 2026-01-01T04:05:00Z (in 4h)\n", kId));
  EXPECT_EQ(server.bodies().back(), R"({"expiresIn":"PT4H","reason":"still looking"})");
  server.refuse(fmt::format("PATCH {}", kOne), 200, freeze_json());
  r = run_at(server, {"freeze", "extend", kId, "--until", "never"});
  EXPECT_EQ(r.out, fmt::format("freeze/{} lasts until it is thawed\n", kId));
  EXPECT_EQ(server.bodies().back(), R"({"expiresAt":null})");
  run_at(server, {"freeze", "extend", kId, "--until", "2026-01-02T00:00:00Z"});
  EXPECT_EQ(server.bodies().back(), R"({"expiresAt":"2026-01-02T00:00:00Z"})");
  size_t before = server.writes().size();
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {}, {"--for", ""}, {"--until", ""}, {"--for", "never"}, {"--for", "1h", "--until", "never"}}) {
    std::vector<std::string> words{"freeze", "extend", kId};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(run_at(server, words).code, 2);
  }
  EXPECT_EQ(server.writes().size(), before);
}

TEST_F(Freezes, are_thawed_and_what_is_left_is_told) {
  std::string thaw = fmt::format("POST {}/thaw", kOne);
  server.refuse(thaw, 200,
                fmt::format(R"({{"id":"{}","scope":"environment","scopeEntityId":"{}","status":"ended",)"
                            R"("effectiveAt":"2025-12-31T22:00:00Z","thawedAt":"2026-01-01T00:05:00Z"}})",
                            kId, prod),
                1);
  server.refuse("GET /api/v1/workspaces/acme/freezes/active", 200, R"({"items":[{"id":"x"}]})");
  auto r = run_at(server, {"thaw", kId, "--reason", "fixed", "--cascade", "--resume-per-minute", "30"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "THAWED  environment prod, after 2h5m\n");
  EXPECT_EQ(r.err, "another freeze is still active: see `ctrlplane freezes`\n");
  EXPECT_EQ(server.bodies().back(), R"({"reason":"fixed","cascade":true,"resume":{"perMinute":30}})");
  server.refuse(thaw, 409, R"({"message":"the freeze was thawed by user:ann at 2026-01-01T00:05:00Z"})");
  r = run_at(server, {"thaw", kId});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "ctrlplane: 409 the freeze was thawed by user:ann at 2026-01-01T00:05:00Z\n");
  EXPECT_EQ(run_at(server, {"thaw", kId, "--resume-per-minute", "0"}).code, 2);
  EXPECT_EQ(run_at(server, {"thaw", ""}).code, 2);
}

TEST_F(Freezes, are_passed_by_versions_that_say_so) {
  server.add("deployments", R"({"name":"api"})");
  server.add("freezes", freeze_json());
  auto body = [&] { return server.bodies().back(); };
  run_at(server, {"version", "create", "api", "--tag", "1"});
  EXPECT_EQ(body().find("bypass"), std::string::npos);
  run_at(server, {"version", "create", "api", "--tag", "2", "--bypass-freeze"});
  EXPECT_TRUE(body().ends_with(R"(,"bypassFreeze":true})")) << body();
  auto r = run_at(server, {"version", "create", "api", "--tag", "3", "--bypass-freeze-id", "0190aaaa"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(body().ends_with(fmt::format(R"(,"bypassFreeze":true,"bypassFreezeIds":["{}"]}})", kId)))
      << body();
  EXPECT_EQ(run_at(server, {"version", "create", "api", "--tag", "4", "--bypass-freeze-id", "0190ffff"}).code,
            1);
}

TEST(CliDuration, is_told_in_its_two_largest_units) {
  EXPECT_EQ(long_duration(seconds(59)), "59s");
  EXPECT_EQ(long_duration(seconds(61)), "1m1s");
  EXPECT_EQ(long_duration(hours(4)), "4h");
  EXPECT_EQ(long_duration(minutes(239)), "3h59m");
  EXPECT_EQ(long_duration(hours(24 * 30 + 5)), "30d5h");
  EXPECT_EQ(long_duration(seconds(-5)), "0s");
}

}  // namespace
}  // namespace ctrlplane::cli
