// An agent against a fake server, for tests.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <fstream>
#include <future>

#include <gtest/gtest.h>
#include <support/temp_dir.h>

#include "agent/agent.h"
#include "agent/fake_server.h"
#include "agent/file_descriptor.h"

namespace ctrlplane::agent {

using State = FakeServer::State;

// A folder for what commands leave to be looked at.
struct Folder : test::TempDir {
  std::string text(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

struct AgentTest : testing::Test {
  ~AgentTest() override {
    if (!running.valid()) return;
    for (int i = 0; i < 3; ++i) agent->stop();
    running.wait();
  }

  // Open at both ends, so that nobody waits in opening it.
  Fd fifo(const std::string& name) {
    EXPECT_EQ(::mkfifo(folder.file(name).c_str(), 0600), 0);
    return Fd(::open(folder.file(name).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  }
  AgentOptions options(std::string script) {
    return {.url = server.url(),
            .api_key = "key",
            .workspace = "w",
            .name = "runner",
            .command = {"sh", "-c", std::move(script)},
            .poll_every = milliseconds(10)};
  }
  void start(AgentOptions given) {
    agent = std::make_unique<Agent>(std::move(given), clock, milliseconds(5));
    running = std::async(std::launch::async, [this] { return agent->run(); });
  }
  int run_once(AgentOptions given) {
    given.once = true;
    return Agent(std::move(given), clock, milliseconds(5)).run();
  }
  FakeServer::Job job(const std::string& id) {
    return server.read([&](State& s) { return s.job(id); });
  }
  bool wait_for_output(const std::string& id, const std::string& text) {
    return server.wait_until([&](State& s) { return s.job(id).output.find(text) != std::string::npos; });
  }
  // A command that tells its process's number, then waits to be stopped.
  std::string waits(std::string on_term = "exit 9") {
    return "trap '" + on_term + "' TERM; echo $$ > " + folder.file("ready") +
           "; while :; do sleep 1000 & wait $!; done";
  }
  // A command that does the same and ends when released.
  std::string waits_for_release(std::string then = "exit 0") {
    return "echo $$ > " + folder.file("ready") + "; read line < " + folder.file("gate") + "; " + then;
  }
  void release() { EXPECT_EQ(::write(gate.get(), "go\n", 3), 3); }
  // The next process's number.
  pid_t ready_pid() {
    pollfd on{ready.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&on, 1, 20'000), 1) << "no command was started";
    std::string line;
    for (char c = 0; ::read(ready.get(), &c, 1) == 1 && c != '\n';) line += c;
    return std::atoi(line.c_str());
  }
  // True once that process is gone.
  static bool ends(pid_t pid) {
    Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd) return errno == ESRCH;
    pollfd on{pidfd.get(), POLLIN, 0};
    return ::poll(&on, 1, 20'000) == 1;
  }
  FakeServer server;
  SkewedClock clock;
  Folder folder;
  Fd ready = fifo("ready"), gate = fifo("gate");
  std::unique_ptr<Agent> agent;
  std::future<int> running;
};

}  // namespace ctrlplane::agent
