// What a rule is: a pure function from a question about (state, now, target, version) to a verdict.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/json_writer.h"
#include "model/policy.h"
#include "schedule/recurrence.h"
#include "state/state.h"

namespace ctrlplane::policy {

enum class Verdict : uint8_t {
  kAllowed,
  kPending,  // something will change it: a time, an approval, a job's end
  kDenied,   // only a change of rule, version or status will
};
std::string_view to_string(Verdict v);

struct Evaluation {
  Verdict verdict = Verdict::kAllowed;
  bool needs_approval = false;            // pending on people
  std::optional<Time> satisfied_at = {};  // since when it allows, where that can be said
  std::optional<Time> next_at = {};       // when to look again, if time alone can change it
  // For people and programs; filled only if the question asks for words.
  std::string message = {};
  std::string details = {};  // a JSON object, or empty
  std::string unblock = {};  // who or what can change it

  static Evaluation allowed(std::optional<Time> since = {}) { return {.satisfied_at = since}; }
};

struct RuleSet;

struct Question {
  const State& state;
  Time now;
  TargetIx target;
  VersionIx version;
  const RuleSet* rules = nullptr;    // all that apply to the target
  const PolicyRule* rule = nullptr;  // the one that is asked; null for what is always on
  bool words = false;
  GroupIx group = {};  // that asks for its member; none: whichever has locked the version

  const TargetSlot& slot() const { return state.at(target); }
  const Deployment& deployment() const { return state.deployments[slot().deployment].row; }
  const Environment& environment() const { return state.environments[slot().environment].row; }
  const Resource& resource() const { return state.resources[slot().resource].row; }
  const Version& candidate() const { return state.versions[version].row; }
};

// How often and when a failed attempt is repeated.
struct RetryTerms {
  int64_t max_retries = 0;
  std::vector<JobStatus> on;
  Duration backoff;
  bool exponential = false;
  std::optional<Duration> max_backoff;

  Duration wait_before(int64_t attempt) const;  // attempt: how many have failed
};

// What a rule decides about. Inside a bracket these are asked at different times.
enum class Gate : uint8_t {
  kVersion,   // whether a version is good enough
  kStart,     // when work begins
  kOrder,     // what must run before
  kBracket,   // that deployments go together
  kCapacity,  // how many resources at a time; asked by admission alone, after everything else
};

// What runs together, and how. Selectors are null in terms that were read for a group that has closed.
struct BracketTerms {
  std::shared_ptr<const Selector> members, pre_hooks, post_hooks;
  enum class Readiness : uint8_t { kWindow, kAll, kImmediate } readiness = Readiness::kWindow;
  enum class Unchanged : uint8_t { kSkip, kRedeploy, kRequireAll } unchanged = Unchanged::kSkip;
  enum class Overlap : uint8_t { kQueue, kMerge } overlap = Overlap::kQueue;
  enum class Rollback : uint8_t { kAll, kIndividual, kHalt } rollback = Rollback::kAll;
  Duration window;
  std::optional<Duration> stuck_timeout;

  bool names_hooks() const { return pre_hooks || post_hooks; }
};

struct ConcurrencyTerms {
  bool percentage = true;
  int64_t value = 0;
  int64_t most_of(uint64_t total) const;
};

struct DependencyTerms {
  std::shared_ptr<const Selector> on, applies_to;
  bool applies(const Deployment& d) const;
  // May the version be null: then an expression that asks for it is false.
  bool selects(const Deployment& d, const Version* v) const;
};

class Rule {
 public:
  virtual ~Rule() = default;
  virtual Evaluation evaluate(const Question& q) const = 0;
  virtual Gate gate() const { return Gate::kVersion; }

  // ---- What others need to know of it ------------------------------------------------------------------
  // A version that was current here before passes this rule when the target goes back to it.
  virtual bool waived_on_return() const { return true; }
  // A no of it holds for ever: a version that runs where it says no is to be left.
  virtual bool excludes() const { return false; }
  virtual const RetryTerms* retry() const { return nullptr; }
  virtual const std::vector<JobStatus>* rollback() const { return nullptr; }
  virtual const BracketTerms* bracket() const { return nullptr; }
  virtual const ConcurrencyTerms* concurrency() const { return nullptr; }
  virtual const DependencyTerms* dependency() const { return nullptr; }
  // Allow windows and deny windows, for clocks that stand still outside or inside them.
  virtual const schedule::Recurrence* window() const { return nullptr; }
  virtual bool window_allows() const { return true; }
  // Its verdict's satisfied_at is a start of a rollout.
  virtual bool starts_rollout() const { return false; }
  // Looks at other deployments on the resource.
  virtual bool looks_at_resource() const { return false; }
  // Gives out turns, counted from when the gates before it were passed.
  virtual bool is_rollout() const { return false; }
  // Looks at how a version fares in other environments, and in this one.
  virtual bool looks_at_environments() const { return false; }
  virtual bool looks_at_environment(const Environment&) const { return false; }
  // An attempt there that ended so, otherwise than successfully, may change what it says.
  virtual bool looks_at_ending(JobStatus) const { return false; }
};

struct BoundRule {
  const Rule* rule = nullptr;
  const PolicyRule* row = nullptr;
  PolicyIx policy;
  int cost = 0;
};

// The rules of all policies that match a target, cheapest first.
struct RuleSet {
  std::vector<BoundRule> rules;
  std::vector<const RetryTerms*> retries;
  std::vector<const std::vector<JobStatus>*> rollbacks;
  bool looks_at_resource = false;
  bool excludes = false;
  bool has_rollout = false;
  std::vector<const BoundRule*> brackets;  // the one that counts most first
  std::vector<const BoundRule*> limits;
  // Which of the brackets a deployment belongs to; null: none.
  mutable std::map<DeploymentIx, const BoundRule*> bracket_of;
};

}  // namespace ctrlplane::policy
