#include "state/selector.h"

#include <array>
#include <optional>

#include "base/check.h"
#include "cel/cel.h"
#include "state/cel_views.h"

namespace ctrlplane {
namespace {

// A selector is evaluated on the loop, once for each resource: what needs more than this is no selector.
constexpr uint64_t kMaxSteps = 20'000;
constexpr size_t kMaxVariables = 4, kSubjects = 8;

using Variables = std::span<const CelVariable>;

// In the order of their slots.
Variables variables_of(Selector::Subject subject) {
  using enum CelVariable;
  using Subject = Selector::Subject;
  static constexpr CelVariable resource[] = {kResource}, agent[] = {kAgent}, environment[] = {kEnvironment},
                               deployment[] = {kDeployment}, version[] = {kVersion},
                               target[] = {kDeployment, kEnvironment, kResource},
                               candidate[] = {kVersion, kEnvironment, kResource, kDeployment},
                               dependency[] = {kDeployment, kVersion};
  switch (subject) {
    case Subject::kResource: return resource;
    case Subject::kAgent: return agent;
    case Subject::kTarget: return target;
    case Subject::kVersion: return candidate;
    case Subject::kDependency: return dependency;
    case Subject::kEnvironment: return environment;
    case Subject::kDeployment: return deployment;
    case Subject::kVersionOnly: return version;
  }
  return {};
}

const cel::Env& env_of(Selector::Subject subject) {
  static const auto envs = [] {
    std::array<cel::Env, kSubjects> all;
    for (size_t i = 0; i < kSubjects; ++i) all[i] = make_env(variables_of(static_cast<Selector::Subject>(i)));
    return all;
  }();
  return envs[static_cast<size_t>(subject)];
}

// The rows of an input as values; it must outlive them.
struct Bound {
  std::optional<ResourceView> resource;
  std::optional<AgentView> agent;
  std::optional<DeploymentView> deployment;
  std::optional<EnvironmentView> environment;
  std::optional<VersionView> version;

  cel::Value bind(CelVariable v, const SelectorInput& in) {
    switch (v) {
      case CelVariable::kResource: return value(resource, in.resource);
      case CelVariable::kAgent: return value(agent, in.agent);
      case CelVariable::kDeployment: return value(deployment, in.deployment);
      case CelVariable::kEnvironment: return value(environment, in.environment);
      case CelVariable::kVersion: return value(version, in.version);
    }
    return {};
  }

 private:
  template <class View, class Row>
  static cel::Value value(std::optional<View>& view, const Row* row) {
    return row ? cel::Value::map(view.emplace(*row)) : cel::Value();
  }
};

std::optional<uint32_t> slot_of(Selector::Subject subject, std::string_view variable) {
  Variables all = variables_of(subject);
  for (uint32_t i = 0; i < all.size(); ++i)
    if (name_of(all[i]) == variable) return i;
  return std::nullopt;
}

}  // namespace

Selector::Selector(std::unique_ptr<cel::Program> program, Subject subject)
    : program_(std::move(program)), subject_(subject) {}
Selector::Selector(Selector&&) noexcept = default;
Selector& Selector::operator=(Selector&&) noexcept = default;
Selector::~Selector() = default;

Result<Selector> Selector::compile(std::string_view text, Subject subject) {
  auto program = TRY(cel::compile_condition(env_of(subject), text));
  return Selector(std::make_unique<cel::Program>(std::move(program)), subject);
}

Match Selector::match(const SelectorInput& input) const {
  cel::Arena arena(64 * 1024);
  Bound bound;
  cel::Value slots[kMaxVariables];
  Variables all = variables_of(subject_);
  for (size_t i = 0; i < all.size(); ++i) slots[i] = bound.bind(all[i], input);
  cel::Value v = program_->eval({.slots = {slots, all.size()}, .max_steps = kMaxSteps}, arena);
  if (v.is_true()) return Match::kYes;
  if (v.is_false()) return Match::kNo;
  return v.is_missing_key() ? Match::kMissingKey : Match::kError;
}

bool Selector::uses(std::string_view variable) const {
  auto slot = slot_of(subject_, variable);
  return slot && program_->dependencies().reads(*slot);
}

Narrowing Selector::narrowing() const { return narrowing_of(program_->source()); }

}  // namespace ctrlplane
