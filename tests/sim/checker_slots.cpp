// A limit is a limit: no slot is granted while as many resources hold one as the rule allows, whoever works
// where a limit counts holds one, and nobody loses it before the work on the resource is over.
#include <algorithm>

#include <fmt/core.h>

#include "sim/bracketbook.h"
#include "sim/checker.h"

namespace ctrlplane::sim {
namespace {

std::string name_of(const ConcurrencySlot& row) {
  return fmt::format("the slot of rule {} on {}", row.rule.str(), row.resource.str());
}

}  // namespace

// Called before the row is folded in.
void Checker::check_slot_taken(WorkspaceId w, const ConcurrencySlot& row) {
  const Ledger& ledger = ledgers_[w];
  touched_slots_.insert({row.rule, row.resource});
  if (row.group && !ledger.groups.contains(*row.group))
    violate(2, fmt::format("{} is for a group that there is not", name_of(row)));
  if (auto held = ledger.slots.find({row.rule, row.resource}); held != ledger.slots.end()) {
    if (held->second.since != row.since) violate(2, fmt::format("{} was granted again", name_of(row)));
    return;
  }
  ++bracketed_["slots granted"];
  if (row.group) ++bracketed_["  to a group"];
  const auto capacity = capacity_of(ledger, row.rule);
  if (!capacity) return violate(2, fmt::format("{} is of no limit", name_of(row)));
  if (!ledger.resources.contains(row.resource))
    return violate(2, fmt::format("{} is for a resource that there is not", name_of(row)));
  if (capacity->held + 1 == capacity->most) ++bracketed_["  the last one"];
  if (capacity->held >= capacity->most)
    violate(2, fmt::format("{} was granted while {} of {} were held, of {} resources", name_of(row),
                           capacity->held, capacity->most, capacity->total));
  if (capacity->quarantined >= capacity->most)
    violate(2, fmt::format("{} was granted while {} resources of {} are in quarantine", name_of(row),
                           capacity->quarantined, capacity->most));
}

// Called before the row goes.
void Checker::check_slot_freed(WorkspaceId w, const ConcurrencySlot& row) {
  const Ledger& ledger = ledgers_[w];
  if (!ledger.slots.contains({row.rule, row.resource})) return;
  ++bracketed_["slots freed"];
  const auto& live = live_with_slot_[{w, row.rule, row.resource}];
  if (!live.empty())
    violate(2, fmt::format("{} was freed while job {} works there", name_of(row), live.begin()->str()));
  for (GroupId id : open_groups_[w])
    if (const BracketGroup& g = ledger.groups.at(id);
        g.active() && g.resource == row.resource && groups_[{w, id}].needed.contains(row.rule))
      violate(2,
              fmt::format("{} was freed while group {} is {}", name_of(row), id.str(), to_string(g.status)));
}

void Checker::note_slots(WorkspaceId w, const Job& job) {
  for (RuleId rule : job.slots) {
    touched_slots_.insert({rule, job.target.resource});
    auto& live = live_with_slot_[{w, rule, job.target.resource}];
    job.live ? (void)live.insert(job.id) : (void)live.erase(job.id);
  }
}

// A job that has just been made.
void Checker::judge_slots(WorkspaceId w, const Job& job) {
  const Ledger& ledger = ledgers_[w];
  for (RuleId rule : limits_over(ledger, job.target)) {
    // A rule that came later does not stop a group half-way.
    if (job.group && !groups_[{w, *job.group}].needed.contains(rule)) continue;
    ++bracketed_["jobs made under a limit"];
    if (!ledger.slots.contains({rule, job.target.resource}) ||
        std::find(job.slots.begin(), job.slots.end(), rule) == job.slots.end())
      violate(2, fmt::format("job {} ({}) has no slot of rule {}, which limits its resource", job.id.str(),
                             to_string(job.cause), rule.str()));
  }
}

void Checker::check_touched_slots(WorkspaceId w) {
  for (const auto& [rule, resource] : std::exchange(touched_slots_, {})) {
    const auto& live = live_with_slot_[{w, rule, resource}];
    if (!live.empty() && !ledgers_[w].slots.contains({rule, resource}))
      violate(2, fmt::format("job {} works on {} without the slot of rule {} that it holds",
                             live.begin()->str(), resource.str(), rule.str()));
  }
}

bool Checker::all_limits_are_free(const Ledger& ledger) {
  for (const auto& [id, policy] : ledger.policies)
    for (const PolicyRule& rule : policy.rules)
      if (auto c = capacity_of(ledger, rule.id); c && !c->is_free()) return false;
  return true;
}

}  // namespace ctrlplane::sim
