#include "policy/registry.h"

#include <fmt/core.h>

#include "policy/compiled.h"
#include "policy/rules.h"

namespace ctrlplane::policy {
namespace {

struct Kind {
  std::string_view type;
  int cost;  // cheap ones are asked first
  Maker make;
};

// Cost 3 also stands for what versions say of themselves (version dependencies).
constexpr Kind kKinds[] = {
    {"versionSelector", 1, make_version_selector},
    {"anyApproval", 1, make_any_approval},
    {"deploymentWindow", 2, make_deployment_window},
    {"versionCooldown", 2, make_version_cooldown},
    {"environmentProgression", 3, make_environment_progression},
    {"deploymentBracket", 4, make_deployment_bracket},
    {"gradualRollout", 5, make_gradual_rollout},
    {"deploymentDependency", 6, make_deployment_dependency},
    {"retry", 7, make_retry},
    {"rollback", 7, make_rollback},
    {"planValidationOpa", 7, make_plan_validation},
    {"resourceConcurrency", 8, make_resource_concurrency},
};

const Kind* find(std::string_view type) {
  for (const Kind& k : kKinds)
    if (k.type == type) return &k;
  return nullptr;
}

}  // namespace

std::vector<std::string_view> rule_types() {
  std::vector<std::string_view> all;
  for (const Kind& k : kKinds) all.push_back(k.type);
  return all;
}

Status validate_rule(std::string_view path, std::string_view type, const Json& body) {
  const Kind* kind = find(type);
  if (!kind) {
    if (type == "verification")
      return invalid(std::string(path), "verification rules are not enforced yet, so they are not accepted");
    return invalid(std::string(path), fmt::format("'{}' is no kind of rule", type));
  }
  RuleBody reader(fmt::format("{}.{}", path, type), body);
  kind->make(reader, {});
  return reader.done();
}

CompiledRule compile_rule(const PolicyRule& row) {
  const Kind* kind = find(row.type);
  if (!kind) return {};
  RuleBody reader("", row.body);
  auto rule = kind->make(reader, {.created_at = row.created_at});
  if (!reader.done()) return {};
  return {std::move(rule), kind->cost};
}

}  // namespace ctrlplane::policy
