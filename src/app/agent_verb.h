// `ctrlplane agent`: the flags of the pull agent.
#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"

namespace CLI {
class App;
}

namespace ctrlplane::app {

struct AgentVerb {
  agent::AgentOptions options;
  std::vector<std::string> selector;
  std::string on_lost = "stop", log_level = "info", log_format = "text";
  double poll_seconds = 2, stop_grace_seconds = 10;
  bool insecure = false;
};

void add_agent_verb(CLI::App& app, AgentVerb& verb, int& exit_code);

}  // namespace ctrlplane::app
