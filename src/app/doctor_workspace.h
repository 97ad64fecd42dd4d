// One workspace of a store, looked at from outside: are its rows what the engine may leave behind?
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/store.h"

namespace ctrlplane::app {

// A promise that some rows break: how many, and the first few of them.
struct Broken {
  std::string what;
  size_t count = 0;
  std::vector<std::string> examples;
};

struct WorkspaceHealth {
  store::Owner owner;
  size_t targets = 0, resources = 0, versions = 0, live_jobs = 0;
  size_t waiting_for_people = 0;           // jobs that require action
  bool rows_without_parents = false;       // of targets that were deleted; the next owner takes them away
  std::map<std::string, std::string> due;  // targets for which a fresh look decides something new, and what
  std::vector<Broken> broken;
  std::map<WorkspaceId, std::string> slugs;  // the instance only: what workspaces there are
};

// Loads the workspace privately and checks it. Reads only. `wall` is what the clock says.
Result<WorkspaceHealth> examine(store::Store& store, WorkspaceId workspace, Time wall);

}  // namespace ctrlplane::app
