#include "runtime/placement.h"

#include <algorithm>
#include <map>

namespace ctrlplane {
namespace {

using Counts = std::map<store::ReplicaId, size_t>;

Counts count(const Placing& p) {
  Counts counts;
  for (store::ReplicaId seat : p.seats) counts[seat] = 0;
  for (const auto& w : p.workspaces)
    if (w.owner && p.seats.contains(*w.owner)) ++counts[*w.owner];
  return counts;
}

// The first of those that have the fewest, or the most.
auto fewest(const Counts& counts) {
  return std::min_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}
auto most(const Counts& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

std::optional<WorkspaceId> last_owned(const Placing& p) {
  std::optional<WorkspaceId> last;
  for (const auto& w : p.workspaces)
    if (w.owner == p.self) last = last ? std::max(*last, w.id) : w.id;
  return last;
}

}  // namespace

Placement place(const Placing& p) {
  Placement placement;
  if (p.seats.empty()) return placement;
  Counts counts = count(p);
  const bool seated = p.seats.contains(p.self);

  std::vector<const Placing::Workspace*> orphans;
  for (const auto& w : p.workspaces)
    if (!w.owner) orphans.push_back(&w);
  std::sort(orphans.begin(), orphans.end(), [](auto* a, auto* b) { return a->id < b->id; });
  for (const auto* orphan : orphans) {
    auto seat = fewest(counts);
    ++counts.at(seat->first);
    if (seated && (seat->first == p.self || orphan->overdue)) placement.take.push_back(orphan->id);
  }

  if (!seated) placement.give = last_owned(p);
  if (seated && orphans.empty()) {
    auto rich = most(counts);
    if (rich->first == p.self && rich->second >= fewest(counts)->second + 2) placement.give = last_owned(p);
  }
  return placement;
}

}  // namespace ctrlplane
