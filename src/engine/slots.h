// Slots of concurrency rules: taken in the commit that admits the first job, given back when the work on the
// resource has ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/tx.h"
#include "policy/concurrency.h"

namespace ctrlplane {

struct NoSlot {
  std::vector<RuleId> rules;  // all that it needs and does not hold: it waits for them together
  LineKey place;
  std::string why;
};
// Nothing: the resource holds or may take all of these.
std::optional<NoSlot> no_slot(const State& state, const std::vector<RuleId>& needed, LineKey place);

// The caller has seen that it may.
void take_slots(Tx& tx, const std::vector<RuleId>& needed, ResourceId resource, std::optional<GroupId> group);

// Keeps the lines in step with what a target waits for: it joins these and leaves others.
void wait_for_slots(State& state, TargetIx target, const std::optional<NoSlot>& no);

// Does it stand in a line where a slot is free for it, so that those behind do not get it?
bool keeps_a_slot_free(const State& state, TargetIx target);

// Who stands first in the lines that were stirred looks again. When nothing else is left to do: many may
// leave a line at once, as when a window closes.
void wake_lines(State& state);

// A slot that nobody needs any more.
void release_slot(Tx& tx, const ConcurrencySlot& slot);

}  // namespace ctrlplane
