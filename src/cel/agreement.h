// The properties every expression must have, whatever it is; shared by a test and the fuzzer.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cel/cel.h"
#include "cel/syntax/parser.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {

inline std::string outcome_text(const Value& v) {
  if (!v.is_error()) return literal_text(v, 4000);
  return std::string("error ") + std::string(to_string(v.fault())) + " at " + std::to_string(v.position());
}

// Printing the tree and parsing that gives the same tree. Empty, or what is wrong.
inline std::string check_reprint(std::string_view text) {
  auto first = parse(text);
  // Parentheses that printing adds may pass the limit of nesting.
  if (!first || first->root->depth > 100) return {};
  std::string printed = print(*first->root);
  auto second = parse(printed, {.limits = {.max_source_bytes = 1u << 20, .max_nesting = 1000}});
  if (!second) return "does not parse again: " + printed + ": " + second.error().message;
  return same_tree(*first->root, *second->root) ? "" : "prints as another tree: " + printed;
}

// Evaluating in advance changes nothing. Empty, or what is wrong.
inline std::string check_folding(const Env& env, std::string_view text, std::span<const Value> slots,
                                 bool check) {
  auto folded = compile(env, text, {.check = check, .fold = true});
  auto plain = compile(env, text, {.check = check, .fold = false});
  // A pattern made by folding can be found wrong early.
  if (folded.has_value() != plain.has_value()) return {};
  if (!folded) return {};
  Arena a, b;
  Value x = folded->eval({.slots = slots, .max_steps = 200000}, a);
  Value y = plain->eval({.slots = slots, .max_steps = 200000}, b);
  // Folding saves steps and memory.
  if (x.is_budget_error() || y.is_budget_error()) return {};
  std::string p = outcome_text(x), q = outcome_text(y);
  return p == q ? "" : "folded " + p + ", not folded " + q;
}

}  // namespace ctrlplane::cel
