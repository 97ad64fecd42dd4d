#include "cel/cel.h"

#include <fmt/core.h>

#include "cel/check/checker.h"
#include "cel/plan/planner.h"
#include "cel/syntax/parser.h"

namespace ctrlplane::cel {

// Locals up to here live on the stack; only deeply nested macros need more.
constexpr uint32_t kFewLocals = 8;

struct Program::State {
  std::string source;
  Plan plan;
  std::string type;
  Dependencies dependencies;
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

const std::string& Program::type() const { return state_->type; }
const std::string& Program::source() const { return state_->source; }
const Dependencies& Program::dependencies() const { return state_->dependencies; }

Position Program::position(const Value& error) const { return position_at(state_->source, error.position()); }

std::string Program::describe(const Value& error) const {
  if (error.position() == Value::kNoPosition) return std::string(error.message());
  Position p = position(error);
  return fmt::format("{}:{}: {}", p.line, p.column, error.message());
}

Value Program::eval(const Activation& activation, Arena& arena) const {
  const Plan& plan = state_->plan;
  Frame frame{{arena, activation.max_steps}, activation.slots, nullptr, activation.lazy};
  if (plan.local_count == 0) return plan.root->eval(frame);
  Value few[kFewLocals];
  frame.locals = few;
  if (plan.local_count > kFewLocals) {
    frame.locals = arena.allocate_array<Value>(plan.local_count);
    if (frame.locals == nullptr) return frame.out_of_memory();
  }
  return plan.root->eval(frame);
}

Result<Program> compile(const Env& env, std::string_view text, const CompileOptions& options) {
  auto state = std::make_unique<Program::State>();
  state->source = text;
  std::string_view source = state->source;
  auto ast = parse(source, {.macros = options.macros});
  if (!ast) return std::unexpected(to_error(source, {ast.error()}));
  Checked checked = check(env, *ast, options.check);
  if (!checked.diagnostics.empty()) return std::unexpected(to_error(source, checked.diagnostics));
  state->plan = make_plan(*ast, checked, options.fold);
  if (options.check && !state->plan.diagnostics.empty())
    return std::unexpected(to_error(source, state->plan.diagnostics));
  state->type = to_string(checked.result);
  state->dependencies = find_dependencies(*ast, checked);
  return Program(std::move(state));
}

Result<Program> compile_condition(const Env& env, std::string_view text) {
  Program program = TRY(compile(env, text));
  if (program.type() != "bool" && program.type() != "dyn") {
    return std::unexpected(
        to_error(text, {{0, fmt::format("a condition is bool; this expression is {}", program.type())}}));
  }
  return program;
}

}  // namespace ctrlplane::cel
