// All rules together: may this version be started on this target now, and if not, why?
#pragma once

#include <string>
#include <vector>

#include "policy/rule.h"

namespace ctrlplane::policy {

// The rules that apply to the target. Which policies match is kept with the target until a policy or what it
// looks at changes.
const RuleSet& rules_of(const State& state, TargetIx target);

// Which rules do not count.
enum class Waiver : uint8_t {
  kNone,
  kReturn,  // the target goes back to what ran here before
};

// Which rules are asked. Capacity is never among them: admission asks for it after everything else.
enum class Ask : uint8_t {
  kAll,
  kLock,   // those about versions: may a bracket group lock it? No freeze stands in the way of that
  kStart,  // those about when: may a group that has locked it begin?
};

struct Judgement {
  Verdict verdict = Verdict::kAllowed;
  bool needs_approval = false;
  bool excluded = false;  // the no is one that takes away what is desired, not one to wait for
  bool frozen = false;    // a freeze says no; its end wakes the target
  std::optional<Time> next_at = {};
  std::optional<Time> since = {};  // allowed: the latest moment at which a rule was satisfied
};
// Asks whether it is frozen, then the rules cheapest first, and stops at the first no.
Judgement judge(const State& state, Time now, TargetIx target, VersionIx version, Waiver waiver,
                Ask ask = Ask::kAll, GroupIx group = {});

// One rule of a policy; null: it has none with that id, or it cannot be read.
const Rule* rule_of(const State& state, PolicyIx policy, RuleId rule);

// Does a rule rule it out for good, so that a target that runs it should leave it? A skip that has expired
// since still counts: its end reverts nothing.
bool is_excluded(const State& state, Time now, TargetIx target, VersionIx version);

struct Explained {
  std::string type;                // of the rule; "freeze", "targetSelector", "versionDependency": always on
  const Policy* policy = nullptr;  // null for what is always on
  const PolicyRule* rule = nullptr;
  const PolicySkip* skip = nullptr;
  Evaluation evaluation;
};
// Asks all of them, with words.
std::vector<Explained> explain(const State& state, Time now, TargetIx target, VersionIx version,
                               Waiver waiver);
// The no that judge stops at, with words; nothing if it is allowed.
std::optional<Explained> first_no(const State& state, Time now, TargetIx target, VersionIx version,
                                  Waiver waiver, Ask ask = Ask::kAll, GroupIx group = {});

// ---- Waking those who wait for what happens elsewhere --------------------------------------------------
// A version has become current on the target: marks whom that concerns.
void note_success(State& state, Time now, TargetIx target, VersionIx version);
// An attempt of the version ended otherwise on the target, for the first time in this way.
void note_ending(State& state, Time now, TargetIx target, VersionIx version, JobStatus status);
// A version's status has changed: it may be what other deployments ask for of this one.
void note_version(State& state, VersionIx version);
// Has a policy, environment or deployment been edited since note_edit? Then which rules match and what they
// say of any target may be different.
bool is_edited(const State& state);
void note_edit(State& state);
// Targets of (deployment, environment) came or went: shares and places have changed.
void note_membership(State& state, Time now, DeploymentIx deployment, EnvironmentIx environment);
// Targets of the environment have entered or left the version's scope.
void note_scope(State& state, Time now, VersionIx version, EnvironmentIx environment);

// Is the skip still needed after it has expired, for what runs thanks to it?
bool outlives_expiry(const State& state, SkipId skip);

}  // namespace ctrlplane::policy
