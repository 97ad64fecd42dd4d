#include "agent/heartbeat.h"

#include <algorithm>

#include "agent/backoff.h"
#include "base/log.h"

namespace ctrlplane::agent {

Heartbeat::Heartbeat(Setup& setup) : setup_(setup), api_(setup.api()), thread_([this] { run(); }) {}

Heartbeat::~Heartbeat() {
  ending_ = true;
  api_.interrupt();
  setup_.bell.ring();
  thread_.join();
}

void Heartbeat::run() {
  Backoff backoff(seconds(1), seconds(15));
  while (!ending_) {
    Duration began = setup_.clock.boot();
    bool through = beat();
    if (through) backoff.reset();
    Duration next = through ? began + every_ : setup_.clock.boot() + std::min(backoff.next(chance()), every_);
    setup_.bell.wait_until(next, [&] { return ending_.load(); });
  }
}

bool Heartbeat::beat() {
  HeldJobs::List held = setup_.held.list();
  std::vector<std::string> ids;
  for (const auto& control : held) ids.push_back(control->id());
  Duration sent = setup_.clock.boot();
  auto answer = api_.heartbeat(setup_.agent_id, setup_.instance, ids);
  if (!answer) {
    bool is_news = !ending_ && answer.error().message != last_error_;
    last_error_ = answer.error().message;
    if (is_news) log::warn("heartbeat failed", {{"reason", last_error_}});
    return false;
  }
  if (!last_error_.empty()) log::info("heartbeat goes through again");
  last_error_.clear();
  if (answer->lease.us > 0) setup_.lease_us = answer->lease.us;
  if (answer->heartbeat.us > 0) every_ = answer->heartbeat;
  for (const auto& control : held) {
    bool stop = std::ranges::find(answer->stop, control->id()) != answer->stop.end();
    if (stop)
      control->request_stop(StopReason::kServer);
    else
      control->renew(sent);
  }
  return true;
}

}  // namespace ctrlplane::agent
