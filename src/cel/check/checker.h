// The gradual type checker, which also resolves every name: what it finds is what the planner plans.
//
// Strict, an unknown name, an unknown field of a declared struct or operands no overload takes are
// errors. Lenient, type errors are left to run time and an unknown name becomes a node that fails
// when it is evaluated.
#pragma once

#include <memory>
#include <vector>

#include "cel/check/env.h"
#include "cel/check/type.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/diagnostic.h"

namespace ctrlplane::cel {

struct Resolution {
  enum class Kind : uint8_t {
    kNone,      // evaluate the node by its syntax
    kVariable,  // slot `index`; of a select, the whole qualified name
    kLocal,     // a macro's variable, `index` in the frame's locals
    kConstant,  // a type's name: `text`
    kFunction,
    kUnknown,  // fails when evaluated (lenient only)
  };
  Kind kind = Kind::kNone;
  bool namespaced = false;  // of a call: args[0] is part of the function's name, not a receiver
  int32_t index = -1;       // slot, local; of a select on a struct, the field's index
  const FunctionEntry* function = nullptr;
  std::string_view text;
};

struct Checked {
  std::unique_ptr<TypePool> pool;
  std::vector<Resolution> resolutions;  // by Expr::id
  std::vector<TypeRef> types;           // by Expr::id
  TypeRef result = nullptr;
  uint32_t local_count = 0;  // the most locals alive at once
  std::vector<Diagnostic> diagnostics;
};

Checked check(const Env& env, const Ast& ast, bool strict);

}  // namespace ctrlplane::cel
