// What must run on the same resource first: by rule for other deployments, and by what a version says itself.
#include <algorithm>

#include <fmt/core.h>

#include "policy/rules.h"

namespace ctrlplane::policy {
namespace {

class DeploymentDependencyRule final : public Rule {
 public:
  explicit DeploymentDependencyRule(RuleBody& body)
      : terms_{body.selector("dependsOn", Selector::Subject::kDependency),
               body.maybe_selector("appliesTo", Selector::Subject::kDeployment)},
        all_(body.word("require", {"any", "all"}) == "all") {}

  Gate gate() const override { return Gate::kOrder; }
  const DependencyTerms* dependency() const override { return &terms_; }

  bool waived_on_return() const override { return false; }
  bool looks_at_resource() const override { return true; }

  Evaluation evaluate(const Question& q) const override {
    if (!terms_.applies(q.deployment()))
      return words(q, Evaluation::allowed(), "does not apply to this deployment", "");
    size_t selected = 0, met = 0;
    std::string missing;
    for (TargetIx t : q.state.resources[q.slot().resource].targets) {
      const TargetSlot& other = q.state.at(t);
      if (!other.exists || other.deployment == q.slot().deployment) continue;
      const Deployment& deployment = q.state.deployments[other.deployment].row;
      const Version* version = other.current_version ? &q.state.versions[other.current_version].row : nullptr;
      if (!terms_.selects(deployment, version)) continue;
      ++selected;
      if (version) ++met;
      if (!version && (missing.empty() || deployment.name < missing)) missing = deployment.name;
    }
    if (selected == 0)
      return words(q, {.verdict = Verdict::kDenied},
                   "no deployment on this resource is what the rule depends on", "");
    if (all_ ? met == selected : met > 0)
      return words(q, Evaluation::allowed(), "what it depends on is there", "");
    return words(q, {.verdict = Verdict::kPending},
                 fmt::format("{} does not run on this resource yet", missing), missing);
  }

 private:
  static Evaluation words(const Question& q, Evaluation e, std::string_view message,
                          const std::string& missing) {
    if (!q.words) return e;
    e.message = message;
    e.unblock =
        missing.empty() ? "a change of the policy" : fmt::format("a successful deployment of {}", missing);
    return e;
  }

  DependencyTerms terms_;
  bool all_;
};

Evaluation of_dependency(const Question& q, const VersionDependency& need) {
  DeploymentIx d = q.state.deployments.find(need.on);
  std::string name = d ? q.state.deployments[d].row.name : need.on.str();
  // Compiled on each look: versions with dependencies are few, and each is looked at when something changed.
  auto selector = Selector::compile(need.selector, Selector::Subject::kVersionOnly);
  VersionIx current;  // one that does not fit; the newest, so that the words do not depend on an order
  for (TargetIx t : q.state.resources[q.slot().resource].targets) {
    const TargetSlot& other = q.state.at(t);
    if (!d || !other.exists || other.deployment != d || !other.current_version) continue;
    const Version& version = q.state.versions[other.current_version].row;
    if (selector && selector->match({.version = &version}) == Match::kYes) return {};
    if (!current || q.state.versions[current].row.created_at < version.created_at)
      current = other.current_version;
  }
  Evaluation e{.verdict = Verdict::kPending};
  if (!q.words) return e;
  e.message = current ? fmt::format("{} on this resource is {}, which the version does not accept", name,
                                    q.state.versions[current].row.tag)
                      : fmt::format("{} does not run on this resource yet", name);
  JsonWriter w;
  e.details =
      w.open().member("deploymentId", need.on).member("versionSelector", need.selector).close().take();
  e.unblock = fmt::format("a version of {} that matches {}", name, need.selector);
  return e;
}

}  // namespace

bool DependencyTerms::applies(const Deployment& d) const {
  return !applies_to || applies_to->match({.deployment = &d}) == Match::kYes;
}

bool DependencyTerms::selects(const Deployment& d, const Version* v) const {
  static const Version kNone;  // an expression that asks for the version of what runs nothing is false
  return on->match({.deployment = &d, .version = v ? v : &kNone}) == Match::kYes;
}

std::unique_ptr<Rule> make_deployment_dependency(RuleBody& body, const Making&) {
  return std::make_unique<DeploymentDependencyRule>(body);
}

Evaluation evaluate_version_dependencies(const Question& q) {
  for (const VersionDependency& need : q.state.dependencies_of(q.version))
    if (Evaluation e = of_dependency(q, need); e.verdict != Verdict::kAllowed) return e;
  return {};
}

}  // namespace ctrlplane::policy
