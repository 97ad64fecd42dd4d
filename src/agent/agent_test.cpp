#include "agent/agent.h"

#include <filesystem>
#include <fstream>

#include "agent/agent_fixture.h"

namespace ctrlplane::agent {
namespace {

// ---- One job --------------------------------------------------------------------------------------------

TEST_F(AgentTest, registers_itself_runs_a_job_and_reports_its_success) {
  server.add_job({.id = "j1"});
  EXPECT_EQ(run_once(options("echo working")), 0);
  EXPECT_EQ(job("j1").status, "successful");
  EXPECT_EQ(job("j1").output, "working\n");
  EXPECT_TRUE(job("j1").fences_itself);
  server.read([](State& s) {
    EXPECT_TRUE(s.agents.contains("runner"));
    EXPECT_EQ(s.reports, (std::vector<std::string>{"j1 inProgress", "j1 successful"}));
  });
}

TEST_F(AgentTest, uses_the_job_agent_that_there_is) {
  server.change([](State& s) { s.agents["runner"] = "known-id"; });
  EXPECT_EQ(run_once(options("true")), 0);
  EXPECT_EQ(server.read([](State& s) { return s.count("PUT /job-agents"); }), 0u);
  EXPECT_GE(server.read([](State& s) { return s.count("POST /job-agents/known-id/claim"); }), 1u);
}

TEST_F(AgentTest, runs_jobs_one_after_the_other) {
  for (std::string id : {"j1", "j2", "j3"}) server.add_job({.id = id});
  EXPECT_EQ(run_once(options("true")), 0);
  server.read([](State& s) {
    EXPECT_EQ(s.reports, (std::vector<std::string>{"j1 inProgress", "j1 successful", "j2 inProgress",
                                                   "j2 successful", "j3 inProgress", "j3 successful"}));
  });
}

TEST_F(AgentTest, tells_the_command_about_its_job_but_not_the_key) {
  std::string context = R"({"deployment":{"name":"web","id":"d1"},"n":1.50,"jobAgentConfig":{"a":1},)"
                        R"("variables":{"log-level":"debug"}})";
  server.add_job({.id = "j1", .context = context});
  ::setenv("CTRLPLANE_API_KEY", "key", 1);
  ::setenv("SOME_TOKEN", "key", 1);
  AgentOptions given = options("cat; echo; env | sort | grep -E '^CTRLPLANE_|=key'");
  given.url += "/api/";
  EXPECT_EQ(run_once(given), 0);
  ::unsetenv("CTRLPLANE_API_KEY");
  ::unsetenv("SOME_TOKEN");
  std::string output = job("j1").output;
  EXPECT_TRUE(output.starts_with(context + "\n")) << output;
  for (std::string line :
       {"CTRLPLANE_JOB_ID=j1", "CTRLPLANE_WORKSPACE=w", "CTRLPLANE_DEPLOYMENT_NAME=web",
        "CTRLPLANE_DEPLOYMENT_ID=d1", "CTRLPLANE_CONFIG={\"a\":1}", "CTRLPLANE_VARIABLE_LOG_LEVEL=debug"})
    EXPECT_NE(output.find("\n" + line + "\n"), std::string::npos) << line << "\n" << output;
  EXPECT_NE(output.find("\nCTRLPLANE_URL=" + server.url() + "\n"), std::string::npos) << output;
  EXPECT_EQ(output.find("=key"), std::string::npos) << output;
}

TEST_F(AgentTest, says_why_a_command_failed) {
  for (std::string id : {"j1", "j2", "j3"}) server.add_job({.id = id});
  AgentOptions given =
      options("case $CTRLPLANE_JOB_ID in j1) echo; echo no space left; exit 3;; j2) kill -KILL $$;; esac");
  EXPECT_EQ(run_once(given), 0);
  EXPECT_EQ(job("j1").status, "failure");
  EXPECT_EQ(job("j1").message, "exit code 3: no space left");
  EXPECT_EQ(job("j2").status, "failure");
  EXPECT_EQ(job("j2").message, "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(job("j3").status, "successful");
}

TEST_F(AgentTest, a_command_that_cannot_start_is_a_failure) {
  server.add_job({.id = "j1"});
  AgentOptions given = options("");
  given.command = {"no-such-command-anywhere"};
  EXPECT_EQ(run_once(given), 0);
  EXPECT_EQ(job("j1").status, "failure");
  EXPECT_EQ(job("j1").message, "could not start 'no-such-command-anywhere': No such file or directory");
}

TEST_F(AgentTest, runs_each_command_in_a_folder_of_its_own_that_goes_with_it) {
  server.add_job({.id = "j1"});
  server.add_job({.id = "j2"});
  EXPECT_EQ(run_once(options("pwd; ls | wc -l; mkdir d; touch d/left-behind")), 0);
  for (std::string id : {"j1", "j2"}) {
    std::string output = job(id).output;
    EXPECT_TRUE(output.ends_with("\n0\n")) << output;
    EXPECT_FALSE(std::filesystem::exists(output.substr(0, output.find('\n'))));
  }
}

TEST_F(AgentTest, runs_commands_in_the_given_folder_and_leaves_it) {
  server.add_job({.id = "j1"});
  AgentOptions given = options("pwd; echo here > left-behind");
  given.work_dir = folder.path();
  EXPECT_EQ(run_once(given), 0);
  EXPECT_EQ(job("j1").output, folder.path() + "\n");
  EXPECT_EQ(folder.text("left-behind"), "here\n");
}

TEST_F(AgentTest, finds_a_command_that_is_named_relative_to_where_it_was_started) {
  std::ofstream(folder.file("deploy.sh")) << "#!/bin/sh\necho deployed\n";
  std::filesystem::permissions(folder.file("deploy.sh"), std::filesystem::perms::owner_all);
  server.add_job({.id = "j1"});
  AgentOptions given = options("");
  given.command = {std::filesystem::relative(folder.file("deploy.sh")).string()};
  given.work_dir = "/";
  EXPECT_EQ(run_once(given), 0);
  EXPECT_EQ(job("j1").output, "deployed\n");
}

TEST_F(AgentTest, sends_output_while_the_command_runs) {
  server.add_job({.id = "j1"});
  start(options("echo working; " + waits()));
  EXPECT_TRUE(wait_for_output("j1", "working"));
  EXPECT_EQ(job("j1").status, "inProgress");
}

TEST_F(AgentTest, sends_output_as_text_to_its_last_byte) {
  server.add_job({.id = "j1"});
  EXPECT_EQ(run_once(options("printf 'a\\377b\\342\\202'")), 0);
  EXPECT_EQ(job("j1").output,
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST_F(AgentTest, output_that_is_refused_does_not_fail_the_job) {
  server.add_job({.id = "j1"});
  server.change([](State& s) {
    s.instead = [](const std::string& request) -> std::optional<net::Response> {
      if (request.ends_with("/output")) return net::Response{.status = 413};
      return std::nullopt;
    };
  });
  EXPECT_EQ(run_once(options("yes | head -c 3000000")), 0);
  EXPECT_EQ(job("j1").status, "successful");
}

// ---- Claiming -------------------------------------------------------------------------------------------

TEST_F(AgentTest, starts_nothing_before_the_server_has_accepted_the_start) {
  server.add_job({.id = "j1"});
  server.change([](State& s) {
    s.instead = [](const std::string& request) -> std::optional<net::Response> {
      if (request == "PUT /jobs/j1/status") return net::Response{.status = 503};
      return std::nullopt;
    };
  });
  AgentOptions given = options("touch " + folder.file("ran"));
  given.concurrency = 2;
  start(given);
  EXPECT_TRUE(server.wait_until([](State& s) { return s.count("PUT /jobs/j1/status") >= 2; }));
  EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
  server.read([](State& s) {  // and nothing else was claimed meanwhile
    EXPECT_EQ(s.count("POST /job-agents") - s.heartbeats.size(), 1u);
  });
  server.change([](State& s) { s.instead = {}; });
  EXPECT_TRUE(server.wait_for_status("j1", "successful"));
  EXPECT_TRUE(std::filesystem::exists(folder.file("ran")));
}

TEST_F(AgentTest, drops_a_job_whose_start_is_refused) {
  server.add_job({.id = "j1"});
  server.add_job({.id = "j2"});
  server.change([](State& s) {
    s.instead = [&s](const std::string& request) -> std::optional<net::Response> {
      if (request != "PUT /jobs/j1/status") return std::nullopt;
      s.job("j1").status = "failure";
      return net::Response{.status = 409};
    };
  });
  EXPECT_EQ(run_once(options("touch " + folder.file("$CTRLPLANE_JOB_ID"))), 0);
  EXPECT_FALSE(std::filesystem::exists(folder.file("j1")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("j2")));
  EXPECT_EQ(server.read([](State& s) { return s.count("PUT /jobs/j1/status"); }), 1u);
}

TEST_F(AgentTest, runs_a_job_once_though_the_answers_to_its_claim_and_start_are_lost) {
  server.add_job({.id = "j1"});
  server.change([](State& s) {
    s.instead = [&s, claims = 0,
                 starts = 0](const std::string& request) mutable -> std::optional<net::Response> {
      bool is_claim = request.ends_with("/claim") && claims++ == 0;
      bool is_start = request == "PUT /jobs/j1/status" && starts++ == 0;
      if (is_start) s.job("j1").status = "inProgress";  // it took effect
      if (is_claim || is_start) return net::Response{.status = 502};
      return std::nullopt;
    };
  });
  EXPECT_EQ(run_once(options("echo ran >> " + folder.file("runs"))), 0);
  EXPECT_EQ(folder.text("runs"), "ran\n");
  EXPECT_EQ(job("j1").status, "successful");
}

TEST_F(AgentTest, runs_as_many_jobs_at_once_as_it_may) {
  for (std::string id : {"j1", "j2", "j3"}) server.add_job({.id = id});
  AgentOptions given = options(waits());
  given.concurrency = 2;
  start(given);
  ready_pid();
  ready_pid();
  clock.skip(seconds(30));
  EXPECT_TRUE(server.wait_until([](State& s) { return !s.heartbeats.empty() && s.heartbeats.back() == 2; }));
  EXPECT_EQ(job("j3").holder, "");
}

TEST_F(AgentTest, takes_only_jobs_that_its_selector_matches) {
  auto in = [](std::string region) { return R"({"resource":{"metadata":{"region":")" + region + R"("}}})"; };
  server.add_job({.id = "j1", .context = in("us")});
  server.add_job({.id = "j2", .context = in("eu")});
  server.add_job({.id = "j3", .context = in("eu"), .holder = "somebody faster"});
  server.add_job({.id = "j4", .context = in("eu")});
  AgentOptions given = options("true");
  given.selector = {{"region", "eu"}};
  EXPECT_EQ(run_once(given), 0);
  EXPECT_EQ(job("j1").status, "queued");
  EXPECT_EQ(job("j1").holder, "");
  EXPECT_EQ(job("j2").status, "successful");
  EXPECT_EQ(job("j3").status, "queued");
  EXPECT_EQ(job("j4").status, "successful");
}

// ---- Starting up ----------------------------------------------------------------------------------------

TEST_F(AgentTest, ends_with_2_where_waiting_would_not_help) {
  AgentOptions wrong_key = options("true");
  wrong_key.api_key = "other";
  EXPECT_EQ(run_once(wrong_key), 2);
  AgentOptions wrong_workspace = options("true");
  wrong_workspace.workspace = "elsewhere";
  EXPECT_EQ(run_once(wrong_workspace), 2);
  server.change([](State& s) {
    s.instead = [](const std::string& request) -> std::optional<net::Response> {
      if (request.starts_with("PUT /job-agents")) return net::Response{.status = 403};
      return std::nullopt;
    };
  });
  EXPECT_EQ(run_once(options("true")), 2);
  server.change([](State& s) {
    s.instead = [](const std::string&) { return std::optional(net::Response{.body = "<html>"}); };
  });
  EXPECT_EQ(run_once(options("true")), 2);
}

TEST_F(AgentTest, ends_with_2_when_its_options_make_no_sense) {
  auto code = [&](auto change) {
    AgentOptions given = options("true");
    change(given);
    return run_once(given);
  };
  EXPECT_EQ(code([](AgentOptions& o) { o.url = ""; }), 2);
  EXPECT_EQ(code([](AgentOptions& o) { o.url = "localhost:1"; }), 2);
  EXPECT_EQ(code([](AgentOptions& o) { o.api_key = "two\nlines"; }), 2);
  EXPECT_EQ(code([](AgentOptions& o) { o.workspace = ""; }), 2);
  EXPECT_EQ(code([](AgentOptions& o) { o.name = ""; }), 2);
  EXPECT_EQ(code([](AgentOptions& o) { o.command = {}; }), 2);
  EXPECT_EQ(code([](AgentOptions& o) { o.concurrency = 0; }), 2);
  EXPECT_EQ(code([](AgentOptions& o) { o.work_dir = "/no/such/folder"; }), 2);
  EXPECT_EQ(server.read([](State& s) { return s.requests.size(); }), 0u);
}

TEST_F(AgentTest, waits_for_a_server_that_is_not_there_yet) {
  server.add_job({.id = "j1"});
  server.change([](State& s) { s.refusing = true; });
  start(options("true"));
  EXPECT_TRUE(server.wait_until([](State& s) { return s.requests.size() >= 2; }));
  server.change([](State& s) { s.refusing = false; });
  EXPECT_TRUE(server.wait_for_status("j1", "successful"));
}

TEST_F(AgentTest, can_be_stopped_while_it_waits_for_a_server) {
  server.down();
  start(options("true"));
  agent->stop();
  EXPECT_EQ(running.get(), 0);
}

}  // namespace
}  // namespace ctrlplane::agent
