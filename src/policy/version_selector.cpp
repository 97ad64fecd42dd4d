// Only versions that an expression over version, environment, resource and deployment is true for.
#include <fmt/core.h>

#include "policy/rules.h"

namespace ctrlplane::policy {
namespace {

class VersionSelectorRule final : public Rule {
 public:
  explicit VersionSelectorRule(RuleBody& body)
      : selector_(body.selector("selector", Selector::Subject::kVersion)),
        text_(body.text("selector")),
        description_(body.maybe_text("description").value_or("")) {}

  bool waived_on_return() const override { return false; }
  bool excludes() const override { return true; }

  Evaluation evaluate(const Question& q) const override {
    Match m = selector_->match({.resource = &q.resource(),
                                .deployment = &q.deployment(),
                                .environment = &q.environment(),
                                .version = &q.candidate()});
    if (m == Match::kYes) return words(q, Evaluation::allowed(), "matches");
    return words(q, {.verdict = Verdict::kDenied},
                 m == Match::kNo ? "does not match" : "cannot be evaluated against");
  }

 private:
  Evaluation words(const Question& q, Evaluation e, std::string_view how) const {
    if (!q.words) return e;
    e.message = fmt::format("version {} {} the selector {}", q.candidate().tag, how,
                            description_.empty() ? text_ : description_);
    JsonWriter w;
    e.details = w.open().member("selector", text_).close().take();
    e.unblock = "a change of the policy, or another version";
    return e;
  }

  std::shared_ptr<const Selector> selector_;
  std::string text_, description_;
};

}  // namespace

std::unique_ptr<Rule> make_version_selector(RuleBody& body, const Making&) {
  return std::make_unique<VersionSelectorRule>(body);
}

}  // namespace ctrlplane::policy
