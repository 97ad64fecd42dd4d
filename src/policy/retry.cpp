// How often a failed attempt is repeated, which failures make a target go back, and what is only kept for
// others. None of them says anything about a version before its first attempt.
#include <algorithm>

#include "policy/rules.h"

namespace ctrlplane::policy {
namespace {

constexpr int64_t kMaxSeconds = 366ll * 24 * 3600;

class RetryRule final : public Rule {
 public:
  explicit RetryRule(RuleBody& body) {
    terms_.max_retries = body.integer("maxRetries", 0, 1000);
    terms_.on = body.maybe_statuses("retryOnStatuses")
                    .value_or(std::vector{JobStatus::kFailure, JobStatus::kInvalidIntegration,
                                          JobStatus::kInvalidJobAgent});
    terms_.backoff = seconds(body.maybe_integer("backoffSeconds", 0, kMaxSeconds).value_or(0));
    terms_.exponential = body.word("backoffStrategy", {"linear", "exponential"}) == "exponential";
    if (auto most = body.maybe_integer("maxBackoffSeconds", 0, kMaxSeconds))
      terms_.max_backoff = seconds(*most);
    if (std::count(terms_.on.begin(), terms_.on.end(), JobStatus::kSuccessful) > 0)
      body.complain("retryOnStatuses", "a success ends the chain of attempts: it is never repeated");
  }
  Evaluation evaluate(const Question&) const override { return {}; }
  const RetryTerms* retry() const override { return &terms_; }

 private:
  RetryTerms terms_;
};

class RollbackRule final : public Rule {
 public:
  explicit RollbackRule(RuleBody& body) {
    if (body.flag("onVerificationFailure", false))
      body.complain("onVerificationFailure", "verifications are not made yet, so nothing could fail them");
    on_ = body.maybe_statuses("onJobStatuses")
              .value_or(std::vector{JobStatus::kFailure, JobStatus::kInvalidIntegration,
                                    JobStatus::kInvalidJobAgent, JobStatus::kExternalRunNotFound});
    if (std::count(on_.begin(), on_.end(), JobStatus::kSuccessful) > 0)
      body.complain("onJobStatuses", "a success is no reason to go back");
  }
  Evaluation evaluate(const Question&) const override { return {}; }
  const std::vector<JobStatus>* rollback() const override { return &on_; }

 private:
  std::vector<JobStatus> on_;
};

class PlanValidationRule final : public Rule {
 public:
  explicit PlanValidationRule(RuleBody& body) {
    body.text("name");
    body.text("rego");
  }
  Evaluation evaluate(const Question&) const override { return {}; }
};

}  // namespace

Duration RetryTerms::wait_before(int64_t attempt) const {
  int64_t factor = exponential ? int64_t{1} << std::clamp<int64_t>(attempt - 1, 0, 40) : 1;
  Duration wait = backoff.us > 0 && factor > kMaxSeconds * 1'000'000 / backoff.us ? seconds(kMaxSeconds)
                                                                                  : backoff * factor;
  return max_backoff ? std::min(wait, *max_backoff) : wait;
}

std::unique_ptr<Rule> make_retry(RuleBody& body, const Making&) { return std::make_unique<RetryRule>(body); }
std::unique_ptr<Rule> make_rollback(RuleBody& body, const Making&) {
  return std::make_unique<RollbackRule>(body);
}
std::unique_ptr<Rule> make_plan_validation(RuleBody& body, const Making&) {
  return std::make_unique<PlanValidationRule>(body);
}

}  // namespace ctrlplane::policy
