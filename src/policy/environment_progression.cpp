// The version must have proved itself in other environments first.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "policy/rules.h"

namespace ctrlplane::policy {
namespace {

struct Proof {  // of one environment
  uint32_t targets = 0, needed = 0, succeeded = 0;
  Time latest;
};

class EnvironmentProgressionRule final : public Rule {
 public:
  explicit EnvironmentProgressionRule(RuleBody& body)
      : environments_(body.selector("dependsOnEnvironmentSelector", Selector::Subject::kEnvironment)) {
    percentage_ = body.maybe_number("minimumSuccessPercentage", 0, 100).value_or(100);
    soak_ = minutes(body.maybe_integer("minimumSoakTimeMinutes", 0, kMaxMinutes).value_or(0));
    if (auto age = body.maybe_integer("maximumAgeHours", 0, kMaxMinutes)) max_age_ = hours(*age);
    any_ = body.word("mode", {"all", "any"}) == "any";
    if (auto statuses = body.maybe_statuses("successStatuses")) statuses_ = *std::move(statuses);
    plain_ = std::all_of(statuses_.begin(), statuses_.end(),
                         [](JobStatus s) { return s == JobStatus::kSuccessful; });
    out_of_scope_denies_ = body.word("outOfScope", {"allow", "deny"}) == "deny";
    if (body.flag("requireVerificationPassed", false))
      body.complain("requireVerificationPassed",
                    "verifications are not made yet, so nothing could pass them");
  }

  bool starts_rollout() const override { return true; }
  bool looks_at_environments() const override { return true; }
  bool looks_at_environment(const Environment& e) const override {
    return environments_->match({.environment = &e}) == Match::kYes;
  }
  bool looks_at_ending(JobStatus s) const override {
    return std::find(statuses_.begin(), statuses_.end(), s) != statuses_.end();
  }

  Evaluation evaluate(const Question& q) const override {
    std::vector<EnvironmentIx> others = before(q);
    if (others.empty()) {
      Evaluation e{.verdict = Verdict::kDenied};
      if (q.words) e.message = "no other environment of the deployment's systems matches the rule";
      if (q.words) e.unblock = "a change of the policy, or an environment that matches it";
      return e;
    }
    std::optional<Evaluation> worst, best;
    for (EnvironmentIx other : others) {
      Evaluation e = of(q, other);
      if (!worst || is_worse(e, *worst)) worst = e;
      if (!best || is_worse(*best, e)) best = e;
    }
    return any_ ? *best : *worst;
  }

 private:
  static constexpr int64_t kMaxMinutes = 60 * 24 * 366;

  // Matching environments that share a system with the target's own and with the deployment.
  std::vector<EnvironmentIx> before(const Question& q) const {
    std::vector<EnvironmentIx> found;
    EnvironmentIx own = q.slot().environment;
    const auto& own_systems = q.state.environments[own].members.systems;
    for (SystemIx s : q.state.deployments[q.slot().deployment].members.systems) {
      if (std::count(own_systems.begin(), own_systems.end(), s) == 0) continue;
      for (EnvironmentIx other : q.state.systems[s].environments)
        if (other != own && std::count(found.begin(), found.end(), other) == 0 &&
            looks_at_environment(q.state.environments[other].row))
          found.push_back(other);
    }
    // So that of several that say no the same one is named each time.
    auto id = [&](EnvironmentIx e) { return q.state.environments[e].row.id; };
    std::sort(found.begin(), found.end(), [&](EnvironmentIx a, EnvironmentIx b) { return id(a) < id(b); });
    return found;
  }

  static bool is_worse(const Evaluation& a, const Evaluation& b) {
    if (a.verdict != b.verdict) return a.verdict > b.verdict;
    if (a.verdict == Verdict::kAllowed)
      return a.satisfied_at.value_or(Time{}) > b.satisfied_at.value_or(Time{});
    return a.next_at.value_or(Time::never()) > b.next_at.value_or(Time::never());
  }

  Evaluation of(const Question& q, EnvironmentIx other) const {
    DeploymentIx d = q.slot().deployment;
    // Successes are counted as they come; other ends are looked for.
    auto success =
        plain_ ? q.state.successes(d, other, q.version) : q.state.endings(d, other, q.version, statuses_);
    Proof p{.targets = q.state.targets_in(d, other, q.version),
            .succeeded = success.count,
            .latest = success.latest};
    if (p.targets == 0 && out_of_scope_denies_ && q.candidate().target_selector)
      return words(q, other, {.verdict = Verdict::kDenied}, p, "the version is for none of its targets");
    p.needed = static_cast<uint32_t>(std::ceil(p.targets * percentage_ / 100.0 - 1e-9));
    if (percentage_ > 0 && p.targets > 0) p.needed = std::max(p.needed, 1u);
    if (p.targets == 0 || p.needed == 0)
      return words(q, other, Evaluation::allowed(q.candidate().created_at), p, "nothing to prove there");
    if (p.succeeded < p.needed) return words(q, other, {.verdict = Verdict::kPending}, p, "");
    Time ready = p.latest + soak_;
    if (q.now < ready)
      return words(q, other, {.verdict = Verdict::kPending, .next_at = ready}, p,
                   "soaks until " + format_rfc3339(ready));
    if (!max_age_) return words(q, other, Evaluation::allowed(ready), p, "");
    Time stale = p.latest + *max_age_;
    if (q.now >= stale)
      return words(q, other, {.verdict = Verdict::kDenied}, p, "its success there is too old");
    Evaluation e = Evaluation::allowed(ready);
    e.next_at = stale;
    return words(q, other, e, p, "");
  }

  Evaluation words(const Question& q, EnvironmentIx other, Evaluation e, const Proof& p,
                   std::string_view note) const {
    if (!q.words) return e;
    const std::string& name = q.state.environments[other].row.name;
    e.message = fmt::format("{} succeeded on {} of {} targets in {}, {} needed{}{}", q.candidate().tag,
                            p.succeeded, p.targets, name, p.needed, note.empty() ? "" : "; ", note);
    JsonWriter w;
    w.open().member("environment", name).member("targets", p.targets).member("succeeded", p.succeeded);
    e.details = w.member("needed", p.needed).close().take();
    e.unblock = e.next_at ? "time" : fmt::format("more successes in {}", name);
    return e;
  }

  std::shared_ptr<const Selector> environments_;
  double percentage_ = 100;
  std::vector<JobStatus> statuses_ = {JobStatus::kSuccessful};  // that count as a success
  bool plain_ = true;                                           // only that one
  Duration soak_;
  std::optional<Duration> max_age_;
  bool any_ = false;
  bool out_of_scope_denies_ = false;  // a scoped version has to be proved there too
};

}  // namespace

std::unique_ptr<Rule> make_environment_progression(RuleBody& body, const Making&) {
  return std::make_unique<EnvironmentProgressionRule>(body);
}

}  // namespace ctrlplane::policy
