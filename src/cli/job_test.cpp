#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

constexpr const char* kId = "0190aaaa-0000-7000-8000-000000000001";

struct Jobs : testing::Test {
  FakeServer server;
  void add(const std::string& status, const std::string& more = "") {
    server.add("jobs", fmt::format(R"({{"id":"{}","status":"{}"{}}})", kId, status, more));
  }
};

TEST_F(Jobs, are_listed_with_filters) {
  std::string deployment = server.add("deployments", R"({"name":"api"})");
  std::string agent = server.add("job-agents", R"({"name":"runner"})");
  add("failure");
  auto r = run_at(
      server, {"jobs", "--status", "failure", "--deployment", "api", "--agent", "runner", "--limit", "5"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, fmt::format("ID{:36}STATUS   DEPLOYMENT  ENVIRONMENT  RESOURCE  VERSION  AGE\n"
                               "{}  failure  api         prod         eu-1      -        5m\n",
                               "", kId));
  EXPECT_EQ(
      server.requests().back(),
      fmt::format(
          "GET /api/v1/workspaces/acme/jobs?status=failure&deploymentId={}&jobAgentId={}&limit=5&offset=0",
          deployment, agent));
}

TEST_F(Jobs, are_shown_with_the_end_of_their_output) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += fmt::format("line {}\\n", i);
  add("failure", fmt::format(R"(,"message":"exit 1","chunks":[{{"offset":0,"text":"{}"}}])", text));
  auto r = run_at(server, {"job", "show", "job/0190aaaa"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(
      r.out.starts_with(fmt::format("job          {}\nstatus       failure\nmessage      exit 1\n", kId)))
      << r.out;
  EXPECT_NE(r.out.find("last lines of its output:\nline 10\nline 11\n"), std::string::npos) << r.out;
  EXPECT_TRUE(r.out.ends_with("line 29\n"));
  EXPECT_EQ(run_at(server, {"job", "show", kId, "-o", "name"}).out, fmt::format("job/{}\n", kId));
  EXPECT_EQ(run_at(server, {"job", "show", "0190bbbb"}).code, 1);
}

TEST_F(Jobs, print_what_they_printed_with_gaps_marked_and_repeats_left_out) {
  add("successful", R"(,"chunks":[{"offset":0,"text":"abc\n"},{"offset":2,"text":"c\nd\n"},)"
                    R"({"offset":100,"text":"end\n"}])");
  auto r = run_at(server, {"job", "logs", kId});
  EXPECT_EQ(r.out, "abc\nd\n\n[94 bytes left out]\nend\n");
}

TEST_F(Jobs, are_followed_until_they_end) {
  add("inProgress", R"(,"chunks":[{"offset":0,"text":"one\n"}])");
  int pauses = 0;
  auto r = run_at(server, {"job", "logs", kId, "-f"}, {.on_pause = [&] {
                    if (++pauses == 3) run_at(server, {"job", "cancel", kId});
                  }});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "one\n");
  EXPECT_EQ(pauses, 3);
}

TEST_F(Jobs, are_no_longer_followed_when_nobody_reads) {
  add("inProgress", R"(,"chunks":[{"offset":0,"text":"one\n"}])");
  auto r = run_at(server, {"job", "logs", kId, "-f"}, {.lines = 1});
  EXPECT_EQ(r.out, "one\n");
}

TEST_F(Jobs, are_cancelled_and_waited_for) {
  add("inProgress");
  auto r = run_at(server, {"job", "cancel", "0190aaaa", "--wait"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, fmt::format("job/{0} is asked to stop\njob/{0} is cancelled\n", kId));
  server.refuse("POST ", 409, R"({"message":"the job has ended"})");
  EXPECT_EQ(run_at(server, {"job", "cancel", kId}).err, "ctrlplane: 409 the job has ended\n");
}

}  // namespace
}  // namespace ctrlplane::cli
