// The Common Expression Language: text in, a Program out, evaluated as often as one likes.
//
//   Env env;
//   env.declare_struct("Resource", {{"name", "string"}, {"metadata", "map(string, string)"}});
//   env.declare("resource", "Resource");                       // slot 0
//   Program program = TRY(compile(env, "resource.metadata['region'] == 'eu'"));
//   Arena arena;
//   Value slots[] = {Value::map(resource)};                    // resource: an Object
//   Value v = program.eval({slots}, arena);                    // a bool, or an error value
//
// A const Env and a Program may be used by several threads at once, each with its own Arena. A
// Program does not need its Env any more. Nothing here reads a clock; zone files are read for
// functions that take a time zone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cel/check/env.h"
#include "cel/plan/activation.h"
#include "cel/plan/dependencies.h"
#include "cel/syntax/diagnostic.h"
#include "cel/value/map.h"
#include "cel/value/value.h"

namespace ctrlplane::cel {

struct CompileOptions {
  bool check = true;   // false: unknown names and wrong types fail when evaluated
  bool macros = true;  // false: has(), all() … are ordinary unknown functions
  bool fold = true;    // false: nothing is evaluated in advance
};

class Program {
 public:
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  // Never throws and never fails otherwise than by an error value. The result borrows from the
  // program, the activation and the arena. Arena and steps are the budget; both running out is
  // Fault::kBudget.
  Value eval(const Activation& activation, Arena& arena) const;

  // The type the checker found: "bool", "list(int)", "dyn".
  const std::string& type() const;
  const std::string& source() const;
  const Dependencies& dependencies() const;
  // Where an error value points, and "line:column: message".
  Position position(const Value& error) const;
  std::string describe(const Value& error) const;

 private:
  friend Result<Program> compile(const Env&, std::string_view, const CompileOptions&);
  struct State;
  explicit Program(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// An error is kInvalid: its message is "line:column: …" for the first complaint, and details has
// one entry for each, path "line:column". Text over 64 KiB or nested too deep is refused.
Result<Program> compile(const Env& env, std::string_view text, const CompileOptions& options = {});

// As compile, and the result must be usable as a condition: bool, or dyn.
Result<Program> compile_condition(const Env& env, std::string_view text);

}  // namespace ctrlplane::cel
