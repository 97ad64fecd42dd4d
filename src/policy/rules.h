// The makers of the kinds of rules, one unit each. They read the body and complain to it; the result of one
// that complained is thrown away.
#pragma once

#include "policy/rule.h"
#include "policy/rule_body.h"

namespace ctrlplane::policy {

// What a maker is told beside the body.
struct Making {
  Time created_at;  // of the rule: windows are anchored to it
};
using Maker = std::unique_ptr<Rule> (*)(RuleBody& body, const Making& making);

std::unique_ptr<Rule> make_version_selector(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_any_approval(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_deployment_window(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_version_cooldown(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_environment_progression(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_gradual_rollout(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_deployment_dependency(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_deployment_bracket(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_resource_concurrency(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_retry(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_rollback(RuleBody& body, const Making& making);
std::unique_ptr<Rule> make_plan_validation(RuleBody& body, const Making& making);

// Always on: what the version itself says it needs of other deployments on the resource.
Evaluation evaluate_version_dependencies(const Question& q);

}  // namespace ctrlplane::policy
