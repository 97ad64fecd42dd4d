#include "state/selector.h"

#include "base/check.h"
#include "cel/cel.h"
#include "state/cel_views.h"

namespace ctrlplane {
namespace {

// A selector is evaluated on the loop, once for each resource: what needs more than this is no selector.
constexpr uint64_t kMaxSteps = 20'000;

Match evaluate(const cel::Program& program, const cel::Object& subject) {
  cel::Arena arena(64 * 1024);
  cel::Value slots[] = {cel::Value::map(subject)};
  cel::Value v = program.eval({.slots = slots, .max_steps = kMaxSteps}, arena);
  if (v.is_true()) return Match::kYes;
  if (v.is_false()) return Match::kNo;
  return v.is_missing_key() ? Match::kMissingKey : Match::kError;
}

}  // namespace

Selector::Selector(std::unique_ptr<cel::Program> program) : program_(std::move(program)) {}
Selector::Selector(Selector&&) noexcept = default;
Selector& Selector::operator=(Selector&&) noexcept = default;
Selector::~Selector() = default;

Result<Selector> Selector::compile(std::string_view text, Subject subject) {
  const cel::Env& env = subject == Subject::kResource ? resource_env() : agent_env();
  auto program = TRY(cel::compile_condition(env, text));
  return Selector(std::make_unique<cel::Program>(std::move(program)));
}

Match Selector::match(const Resource& r) const { return evaluate(*program_, ResourceView(r)); }
Match Selector::match(const JobAgent& a) const { return evaluate(*program_, AgentView(a)); }

}  // namespace ctrlplane
