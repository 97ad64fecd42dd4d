// What the policy module remembers with a state: derived, never stored, thrown away when what it was worked
// out from has changed.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "policy/rule.h"

namespace ctrlplane::policy {

struct Memo {
  uint32_t epoch = 0;  // of the policies; another one makes `candidates`, `sets` and `watched` worthless
  uint32_t noted_epoch = 0;  // up to which targets have been marked for edits
  // What may match a target of (deployment, environment): so that only selectors which look at the resource
  // are asked of each.
  struct Candidate {
    PolicyIx policy;
    const Selector* asks_resource = nullptr;  // null: matches every resource there
  };
  std::map<std::pair<DeploymentIx, EnvironmentIx>, std::vector<Candidate>> candidates;
  std::map<std::vector<PolicyIx>, uint32_t> set_numbers;
  std::vector<std::unique_ptr<RuleSet>> sets;  // by number

  struct Ranks {
    uint64_t epoch = 0;
    VersionId version;
    std::vector<uint64_t> hashes;  // sorted
  };
  std::map<std::pair<VersionIx, EnvironmentIx>, Ranks> ranks;

  struct BracketRanks {
    uint64_t epoch = UINT64_MAX;
    uint32_t policy_epoch = 0;
    std::vector<uint64_t> hashes;  // of the bracket's resources in the environment, sorted
  };
  // With the versions whose scopes limit who takes part; without: everyone does.
  std::map<std::tuple<RuleId, EnvironmentIx, std::vector<VersionIx>>, BracketRanks> bracket_ranks;
  size_t forget_brackets_of(VersionIx v) {
    return std::erase_if(bracket_ranks, [&](const auto& entry) {
      const auto& scoped = std::get<2>(entry.first);
      return std::find(scoped.begin(), scoped.end(), v) != scoped.end();
    });
  }

  // Rules about other environments that somebody waits for: what they last said.
  struct Watched {
    const BoundRule* rule;
    TargetIx asked_for;   // any target of the environment: the verdict is the same for all
    bool begins_rollout;  // somebody counts from when it allowed
    Verdict verdict;
    std::optional<Time> satisfied_at, next_at;
  };
  std::map<std::tuple<VersionIx, EnvironmentIx, const PolicyRule*>, Watched> watched;
  // Those that said yes to somebody who may stand in line for a slot since: it leaves the line if they say
  // no.
  struct Granted {
    const BoundRule* rule;
    TargetIx asked_for;
  };
  std::map<std::tuple<VersionIx, EnvironmentIx, const PolicyRule*>, Granted> granted;

  // Turns after a freeze that was thawed with a pace. Lost with the memory: whoever still waits gets another
  // one, at the same pace.
  struct Pace {
    Time next;
    std::map<TargetKey, Time> turns;
  };
  std::map<FreezeId, Pace> paces;

  // Targets that were told no for what runs, or does not, beside them on their resource: by TargetIx. No
  // epoch ends it: whoever is in it for no reason any more is looked at once for nothing.
  std::vector<bool> awaits_resource;
  void wait_for_resource(TargetIx t) {
    if (t.n >= awaits_resource.size()) awaits_resource.resize(t.n + 1);
    awaits_resource[t.n] = true;
  }
  // Has it waited?
  bool stop_waiting(TargetIx t) {
    const bool waited = t.n < awaits_resource.size() && awaits_resource[t.n];
    if (waited) awaits_resource[t.n] = false;
    return waited;
  }
};

Memo& memo_of(const State& state);

}  // namespace ctrlplane::policy
