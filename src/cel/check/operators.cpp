#include <fmt/core.h>

#include "cel/check/checker_impl.h"

namespace ctrlplane::cel {
namespace {

bool is_pair(TypeRef a, TypeRef b, TypeKind x, TypeKind y) {
  return (a->is(x) && b->is(y)) || (a->is(y) && b->is(x));
}

bool adds_to_itself(TypeKind k) {
  return k == TypeKind::kInt || k == TypeKind::kUint || k == TypeKind::kDouble || k == TypeKind::kString ||
         k == TypeKind::kBytes || k == TypeKind::kDuration;
}

bool has_order(TypeKind k) { return adds_to_itself(k) || k == TypeKind::kBool || k == TypeKind::kTimestamp; }

}  // namespace

TypeRef Checker::operator_error(const Expr& e, std::span<const TypeRef> types) {
  std::string_view op = op_text(e.op);
  if (types.size() == 1) return complain(e, fmt::format("{} does not apply to {}", op, text(types[0])));
  std::string message = fmt::format("{} does not apply to {} and {}", op, text(types[0]), text(types[1]));
  bool text_and_number = (known(types[0])->is(TypeKind::kString) && known(types[1])->is_number()) ||
                         (known(types[1])->is(TypeKind::kString) && known(types[0])->is_number());
  if (text_and_number) message += "; convert one with int(…), double(…) or string(…)";
  return complain(e, std::move(message));
}

TypeRef Checker::unary(const Expr& e) {
  TypeRef t = known(visit(*e.args[0]));
  if (e.op == Op::kNot) {
    if (!open(t) && !t->is(TypeKind::kBool)) return operator_error(e, {&t, 1});
    return simple(TypeKind::kBool);
  }
  if (open(t)) return dyn();
  if (!t->is(TypeKind::kInt) && !t->is(TypeKind::kDouble)) return operator_error(e, {&t, 1});
  return t;
}

// The result's type, or null if the operator does not apply.
TypeRef Checker::arithmetic(Op op, TypeRef a, TypeRef b) {
  if (open(a) && open(b)) return dyn();
  bool add = op == Op::kAdd, subtract = op == Op::kSub;
  if (add && a->is(TypeKind::kList) && b->is(TypeKind::kList))
    return out_.pool->list(unifier_.join(a->params[0], b->params[0]));
  if (open(a) || open(b)) {
    TypeRef known_side = open(a) ? b : a;
    TypeKind k = known_side->kind;
    if (k == TypeKind::kTimestamp || k == TypeKind::kDuration) return add || subtract ? dyn() : nullptr;
    if (add && k == TypeKind::kList) return known_side;
    if (add && adds_to_itself(k)) return known_side;
    if (op == Op::kMod && k == TypeKind::kDouble) return nullptr;
    return known_side->is_number() ? known_side : nullptr;
  }
  if (add && is_pair(a, b, TypeKind::kTimestamp, TypeKind::kDuration)) return simple(TypeKind::kTimestamp);
  if (subtract && a->is(TypeKind::kTimestamp) && b->is(TypeKind::kDuration)) return a;
  if (a->kind != b->kind) return nullptr;
  if (subtract && a->is(TypeKind::kTimestamp)) return simple(TypeKind::kDuration);
  if (add && adds_to_itself(a->kind)) return a;
  if (subtract && a->is(TypeKind::kDuration)) return a;
  if (op == Op::kMod && a->is(TypeKind::kDouble)) return nullptr;
  return a->is_number() ? a : nullptr;
}

// Whether values of the two types can be equal: as assignable, but numbers are one family and null
// and the text of a timestamp may stand anywhere, inside lists and maps too.
bool Checker::may_equal(TypeRef a, TypeRef b) {
  a = known(a), b = known(b);
  if (a->is_number() && b->is_number()) return true;
  if (a->is(TypeKind::kNull) || b->is(TypeKind::kNull)) return true;
  if (is_pair(a, b, TypeKind::kTimestamp, TypeKind::kString)) return true;
  bool both_collections = a->kind == b->kind && (a->is(TypeKind::kList) || a->is(TypeKind::kMap));
  if (!both_collections) return unifier_.assignable(a, b);
  for (size_t i = 0; i < a->params.size(); ++i)
    if (!may_equal(a->params[i], b->params[i])) return false;
  return true;
}

bool Checker::comparable(Op op, TypeRef a, TypeRef b) {
  if (op == Op::kEq || op == Op::kNe) return may_equal(a, b);
  if (open(a) || open(b)) {
    TypeRef other = open(a) ? b : a;
    return open(other) || has_order(other->kind);
  }
  if (a->is_number() && b->is_number()) return true;
  if (is_pair(a, b, TypeKind::kTimestamp, TypeKind::kString)) return true;
  return a->kind == b->kind && has_order(a->kind);
}

bool Checker::membership(TypeRef item, TypeRef container) {
  if (open(container)) return true;
  if (container->is(TypeKind::kStruct)) return open(item) || item->is(TypeKind::kString);
  if (!container->is(TypeKind::kList) && !container->is(TypeKind::kMap)) return false;
  return may_equal(item, container->params[0]);
}

TypeRef Checker::binary(const Expr& e) {
  TypeRef both[] = {known(visit(*e.args[0])), known(visit(*e.args[1]))};
  switch (e.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMod: {
      TypeRef t = arithmetic(e.op, both[0], both[1]);
      return t == nullptr ? operator_error(e, both) : t;
    }
    case Op::kIn:
      if (!membership(both[0], both[1])) operator_error(e, both);
      return simple(TypeKind::kBool);
    default:
      if (!comparable(e.op, both[0], both[1])) operator_error(e, both);
      return simple(TypeKind::kBool);
  }
}

TypeRef Checker::logic(const Expr& e) {
  for (const Expr* arg : e.args) {
    TypeRef t = known(visit(*arg));
    if (open(t))
      unifier_.assignable(t, simple(TypeKind::kBool));
    else if (!t->is(TypeKind::kBool))
      complain(*arg, fmt::format("{} wants bool on both sides, not {}", op_text(e.op), text(t)));
  }
  return simple(TypeKind::kBool);
}

TypeRef Checker::conditional(const Expr& e) {
  condition(*e.args[0], "'a ? b : c'");
  TypeRef yes = visit(*e.args[1]);
  TypeRef no = visit(*e.args[2]);
  return unifier_.join(yes, no);
}

}  // namespace ctrlplane::cel
