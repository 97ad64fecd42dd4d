// Tells the server from time to time that this process lives and which jobs it holds.
#pragma once

#include <atomic>
#include <thread>

#include "agent/setup.h"

namespace ctrlplane::agent {

class Heartbeat {
 public:
  // Beats at once and from then on, until destroyed. `setup` outlives it; its agent_id is set.
  explicit Heartbeat(Setup& setup);
  ~Heartbeat();

 private:
  void run();
  bool beat();

  Setup& setup_;
  Api api_;
  Duration every_ = seconds(30);
  std::string last_error_;
  std::atomic<bool> ending_ = false;
  std::jthread thread_;
};

}  // namespace ctrlplane::agent
