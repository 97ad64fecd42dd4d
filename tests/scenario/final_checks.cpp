#include "final_checks.h"

#include "describe.h"

namespace ctrlplane::scenario {
namespace {

// What a load must bring back. Leases and dirty marks are memory only.
struct Picture {
  std::string targets;  // for people
  std::map<TargetKey, std::pair<bool, TargetState>> rows;
  std::map<JobId, Job> jobs;
  std::map<OutboxId, OutboxItem> outbox;
  std::map<FreezeId, Freeze> freezes;
  std::map<GroupId, std::pair<BracketGroup, std::vector<BracketMember>>> groups;
  std::map<RuleId, std::map<ResourceId, ConcurrencySlot>> slots;
  std::map<std::pair<RuleId, ResourceId>, Quarantine> quarantines;
  std::map<RuleId, std::vector<ResourceId>> lines;  // memory only, but there again after a load

  static Picture of(World& world, const State& state) {
    Picture p{.targets = describe_targets(world, state, "")};
    state.resources.each([&](ResourceIx, const ResourceSlot& r) {
      for (TargetIx t : r.targets)
        if (state.at(t).exists || state.at(t).has_row)
          p.rows[state.key_of(t)] = {state.at(t).exists, state.row_of(t)};
    });
    state.jobs.each([&](JobIx, const JobSlot& j) { p.jobs[j.row.id] = j.row; });
    state.freezes.each([&](FreezeIx, const FreezeSlot& f) { p.freezes[f.row.id] = f.row; });
    state.groups.each([&](GroupIx, const GroupSlot& g) {
      auto& [row, members] = p.groups[g.row.id];
      row = g.row;
      for (const MemberSlot& m : g.members) members.push_back(m.row);
    });
    p.slots = state.all_holders();
    p.quarantines = state.quarantines();
    for (const auto& [rule, line] : state.lines())
      for (const LineKey& place : line.order()) p.lines[rule].push_back(place.resource);
    p.outbox = {state.outbox.begin(), state.outbox.end()};
    return p;
  }

  std::string difference(const Picture& other) const {
    if (targets != other.targets)
      return fmt::format("targets before:\n{}and after:\n{}", targets, other.targets);
    if (rows != other.rows) return "rows of targets differ";
    if (jobs != other.jobs)
      return fmt::format("live jobs differ ({} before, {} after)", jobs.size(), other.jobs.size());
    if (freezes != other.freezes) return "freezes differ";
    if (outbox != other.outbox) return "outbox rows differ";
    if (groups != other.groups) return "bracket groups differ";
    if (slots != other.slots) return "slots differ";
    return quarantines != other.quarantines ? "quarantines differ" : "";
  }
};

std::string audit_all(World& world) {
  world.loop().audit(world.state().target_bound());
  uint64_t missed = world.loop().stats().missed_wakeups;
  return missed == 0 ? "" : fmt::format("{} targets should have been woken and were not", missed);
}

}  // namespace

std::string final_checks(World& world) {
  if (std::string missed = audit_all(world); !missed.empty()) return missed;
  Picture before = Picture::of(world, world.state());
  if (std::string d = before.difference(Picture::of(world, *world.state_from_store())); !d.empty())
    return "the state in memory is not the fold of the stored rows: " + d;
  world.restart();
  if (std::string d = before.difference(Picture::of(world, world.state())); !d.empty())
    return "a restart changed something: " + d;
  if (before.lines != Picture::of(world, world.state()).lines) return "a restart changed who waits in line";
  return audit_all(world);
}

}  // namespace ctrlplane::scenario
