// The first half of a group's life: what its members want, when its window closes, what is locked.
#pragma once

#include <optional>
#include <vector>

#include "engine/bracket_order.h"
#include "engine/tx.h"

namespace ctrlplane {

// What a member would be given if the window closed now.
struct Wish {
  TargetIx target;
  MemberRole role = MemberRole::kWork;
  bool named_hook = false;
  VersionIx version;     // the newest that passes its version rules, or what runs
  bool changes = false;  // it is not what runs, and no open group has it yet
  Time since;            // when that became true
  std::optional<Time> next_at;
};
std::vector<Wish> wishes(const State& state, Time now, const policy::BracketTerms& terms, RuleId rule,
                         const std::vector<TargetIx>& targets);

// May a group that has not started yet deploy it there?
bool may_run(const State& state, TargetIx target, VersionIx version);

// When the window closes; nothing: now.
std::optional<Time> closes_at(const policy::BracketTerms& terms, const BracketGroup& group, Time now,
                              bool all_changed);

// The members' rows as they are locked now. Empty: nothing changes.
std::vector<BracketMember> locked_members(const State& state, Time now, const policy::BracketTerms& terms,
                                          const GroupSlot& group, const std::vector<Wish>& wishes);

}  // namespace ctrlplane
