// One command at work: it reads the state, and what it changes is recorded and folded in at once, so
// that what it decides next sees it. There is no undo: a command that refuses has changed nothing.
#pragma once

#include <string>

#include "base/uuid.h"
#include "model/change.h"
#include "state/state.h"

namespace ctrlplane {

class Tx {
 public:
  Tx(State& state, Time now, Duration uptime, IdSource ids, Changes& changes)
      : state(state), now(now), uptime(uptime), ids(ids), changes_(changes), first_(changes.size()) {}

  State& state;
  const Time now;
  // Of the process, for what lives in memory only: agent leases must not end because a wall clock was set.
  const Duration uptime;
  IdSource ids;
  std::string actor = "system";

  void put(Entity e) { record(Change::put(std::move(e))); }
  void erase(Entity e) { record(Change::erase(std::move(e))); }
  size_t change_count() const { return changes_.size() - first_; }
  bool changed() const { return changes_.size() > first_; }

  // Who did what to whom; `details` is a JSON object.
  void audit(std::string_view action, std::string subject, std::string details = "{}");

 private:
  void record(Change c) {
    changes_.push_back(std::move(c));
    state.apply(changes_.back());
  }
  Changes& changes_;
  size_t first_;
};

}  // namespace ctrlplane
