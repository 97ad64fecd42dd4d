#include "engine/slots.h"

#include <algorithm>

namespace ctrlplane {
namespace {

// As many as could go now.
void wake_next(State& state, RuleId rule) {
  const int64_t free = policy::slots_of(state, rule) - static_cast<int64_t>(state.holders(rule).size());
  if (free > 0) state.wake_line(rule, static_cast<size_t>(free));
}

}  // namespace

std::optional<NoSlot> no_slot(const State& state, const std::vector<RuleId>& needed, LineKey place) {
  // The resource keeps the place it has, and has the same one everywhere: or two of them would stand before
  // each other, in two lines or with two wishes.
  for (RuleId rule : needed)
    if (const Line::Waiting* waits = state.line(rule).find(place.resource))
      place = std::min(place, waits->key);
  std::optional<NoSlot> no;
  for (RuleId rule : needed)
    if (!no && !policy::may_take(state, rule, place.resource, place))
      no = NoSlot{.rules = {}, .place = place, .why = policy::limit_message(state, rule)};
  if (!no) return no;
  std::copy_if(needed.begin(), needed.end(), std::back_inserter(no->rules),
               [&](RuleId rule) { return !state.holds_slot(rule, place.resource); });
  return no;
}

void take_slots(Tx& tx, const std::vector<RuleId>& needed, ResourceId resource,
                std::optional<GroupId> group) {
  for (RuleId rule : needed) {
    // Who waited there besides may go with the slot that the resource has now.
    if (const Line::Waiting* waits = tx.state.line(rule).find(resource))
      for (TargetIx t : waits->targets) tx.state.mark_dirty(t);
    tx.state.leave_line(rule, resource);
    const auto& holders = tx.state.holders(rule);
    auto it = holders.find(resource);
    if (it == holders.end())
      tx.put(ConcurrencySlot{rule, resource, group, tx.now});
    else if (group && it->second.group != group)
      tx.put(ConcurrencySlot{rule, resource, group, it->second.since});
  }
}

void wait_for_slots(State& state, TargetIx target, const std::optional<NoSlot>& no) {
  const ResourceIx r = state.at(target).resource;
  const ResourceId resource = state.resources[r].row.id;
  if (no)
    for (RuleId rule : no->rules) state.wait_in_line(rule, no->place, target);
  std::vector<RuleId> left;
  for (const auto& [rule, line] : state.lines()) {
    const Line::Waiting* waits = line.find(resource);
    if (!waits || (no && std::find(no->rules.begin(), no->rules.end(), rule) != no->rules.end())) continue;
    // Another target of the resource may still wait: it joins again when it is looked at.
    if (std::find(waits->targets.begin(), waits->targets.end(), target) != waits->targets.end())
      left.push_back(rule);
  }
  for (RuleId rule : left) {
    for (TargetIx other : state.line(rule).find(resource)->targets)
      if (other != target) state.mark_dirty(other);
    state.leave_line(rule, resource);
    state.stir_line(rule);
  }
}

bool keeps_a_slot_free(const State& state, TargetIx target) {
  const ResourceId resource = state.resources[state.at(target).resource].row.id;
  return std::any_of(state.lines().begin(), state.lines().end(), [&](const auto& entry) {
    const auto& [rule, line] = entry;
    const Line::Waiting* waits = line.find(resource);
    return waits && std::find(waits->targets.begin(), waits->targets.end(), target) != waits->targets.end() &&
           policy::may_take(state, rule, resource, waits->key);
  });
}

void wake_lines(State& state) {
  for (RuleId rule : state.take_stirred_lines()) wake_next(state, rule);
}

void release_slot(Tx& tx, const ConcurrencySlot& slot) {
  tx.erase(slot);
  wake_next(tx.state, slot.rule);
}

}  // namespace ctrlplane
