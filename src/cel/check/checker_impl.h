// The checker's state, shared by checker.cpp (names, access, macros), operators.cpp and calls.cpp.
#pragma once

#include <string>
#include <vector>

#include "cel/check/checker.h"
#include "cel/check/unify.h"

namespace ctrlplane::cel {

class Checker {
 public:
  Checker(const Env& env, const Ast& ast, bool strict);
  Checked run();

 private:
  // checker.cpp
  TypeRef visit(const Expr& e);
  TypeRef visit_kind(const Expr& e);
  TypeRef literal(const Value& v);
  TypeRef ident(const Expr& e);
  TypeRef select(const Expr& e);
  TypeRef field_type(const Expr& e, TypeRef operand);
  TypeRef index(const Expr& e);
  TypeRef element_type(const Expr& e, TypeRef operand, TypeRef key);
  TypeRef list(const Expr& e);
  TypeRef map(const Expr& e);
  TypeRef entry_type(const Expr& value, bool optional);
  bool resolve_name(const Expr& e, const std::string& name, bool leading_dot, TypeRef* type);
  // "a.b.c" when the node is nothing but names and its root is not a macro's variable.
  bool qualified_name(const Expr& e, std::string* name, bool* leading_dot) const;
  TypeRef unknown_ident(const Expr& e);

  // macros_check.cpp
  TypeRef macro(const Expr& e);
  TypeRef comprehension(const Expr& e);
  TypeRef has_macro(const Expr& e);
  TypeRef bind_macro(const Expr& e);
  TypeRef optional_macro(const Expr& e);
  void condition(const Expr& e, std::string_view where);

  // operators.cpp
  TypeRef unary(const Expr& e);
  TypeRef binary(const Expr& e);
  TypeRef arithmetic(Op op, TypeRef a, TypeRef b);
  bool may_equal(TypeRef a, TypeRef b);
  bool comparable(Op op, TypeRef a, TypeRef b);
  bool membership(TypeRef item, TypeRef container);
  TypeRef logic(const Expr& e);
  TypeRef conditional(const Expr& e);
  TypeRef operator_error(const Expr& e, std::span<const TypeRef> types);

  // calls.cpp
  TypeRef call(const Expr& e);
  TypeRef resolve_overload(const Expr& e, const FunctionEntry& f, std::span<const TypeRef> args);
  TypeRef unknown_function(const Expr& e);
  void call_error(const Expr& e, const FunctionEntry& f, std::span<const TypeRef> args);

  TypeRef simple(TypeKind kind) const { return simple_type(kind); }
  TypeRef dyn() const { return simple_type(TypeKind::kDyn); }
  // The type as far as it is known now.
  TypeRef known(TypeRef type) const { return unifier_.shallow(type); }
  // dyn, or a parameter of which nothing is known.
  bool open(TypeRef type) const {
    type = known(type);
    return type->is_dyn() || type->is(TypeKind::kParam);
  }
  // Records a complaint (strict only) and gives the type that stops it from spreading.
  TypeRef complain(const Expr& e, std::string message);
  std::string text(TypeRef type) { return to_string(unifier_.resolve(type, true)); }
  Resolution& resolution(const Expr& e) { return out_.resolutions[e.id]; }
  uint32_t push_local(std::string_view name, TypeRef type);
  void pop_locals(size_t n) { locals_.resize(locals_.size() - n); }
  int32_t find_local(std::string_view name) const;

  struct Local {
    std::string_view name;
    TypeRef type;
  };
  const Env& env_;
  const Ast& ast_;
  bool strict_;
  Checked out_;
  Unifier unifier_;
  std::vector<Local> locals_;
};

}  // namespace ctrlplane::cel
