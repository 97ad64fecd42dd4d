// So many people must have approved the version for the environment.
#include <algorithm>

#include <fmt/core.h>

#include "policy/rules.h"

namespace ctrlplane::policy {
namespace {

class AnyApprovalRule final : public Rule {
 public:
  explicit AnyApprovalRule(RuleBody& body) : needed_(body.integer("minApprovals", 0, 1000)) {
    no_self_ = body.flag("noSelfApproval", false);
    if (auto roles = body.maybe_texts("approverRoles")) {
      for (const std::string& word : *roles) {
        auto role = parse_enum<Role>(word);
        if (!role) body.complain("approverRoles", fmt::format("'{}' is no role", word));
        if (role) roles_.push_back(*role);
      }
      if (roles_.empty()) body.complain("approverRoles", "must name a role");
    }
  }

  bool starts_rollout() const override { return true; }

  Evaluation evaluate(const Question& q) const override {
    const Version& version = q.candidate();
    if (q.rule && version.created_at < q.rule->created_at)
      return words(q, Evaluation::allowed(version.created_at), {}, "the version is older than the rule");
    if (needed_ == 0) return words(q, Evaluation::allowed(version.created_at), {}, "no approval is needed");
    std::vector<Time> given;
    std::string rejected_by;
    for (const Approval& a : q.state.approvals_of(q.version, q.slot().environment)) {
      if (!counts(a, version)) continue;
      if (a.status == ApprovalStatus::kApproved) given.push_back(a.at);
      if (a.status == ApprovalStatus::kRejected) rejected_by = a.actor;
    }
    std::sort(given.begin(), given.end());
    if (static_cast<int64_t>(given.size()) >= needed_)
      return words(q, Evaluation::allowed(given[static_cast<size_t>(needed_ - 1)]), given, "");
    std::string why = rejected_by.empty() ? "" : fmt::format("; {} said no", rejected_by);
    return words(q, {.verdict = Verdict::kPending, .needs_approval = true}, given, why);
  }

 private:
  bool counts(const Approval& a, const Version& version) const {
    if (no_self_ && a.actor == version.created_by) return false;
    return roles_.empty() || (a.role && std::count(roles_.begin(), roles_.end(), *a.role) > 0);
  }

  Evaluation words(const Question& q, Evaluation e, const std::vector<Time>& given,
                   std::string_view note) const {
    if (!q.words) return e;
    bool counted = e.verdict == Verdict::kPending || !given.empty();
    e.message = counted ? fmt::format("{} of {} approvals for {} in {}{}", given.size(), needed_,
                                      q.candidate().tag, q.environment().name, note)
                        : std::string(note);
    JsonWriter w;
    e.details = w.open().member("approvals", given.size()).member("minApprovals", needed_).close().take();
    if (e.verdict != Verdict::kAllowed)
      e.unblock = fmt::format("{} more approval{}", needed_ - static_cast<int64_t>(given.size()),
                              needed_ - static_cast<int64_t>(given.size()) == 1 ? "" : "s");
    return e;
  }

  int64_t needed_;
  bool no_self_ = false;
  std::vector<Role> roles_;
};

}  // namespace

std::unique_ptr<Rule> make_any_approval(RuleBody& body, const Making&) {
  return std::make_unique<AnyApprovalRule>(body);
}

}  // namespace ctrlplane::policy
