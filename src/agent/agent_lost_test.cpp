// Servers that go away, jobs that are to stop, and agents that are.
#include "agent/agent_fixture.h"

namespace ctrlplane::agent {
namespace {

constexpr Duration kHeartbeat = seconds(30);

// ---- Stopped by the server ------------------------------------------------------------------------------

TEST_F(AgentTest, stops_a_command_when_a_heartbeat_says_so) {
  server.add_job({.id = "j1"});
  start(options(waits("echo stopped; exit 9")));
  pid_t pid = ready_pid();
  server.change([](State& s) { s.job("j1").stop = true; });
  clock.skip(kHeartbeat);
  EXPECT_TRUE(server.wait_for_status("j1", "cancelled"));
  EXPECT_TRUE(ends(pid));
  EXPECT_NE(job("j1").output.find("stopped"), std::string::npos);
}

TEST_F(AgentTest, kills_a_command_that_does_not_stop_within_its_grace) {
  server.add_job({.id = "j1"});
  AgentOptions given = options(waits("echo asked"));
  given.stop_grace = minutes(1);
  start(given);
  pid_t pid = ready_pid();
  server.change([](State& s) { s.job("j1").stop = true; });
  clock.skip(kHeartbeat);
  EXPECT_TRUE(wait_for_output("j1", "asked"));
  EXPECT_EQ(job("j1").status, "inProgress");
  clock.skip(minutes(1));
  EXPECT_TRUE(server.wait_for_status("j1", "cancelled"));
  EXPECT_TRUE(ends(pid));
}

TEST_F(AgentTest, goes_on_when_the_server_has_ended_the_job_already) {
  server.add_job({.id = "j1"});
  start(options("if [ $CTRLPLANE_JOB_ID = j1 ]; then " + waits() + "; fi"));
  pid_t pid = ready_pid();
  server.change([](State& s) { s.job("j1").status = "failure"; });
  server.add_job({.id = "j2"});
  clock.skip(kHeartbeat);
  EXPECT_TRUE(server.wait_for_status("j2", "successful"));
  EXPECT_TRUE(ends(pid));
  EXPECT_EQ(job("j1").status, "failure");
}

// ---- A server that goes away ----------------------------------------------------------------------------

TEST_F(AgentTest, stops_its_command_before_its_lease_ends) {
  server.add_job({.id = "j1"});
  start(options(waits()));
  pid_t pid = ready_pid();
  server.down();
  clock.skip(seconds(276));  // of 300
  EXPECT_TRUE(ends(pid));
  server.up();
  EXPECT_TRUE(server.wait_for_status("j1", "failure"));
  std::string message = job("j1").message;
  EXPECT_TRUE(message.starts_with("stopped: the server could not be reached for 27")) << message;
}

TEST_F(AgentTest, kills_a_command_that_would_outlive_its_lease) {
  server.add_job({.id = "j1"});
  start(options(waits("")));  // deaf to SIGTERM
  pid_t pid = ready_pid();
  server.down();
  clock.skip(seconds(290));
  EXPECT_TRUE(ends(pid));
}

TEST_F(AgentTest, uses_the_lease_that_the_server_names) {
  server.change([](State& s) { s.lease_seconds = 3000; });
  server.add_job({.id = "j1"});
  start(options(waits_for_release()));
  pid_t pid = ready_pid();
  EXPECT_TRUE(server.wait_until([](State& s) { return s.heartbeats.size() >= 1; }));
  clock.skip(kHeartbeat);
  EXPECT_TRUE(server.wait_until([](State& s) { return s.heartbeats.size() >= 2; }));  // the first was read
  server.change([](State& s) { s.refusing = true; });
  size_t before = server.read([](State& s) { return s.count("POST /job-agents"); });
  clock.skip(seconds(2000));
  EXPECT_TRUE(server.wait_until([&](State& s) { return s.count("POST /job-agents") >= before + 2; }));
  server.change([](State& s) { s.refusing = false; });
  release();
  EXPECT_TRUE(server.wait_for_status("j1", "successful"));
  EXPECT_TRUE(ends(pid));
}

TEST_F(AgentTest, heartbeats_keep_a_lease) {
  server.add_job({.id = "j1"});
  start(options(waits_for_release()));
  ready_pid();
  for (int i = 0; i < 15; ++i) {  // of 30 s each
    size_t before = server.read([](State& s) { return s.heartbeats.size(); });
    clock.skip(kHeartbeat);
    EXPECT_TRUE(server.wait_until([&](State& s) { return s.heartbeats.size() > before; }));
  }
  release();
  EXPECT_TRUE(server.wait_for_status("j1", "successful"));
}

TEST_F(AgentTest, lets_its_command_run_on_where_it_was_told_to) {
  server.add_job({.id = "j1"});
  AgentOptions given = options(waits_for_release());
  given.keep_on_lost = true;
  start(given);
  pid_t pid = ready_pid();
  EXPECT_FALSE(job("j1").fences_itself);
  server.change([](State& s) { s.refusing = true; });
  clock.skip(seconds(1000));
  size_t before = server.read([](State& s) { return s.count("POST /job-agents"); });
  EXPECT_TRUE(server.wait_until([&](State& s) { return s.count("POST /job-agents") >= before + 2; }));
  server.change([](State& s) { s.refusing = false; });
  release();
  EXPECT_TRUE(server.wait_for_status("j1", "successful"));
  EXPECT_TRUE(ends(pid));
}

TEST_F(AgentTest, an_end_that_happens_while_the_server_is_away_is_reported_when_it_is_back) {
  server.add_job({.id = "j1"});
  start(options(waits_for_release("echo done")));
  pid_t pid = ready_pid();
  server.down();
  release();
  EXPECT_TRUE(ends(pid));
  server.up();
  EXPECT_TRUE(server.wait_for_status("j1", "successful"));
  EXPECT_TRUE(wait_for_output("j1", "done\n"));
  EXPECT_EQ(server.read([](State& s) { return s.reports; }),
            (std::vector<std::string>{"j1 inProgress", "j1 successful"}));
}

TEST_F(AgentTest, claims_again_after_a_restart_of_the_server) {
  server.add_job({.id = "j1"});
  start(options("true"));
  EXPECT_TRUE(server.wait_for_status("j1", "successful"));
  server.down();
  server.add_job({.id = "j2"});
  server.up();
  EXPECT_TRUE(server.wait_for_status("j2", "successful"));
}

// ---- An agent that is stopped ---------------------------------------------------------------------------

TEST_F(AgentTest, a_stopped_agent_claims_no_more_and_lets_its_command_end) {
  server.add_job({.id = "j1"});
  server.add_job({.id = "j2"});
  start(options(waits_for_release()));
  ready_pid();
  agent->stop();
  size_t before = server.read([](State& s) { return s.heartbeats.size(); });
  clock.skip(kHeartbeat);
  EXPECT_TRUE(
      server.wait_until([&](State& s) { return s.heartbeats.size() > before; }));  // it keeps its lease
  release();
  EXPECT_EQ(running.get(), 0);
  EXPECT_EQ(job("j1").status, "successful");
  EXPECT_EQ(job("j2").holder, "");
}

TEST_F(AgentTest, an_agent_stopped_twice_stops_its_commands_and_says_so) {
  server.add_job({.id = "j1"});
  start(options(waits()));
  pid_t pid = ready_pid();
  agent->stop();
  agent->stop();
  EXPECT_EQ(running.get(), 0);
  EXPECT_TRUE(ends(pid));
  EXPECT_EQ(job("j1").status, "cancelled");
  EXPECT_EQ(job("j1").message, "the agent was stopped");
}

TEST_F(AgentTest, an_agent_stopped_three_times_waits_for_nothing) {
  server.add_job({.id = "j1"});
  AgentOptions given = options(waits(""));  // deaf to SIGTERM
  given.stop_grace = hours(1);
  given.keep_on_lost = true;
  start(given);
  pid_t pid = ready_pid();
  server.down();
  for (int i = 0; i < 3; ++i) agent->stop();
  EXPECT_EQ(running.get(), 1);
  EXPECT_TRUE(ends(pid));
}

TEST_F(AgentTest, a_job_that_never_began_is_given_back_when_the_agent_is_stopped_twice) {
  server.add_job({.id = "j1"});
  server.change([](State& s) {
    s.instead = [](const std::string& request) -> std::optional<net::Response> {
      if (request == "PUT /jobs/j1/status") return net::Response{.status = 503};
      return std::nullopt;
    };
  });
  start(options("touch " + folder.file("ran")));
  EXPECT_TRUE(server.wait_until([](State& s) { return s.count("PUT /jobs/j1/status") >= 1; }));
  agent->stop();
  agent->stop();
  server.change([](State& s) { s.instead = {}; });
  EXPECT_EQ(running.get(), 0);
  EXPECT_EQ(job("j1").status, "cancelled");
  EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
}

}  // namespace
}  // namespace ctrlplane::agent
