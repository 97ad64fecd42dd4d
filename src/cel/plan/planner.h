// From a checked tree to a tree of nodes: variables become slots, constant names are hashed, what
// depends on nothing is evaluated now, and common shapes get nodes of their own.
#pragma once

#include <cstdint>
#include <memory>

#include "cel/check/checker.h"
#include "cel/lib/regex.h"
#include "cel/plan/node.h"
#include "cel/syntax/ast.h"
#include "cel/value/arena.h"

namespace ctrlplane::cel {

struct Plan {
  std::unique_ptr<Arena> arena;  // nodes, constants, names
  RegexSet regexes;
  const Node* root = nullptr;
  uint32_t local_count = 0;
  // What cannot ever work, such as a literal pattern that is no regular expression.
  std::vector<Diagnostic> diagnostics;
};

// `fold` false leaves every operation to run time: for tests that compare.
Plan make_plan(const Ast& ast, const Checked& checked, bool fold);

}  // namespace ctrlplane::cel
