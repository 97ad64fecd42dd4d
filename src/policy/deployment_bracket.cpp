// Deployments that run as a unit on each resource. The rule only reads: a version goes when a group has
// locked it, and what makes groups is the reconcile step (engine/brackets).
#include <fmt/core.h>

#include "policy/brackets.h"
#include "policy/rule_body.h"
#include "policy/rules.h"

namespace ctrlplane::policy {
namespace {

constexpr int64_t kMaxSeconds = 366ll * 24 * 3600;

// All but the selectors.
BracketTerms read_terms(RuleBody& body) {
  BracketTerms terms;
  const std::string readiness =
      body.word("readinessMode", {"collection_window", "wait_for_all", "immediate"});
  if (readiness == "wait_for_all") terms.readiness = BracketTerms::Readiness::kAll;
  if (readiness == "immediate") terms.readiness = BracketTerms::Readiness::kImmediate;
  const std::string unchanged =
      body.word("unchangedMemberStrategy", {"skip_unchanged", "redeploy_current", "require_all"});
  if (unchanged == "redeploy_current") terms.unchanged = BracketTerms::Unchanged::kRedeploy;
  if (unchanged == "require_all") terms.unchanged = BracketTerms::Unchanged::kRequireAll;
  if (body.word("overlapStrategy", {"queue", "merge"}) == "merge")
    terms.overlap = BracketTerms::Overlap::kMerge;
  const std::string rollback =
      body.word("rollbackStrategy", {"all_members", "individual", "halt_and_notify"});
  if (rollback == "individual") terms.rollback = BracketTerms::Rollback::kIndividual;
  if (rollback == "halt_and_notify") terms.rollback = BracketTerms::Rollback::kHalt;
  const bool immediate = terms.readiness == BracketTerms::Readiness::kImmediate;
  if (auto window = body.maybe_integer("readinessWindowSeconds", 0, kMaxSeconds))
    terms.window = seconds(*window);
  else if (!immediate)
    body.complain("readinessWindowSeconds", fmt::format("is required with readinessMode {}", readiness));
  if (auto timeout = body.maybe_integer("stuckTimeoutSeconds", 1, kMaxSeconds))
    terms.stuck_timeout = seconds(*timeout);
  if (immediate && terms.unchanged == BracketTerms::Unchanged::kRequireAll)
    body.complain("unchangedMemberStrategy",
                  "require_all waits for every member, and readinessMode immediate for none");
  return terms;
}

class DeploymentBracketRule final : public Rule {
 public:
  explicit DeploymentBracketRule(RuleBody& body) : terms_(read_terms(body)) {
    terms_.members = body.selector("deploymentSelector", Selector::Subject::kDeployment);
    terms_.pre_hooks = body.maybe_selector("preHookSelector", Selector::Subject::kDeployment);
    terms_.post_hooks = body.maybe_selector("postHookSelector", Selector::Subject::kDeployment);
  }

  Gate gate() const override { return Gate::kBracket; }
  const BracketTerms* bracket() const override { return &terms_; }

  Evaluation evaluate(const Question& q) const override {
    const BoundRule* own = bracket_of(q.state, q.target);
    if (!own || own->row != q.rule)
      return words(q, Evaluation::allowed(), own ? "another bracket has this deployment" : "not a member",
                   "");
    if (q.slot().current_version == q.version)
      return words(q, Evaluation::allowed(), "runs here already", "");
    if (GroupIx g = group_locking(q.state, q.target, q.version);
        g && q.state.groups[g].row.status != GroupStatus::kQueued) {
      const BracketGroup& row = q.state.groups[g].row;
      return words(q, Evaluation::allowed(row.ready_at),
                   fmt::format("locked by bracket group {}", row.id.str()), "", &row);
    }
    return pending(q);
  }

 private:
  static Evaluation pending(const Question& q) {
    Evaluation e{.verdict = Verdict::kPending};
    const BracketGroup *active = nullptr, *collecting = nullptr, *other = nullptr;
    for (GroupIx g : open_groups(q.state, q.rule->id, q.slot().resource)) {
      const BracketGroup& row = q.state.groups[g].row;
      if (row.active()) active = &row;
      if (row.status == GroupStatus::kCollecting) collecting = &row;
      other = &row;
    }
    if (collecting) e.next_at = collecting->collection_ends_at;
    if (!q.words) return e;
    if (collecting)
      return words(
          q, e, fmt::format("Collection window closes at {}", format_rfc3339(collecting->collection_ends_at)),
          "time, or an operator's close_now on the group", collecting);
    if (active)
      return words(q, e, fmt::format("Bracket group {} executing on this resource", active->id.str()),
                   "the end of that group", active);
    if (const Quarantine* in = q.state.quarantine(q.rule->id, q.resource().id))
      return words(q, e, fmt::format("the resource is in quarantine since {}", format_rfc3339(in->since)),
                   "an operator's clear_quarantine");
    if (other)
      return words(q, e, fmt::format("Bracket group {} goes first on this resource", other->id.str()),
                   "the start of that group", other);
    return words(q, e, "no group of its bracket has locked it", "its other rules");
  }

  static Evaluation words(const Question& q, Evaluation e, std::string_view message, std::string_view unblock,
                          const BracketGroup* group = nullptr) {
    if (!q.words) return e;
    e.message = message;
    e.unblock = unblock;
    if (!group) return e;
    JsonWriter w;
    w.open().member("groupId", group->id).member("status", to_string(group->status));
    w.member("collectionEndsAt", group->collection_ends_at).member("readyAt", group->ready_at);
    e.details = w.close().take();
    return e;
  }

  BracketTerms terms_;
};

}  // namespace

BracketTerms terms_of(const BracketGroup& group) {
  RuleBody body("", group.terms);
  return read_terms(body);
}

std::unique_ptr<Rule> make_deployment_bracket(RuleBody& body, const Making&) {
  return std::make_unique<DeploymentBracketRule>(body);
}

}  // namespace ctrlplane::policy
