// What the parts of one running agent share.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/api.h"
#include "agent/bell.h"
#include "agent/held_jobs.h"

namespace ctrlplane::agent {

struct Setup {
  Setup(AgentOptions given, const Clock& of_machine, Duration tick_)
      : options(std::move(given)), clock(of_machine), tick(tick_), bell(of_machine, tick_) {}

  AgentOptions options;
  const Clock& clock;
  Duration tick;
  Bell bell;  // rung when any of what follows changes
  HeldJobs held;
  std::string instance;                // this process, for the server
  std::string agent_id;                // set before anything is claimed
  std::vector<std::string> inherited;  // environment of commands
  std::atomic<int> stops = 0;          // how often stop() was called
  std::atomic<int64_t> lease_us = seconds(300).us;

  bool stopping() const { return stops >= 1; }
  bool giving_up() const { return stops >= 3; }
  Duration lease() const { return {lease_us}; }
  ApiOptions api() const { return {options.url, options.api_key, options.workspace, options.tls}; }
};

// Between 0 and 1, from the machine's source of chance.
double chance();

}  // namespace ctrlplane::agent
