// The pull agent: claims jobs of one job agent, runs a command for each, and says how it went
// (docs/agent.md).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/time.h"
#include "net/client.h"

namespace ctrlplane::agent {

struct AgentOptions {
  std::string url;  // http://host:port, with or without a trailing / or /api
  std::string api_key;
  std::string workspace;  // id or slug
  std::string name;       // of the job agent; registered as type http-pull if there is none
  // Only jobs for which all of these hold: `kind`, `environment`, `deployment`, or metadata of the resource.
  std::vector<std::pair<std::string, std::string>> selector = {};
  std::vector<std::string> command = {};  // run per job; argv
  int concurrency = 1;
  Duration poll_every = seconds(2);
  bool keep_on_lost = false;          // let commands run on when the server cannot be reached
  Duration stop_grace = seconds(10);  // from SIGTERM to SIGKILL
  std::string work_dir = {};          // where commands run; empty: a temporary folder per job, removed after
  bool once = false;                  // end when nothing waits and nothing runs
  net::ClientOptions tls = {};
};

class Agent {
 public:
  // `clock` outlives the agent and is looked at every `tick`.
  Agent(AgentOptions options, const Clock& clock, Duration tick = seconds(1));
  ~Agent();

  // Returns 0 after stop(), or with `once` when nothing is left; 1 if it was stopped so urgently that a
  // report was not delivered; 2 if it cannot work: bad options, a key that is refused, no such workspace.
  int run();

  // From another thread while run() runs. The first call: claims nothing more and lets what runs end. The
  // second: stops the commands too. The third: waits for nothing, not even for the server to be told.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ctrlplane::agent
