// Only inside, or only outside, a recurring window of time.
#include <fmt/core.h>

#include "policy/rules.h"

namespace ctrlplane::policy {
namespace {

class DeploymentWindowRule final : public Rule {
 public:
  DeploymentWindowRule(RuleBody& body, const Making& making) {
    schedule::Recurrence::Options options{
        .rrule = body.text("rrule"),
        .duration = minutes(body.integer("durationMinutes", 1, kMaxMinutes)),
        .zone = body.maybe_text("timezone").value_or("UTC"),
        .anchor = making.created_at};
    allow_ = body.flag("allowWindow", true);
    if (!body.done()) return;
    auto made = schedule::Recurrence::make(options);
    if (made)
      window_ = std::make_unique<schedule::Recurrence>(std::move(*made));
    else
      body.complain(made.error());
  }

  const schedule::Recurrence* window() const override { return window_.get(); }
  bool window_allows() const override { return allow_; }

  Gate gate() const override { return Gate::kStart; }
  Evaluation evaluate(const Question& q) const override {
    // What has never been deployed to is not disturbed by a first deployment.
    if (!q.slot().current_version)
      return words(q, Evaluation::allowed(), "the target has nothing deployed yet");
    auto inside = window_->containing(q.now);
    if (allow_) {
      if (inside) return words(q, Evaluation::allowed(inside->start), "inside the window");
      auto next = window_->next_after(q.now);
      if (!next)
        return words(q, {.verdict = Verdict::kDenied}, "outside the window, and it does not come again");
      return words(q, {.verdict = Verdict::kPending, .next_at = next->start},
                   "outside the window until " + format_rfc3339(next->start));
    }
    if (!inside) return words(q, Evaluation::allowed(), "outside the closed window");
    return words(q, {.verdict = Verdict::kPending, .next_at = inside->end},
                 "inside a closed window until " + format_rfc3339(inside->end));
  }

 private:
  static constexpr int64_t kMaxMinutes = 60 * 24 * 366;

  Evaluation words(const Question& q, Evaluation e, std::string_view message) const {
    if (!q.words) return e;
    e.message = message;
    JsonWriter w;
    w.open().member("allowWindow", allow_);
    e.details = w.member("opensAt", e.next_at).close().take();
    e.unblock = "time, or a policy skip";
    return e;
  }

  std::unique_ptr<schedule::Recurrence> window_;
  bool allow_ = true;
};

}  // namespace

std::unique_ptr<Rule> make_deployment_window(RuleBody& body, const Making& making) {
  return std::make_unique<DeploymentWindowRule>(body, making);
}

}  // namespace ctrlplane::policy
