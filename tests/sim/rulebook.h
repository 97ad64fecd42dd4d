// What the rules of the matching policies say of a version on a target, worked out from committed rows and
// from the rules' description alone: slowly, from scratch, and without any of the policy module's code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/ledger.h"

namespace ctrlplane::sim {

struct No {
  std::string rule;  // its type
  std::string why;
};

// How often a failed attempt may be repeated, of all retry rules that apply.
struct RetryTerms {
  bool any = false;
  int64_t most = 0;
  Duration wait;  // before the next attempt
};

// Inside a bracket rules are asked at different times.
enum class Asked : uint8_t {
  kAll,    // of a target alone
  kAlone,  // of one that a person deploys again, whatever its bracket
  kLock,   // whether a group may lock the version: selectors, approval, progression, cooldown
  kStart,  // whether the group may begin: windows and roll-out
};

class RuleBook {
 public:
  RuleBook(const Ledger& ledger, const TargetKey& target);

  // The first rule that does not let the version start at `now`. `returning`: the target goes back to what
  // ran there before, or runs it; then only selectors and dependencies are asked. `group`: the one that has
  // locked it.
  std::optional<No> refusal(const Version& version, Time now, bool returning, Asked asked = Asked::kAll,
                            const BracketGroup* group = nullptr) const;
  // Does a version selector rule it out, so that a target should leave it? A skip counts though expired.
  bool is_excluded(const Version& version) const;
  // After `failures` in a row, the last one with this status; nullopt: that status is not repeated.
  std::optional<RetryTerms> retry_terms(int64_t failures, JobStatus last) const;

  // Has a person said that the rule is not to stand in the version's way?
  bool is_skipped(RuleId rule, const Version& version, Time now) const;

  size_t size() const { return rules_.size(); }
  const std::vector<const PolicyRule*>& rules() const { return rules_; }

 private:
  struct Verdict {
    std::string no;  // empty: allowed
    Time since;      // when it began to allow
  };
  const PolicySkip* skip_of(RuleId rule, const Version& v, std::optional<Time> now) const;
  Verdict ask(const PolicyRule& rule, const Version& v, Time now, const BracketGroup* group = nullptr) const;
  Verdict approval(const PolicyRule& rule, const Version& v) const;
  Verdict window(const PolicyRule& rule, Time now) const;
  Verdict cooldown(const PolicyRule& rule, const Version& v, Time now) const;
  Verdict progression(const PolicyRule& rule, const Version& v, Time now) const;
  Verdict proof(const PolicyRule& rule, const Version& v, EnvironmentId other, Time now) const;
  Verdict rollout(const PolicyRule& rule, const Version& v, Time now) const;
  Verdict bracket_rollout(const PolicyRule& rule, const Version& v, Time now,
                          const BracketGroup* group) const;
  Verdict turn(const PolicyRule& rule, const Version& v, Time start, Time now, int64_t position,
               int64_t count) const;
  bool is_beside_bracket(const PolicyRule& rollout) const;
  Verdict dependency(const PolicyRule& rule) const;
  Duration open_time(const Version& v, Time from, Time now) const;
  std::string missing_dependency(const Version& v) const;

  const Ledger& ledger_;
  TargetKey target_;
  std::vector<const PolicyRule*> rules_;  // of all enabled policies that match
};

}  // namespace ctrlplane::sim
