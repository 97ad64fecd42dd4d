// What an expression reads, known without evaluating it: so that a membership need only be looked at
// again when something it depends on changed, and equality on metadata can use an index.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "cel/check/checker.h"
#include "cel/syntax/ast.h"

namespace ctrlplane::cel {

// A variable and the constant names that lead from it: resource, metadata, region. The whole of what
// is found there counts as read. Calls like resource.name.contains('x') read resource.name.
struct FieldPath {
  uint32_t slot = 0;
  std::vector<std::string> names;
  auto operator<=>(const FieldPath&) const = default;
};

// path == 'text' or path in ['a', 'b']: what must hold for the expression to be true.
struct TextCondition {
  FieldPath path;
  std::vector<std::string> any_of;  // sorted, no text twice
};

struct Dependencies {
  std::vector<uint32_t> variables;  // slots, ascending
  std::vector<FieldPath> paths;     // ascending; none is a prefix of another
  // Conditions that each must hold for the result to be true: the terms of the outermost && of
  // that form. Empty if there is none.
  std::vector<TextCondition> conditions;
  // The expression is nothing but the conditions: it is true exactly if all of them hold.
  bool only_conditions = false;

  bool reads(uint32_t slot) const;
  // Whether a change of the value at that path can change the result: it is read, or lies around or
  // inside of what is read.
  bool reads(const FieldPath& path) const;
};

Dependencies find_dependencies(const Ast& ast, const Checked& checked);

}  // namespace ctrlplane::cel
