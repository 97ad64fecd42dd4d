// Which replica should own what: a pure function of what every replica can see, so that they agree without
// talking to each other. A wrong view costs a lost race for a row, never two owners.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "store/store.h"

namespace ctrlplane {

struct Placing {
  struct Workspace {
    WorkspaceId id;
    std::optional<store::ReplicaId> owner;  // only one that lives
    bool overdue = false;                   // without an owner for so long that anybody should take it
  };
  store::ReplicaId self;
  std::set<store::ReplicaId> seats;  // replicas that live and may be given something
  std::vector<Workspace> workspaces;
};

struct Placement {
  std::vector<WorkspaceId> take;
  std::optional<WorkspaceId> give;
  bool operator==(const Placement&) const = default;
};

// What `self` should do now. Workspaces without an owner go to the seat with the fewest. Where none is
// without an owner, the seat with the most gives one away as long as another has at least two fewer. A
// replica that has no seat takes nothing, and gives away what it has one by one as long as there are seats.
Placement place(const Placing& placing);

}  // namespace ctrlplane
