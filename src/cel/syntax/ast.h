// The syntax tree. Macros are nodes of their own rather than expanded folds: they print as they were
// written, check with messages about what was written, and plan to loops made for them.
//
// Nodes, names and literals borrow from the Ast's arena and from the source text, which must outlive
// the tree.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cel/value/arena.h"
#include "cel/value/value.h"

namespace ctrlplane::cel {

enum class ExprKind : uint8_t {
  kLiteral,      // value
  kIdent,        // name; flag kLeadingDot
  kSelect,       // args[0].name; flag kOptional for `.?`
  kIndex,        // args[0][args[1]]; flag kOptional for `[?`
  kUnary,        // op args[0]
  kBinary,       // args[0] op args[1]
  kLogic,        // args joined by && or ||: two or more, never nested in itself without parentheses
  kConditional,  // args[0] ? args[1] : args[2]
  kCall,         // name(args…), or args[0].name(args[1]…) with flag kMember
  kList,         // args; entry_optional
  kMap,          // args are key, value, key, value…; entry_optional for each pair
  kMacro,        // see Macro
};

enum class Op : uint8_t {
  kNone,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kAnd,
  kOr,
  kNot,
  kNegate,
};

enum class Macro : uint8_t {
  kNone,
  kHas,                // args[0] is a kSelect
  kAll,                // range, condition
  kExists,             // range, condition
  kExistsOne,          // range, condition
  kMap,                // range, result | range, filter, result
  kFilter,             // range, condition
  kTransformList,      // as kMap, two variables
  kTransformMap,       // range, value | range, filter, value
  kTransformMapEntry,  // range, entries | range, filter, entries
  kSortBy,             // range, sort key
  kBind,               // initial value, body
  kOptMap,             // optional, result
  kOptFlatMap,         // optional, optional result
};

struct Expr {
  static constexpr uint8_t kOptional = 1;
  static constexpr uint8_t kMember = 2;
  static constexpr uint8_t kLeadingDot = 4;
  static constexpr uint8_t kQuoted = 8;  // a field written between backticks

  ExprKind kind = ExprKind::kLiteral;
  Op op = Op::kNone;
  Macro macro = Macro::kNone;
  uint8_t flags = 0;
  uint32_t position = 0;  // byte offset where an error about this node points
  uint32_t id = 0;        // dense, from 0: index of side tables
  uint32_t depth = 1;
  std::string_view name;
  std::string_view var;   // a macro's variable
  std::string_view var2;  // its second, empty if there is none
  std::span<Expr*> args;
  std::span<const bool> entry_optional;
  Value value;

  bool has(uint8_t flag) const { return (flags & flag) != 0; }
};

struct Ast {
  std::unique_ptr<Arena> arena;
  Expr* root = nullptr;
  uint32_t node_count = 0;
};

// How an operator is written: "==", "in", "&&".
std::string_view op_text(Op op);

// The tree as an expression that parses to the same tree.
std::string print(const Expr& root);

// Same shape, names and literals; positions and ids do not count.
bool same_tree(const Expr& a, const Expr& b);

}  // namespace ctrlplane::cel
