// What the policy module remembers with a state: derived, never stored, thrown away when what it was worked
// out from has changed.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "policy/rule.h"

namespace ctrlplane::policy {

struct Memo {
  uint32_t epoch = 0;        // of the policies; another one makes all of `sets` and `watched` worthless
  uint32_t noted_epoch = 0;  // up to which targets have been marked for edits
  std::map<std::vector<PolicyIx>, uint32_t> set_numbers;
  std::vector<std::unique_ptr<RuleSet>> sets;  // by number

  struct Ranks {
    uint64_t epoch = 0;
    VersionId version;
    std::vector<uint64_t> hashes;  // sorted
  };
  std::map<std::pair<VersionIx, EnvironmentIx>, Ranks> ranks;

  // Rules about other environments that somebody waits for: what they last said.
  struct Watched {
    const BoundRule* rule;
    TargetIx asked_for;   // any target of the environment: the verdict is the same for all
    bool begins_rollout;  // somebody counts from when it allowed
    Verdict verdict;
    std::optional<Time> satisfied_at, next_at;
  };
  std::map<std::tuple<VersionIx, EnvironmentIx, const PolicyRule*>, Watched> watched;
};

Memo& memo_of(const State& state);

}  // namespace ctrlplane::policy
