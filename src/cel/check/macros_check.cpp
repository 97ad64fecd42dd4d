#include <fmt/core.h>

#include "cel/check/checker_impl.h"

namespace ctrlplane::cel {

TypeRef Checker::macro(const Expr& e) {
  switch (e.macro) {
    case Macro::kHas: return has_macro(e);
    case Macro::kBind: return bind_macro(e);
    case Macro::kOptMap:
    case Macro::kOptFlatMap: return optional_macro(e);
    default: return comprehension(e);
  }
}

void Checker::condition(const Expr& e, std::string_view where) {
  TypeRef t = known(visit(e));
  if (open(t)) {
    unifier_.assignable(t, simple(TypeKind::kBool));
    return;
  }
  if (!t->is(TypeKind::kBool))
    complain(e, fmt::format("the condition of {} is {}, not bool", where, text(t)));
}

TypeRef Checker::has_macro(const Expr& e) {
  const Expr& selected = *e.args[0];
  TypeRef operand = known(visit(*selected.args[0]));
  out_.types[selected.id] = field_type(selected, operand);
  return simple(TypeKind::kBool);
}

TypeRef Checker::bind_macro(const Expr& e) {
  TypeRef initial = visit(*e.args[0]);
  resolution(e).index = static_cast<int32_t>(push_local(e.var, initial));
  TypeRef body = visit(*e.args[1]);
  pop_locals(1);
  return body;
}

TypeRef Checker::optional_macro(const Expr& e) {
  TypeRef target = known(visit(*e.args[0]));
  TypeRef inner = dyn();
  if (target->is(TypeKind::kOptional))
    inner = target->params[0];
  else if (!open(target))
    complain(e, fmt::format("{}() is for optionals, not {}", e.name, text(target)));
  resolution(e).index = static_cast<int32_t>(push_local(e.var, inner));
  TypeRef body = known(visit(*e.args[1]));
  pop_locals(1);
  if (e.macro == Macro::kOptMap) return out_.pool->optional(body);
  if (!body->is(TypeKind::kOptional) && !open(body))
    complain(*e.args[1], fmt::format("optFlatMap() wants an optional result, not {}", text(body)));
  return body;
}

TypeRef Checker::comprehension(const Expr& e) {
  TypeRef range = known(visit(*e.args[0]));
  TypeRef key = dyn(), element = dyn();
  bool is_map = false;
  if (range->is(TypeKind::kList)) {
    key = simple(TypeKind::kInt);
    element = range->params[0];
  } else if (range->is(TypeKind::kMap)) {
    is_map = true;
    key = range->params[0];
    element = range->params[1];
  } else if (range->is(TypeKind::kStruct)) {
    is_map = true;
    key = simple(TypeKind::kString);
  } else if (!open(range)) {
    complain(e, fmt::format("{}() runs over a list or a map, not {}", e.name, text(range)));
  }
  bool two = !e.var2.empty();
  TypeRef single = is_map ? key : element;
  uint32_t first = push_local(e.var, two ? key : single);
  if (two) push_local(e.var2, element);
  resolution(e).index = static_cast<int32_t>(first);

  TypeRef result = simple(TypeKind::kBool);
  const Expr& last = *e.args.back();
  std::string where = std::string(e.name) + "()";
  bool transforms = e.macro == Macro::kMap || e.macro == Macro::kTransformList ||
                    e.macro == Macro::kTransformMap || e.macro == Macro::kTransformMapEntry;
  if (transforms && e.args.size() == 3) condition(*e.args[1], where);
  switch (e.macro) {
    case Macro::kMap:
    case Macro::kTransformList: result = out_.pool->list(visit(last)); break;
    case Macro::kTransformMap: result = out_.pool->map(key, visit(last)); break;
    case Macro::kTransformMapEntry: {
      TypeRef entries = known(visit(last));
      if (!entries->is(TypeKind::kMap) && !open(entries))
        complain(last, fmt::format("{} wants a map of entries, not {}", where, text(entries)));
      result = entries->is(TypeKind::kMap) ? entries : out_.pool->map(dyn(), dyn());
      break;
    }
    case Macro::kSortBy:
      visit(last);
      result = out_.pool->list(single);
      break;
    case Macro::kFilter:
      condition(last, where);
      result = out_.pool->list(single);
      break;
    default: condition(last, where); break;
  }
  pop_locals(two ? 2 : 1);
  return result;
}

}  // namespace ctrlplane::cel
