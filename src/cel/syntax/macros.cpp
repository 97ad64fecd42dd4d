#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "cel/syntax/parser_impl.h"

namespace ctrlplane::cel {
namespace {

struct MacroForm {
  std::string_view name;
  Macro macro;
  size_t variables;
  size_t min_args;  // variables included
  size_t max_args;
};

constexpr std::array<MacroForm, 16> kForms = {{
    {"all", Macro::kAll, 1, 2, 2},
    {"all", Macro::kAll, 2, 3, 3},
    {"exists", Macro::kExists, 1, 2, 2},
    {"exists", Macro::kExists, 2, 3, 3},
    {"exists_one", Macro::kExistsOne, 1, 2, 2},
    {"exists_one", Macro::kExistsOne, 2, 3, 3},
    {"existsOne", Macro::kExistsOne, 1, 2, 2},
    {"existsOne", Macro::kExistsOne, 2, 3, 3},
    {"map", Macro::kMap, 1, 2, 3},
    {"filter", Macro::kFilter, 1, 2, 2},
    {"transformList", Macro::kTransformList, 2, 3, 4},
    {"transformMap", Macro::kTransformMap, 2, 3, 4},
    {"transformMapEntry", Macro::kTransformMapEntry, 2, 3, 4},
    {"optMap", Macro::kOptMap, 1, 2, 2},
    {"optFlatMap", Macro::kOptFlatMap, 1, 2, 2},
    {"sortBy", Macro::kSortBy, 1, 2, 2},
}};

const MacroForm* find_form(std::string_view name, size_t args) {
  auto it = std::find_if(kForms.begin(), kForms.end(), [&](const MacroForm& f) {
    return f.name == name && args >= f.min_args && args <= f.max_args;
  });
  return it == kForms.end() ? nullptr : &*it;
}

bool is_plain_ident(const Expr* e, std::string_view name) {
  return e->kind == ExprKind::kIdent && e->name == name;
}

}  // namespace

bool Parser::variable_name(const Expr* e, std::string_view macro, std::string_view* out) {
  if (e->kind != ExprKind::kIdent || e->has(Expr::kLeadingDot)) {
    fail(e->position, fmt::format("{}() wants the name of a variable here", macro));
    return false;
  }
  *out = e->name;
  return true;
}

Expr* Parser::expand_macro(uint32_t position, std::string_view name, Expr* target,
                           const std::vector<Expr*>& args, bool* matched) {
  if (target == nullptr) {
    *matched = name == "has" && args.size() == 1;
    return *matched ? make_has(position, args) : nullptr;
  }
  if (is_plain_ident(target, "cel")) return make_cel_macro(position, name, args, matched);
  const MacroForm* form = find_form(name, args.size());
  if (form == nullptr) return nullptr;
  *matched = true;
  std::vector<Expr*> parts{target};
  parts.insert(parts.end(), args.begin() + static_cast<std::ptrdiff_t>(form->variables), args.end());
  std::string_view var, var2;
  if (!variable_name(args[0], name, &var)) return nullptr;
  if (form->variables == 2 && !variable_name(args[1], name, &var2)) return nullptr;
  if (var == var2) return fail(args[1]->position, fmt::format("{}() has two variables of one name", name));
  Expr* e = make(ExprKind::kMacro, position, parts);
  if (e == nullptr) return nullptr;
  e->macro = form->macro;
  e->name = name;
  e->var = var;
  e->var2 = var2;
  return e;
}

Expr* Parser::make_has(uint32_t position, const std::vector<Expr*>& args) {
  if (args[0]->kind == ExprKind::kIndex)
    return fail(position, "has() takes a field, as in has(a.b); for a key write 'key' in a");
  if (args[0]->kind != ExprKind::kSelect || args[0]->has(Expr::kOptional))
    return fail(position, "has() takes a field, as in has(a.b)");
  Expr* e = make(ExprKind::kMacro, position, args);
  if (e == nullptr) return nullptr;
  e->macro = Macro::kHas;
  e->name = "has";
  return e;
}

// cel.bind, and cel.block with its generated names: cel.index(0) reads as the variable "@index0".
Expr* Parser::make_cel_macro(uint32_t position, std::string_view name, const std::vector<Expr*>& args,
                             bool* matched) {
  auto is_int = [](const Expr* e) {
    return e->kind == ExprKind::kLiteral && e->value.is(Kind::kInt) && e->value.as_int() >= 0;
  };
  if (name == "bind" && args.size() == 3) {
    *matched = true;
    std::string_view var;
    if (!variable_name(args[0], "cel.bind", &var)) return nullptr;
    Expr* e = make(ExprKind::kMacro, position, {args[1], args[2]});
    if (e == nullptr) return nullptr;
    e->macro = Macro::kBind;
    e->name = "bind";
    e->var = var;
    return e;
  }
  if (name == "block" && args.size() == 2 && args[0]->kind == ExprKind::kList) {
    *matched = true;
    return make_block(position, args);
  }
  std::string generated;
  if (name == "index" && args.size() == 1 && is_int(args[0]))
    generated = fmt::format("@index{}", args[0]->value.as_int());
  if ((name == "iterVar" || name == "accuVar") && args.size() == 2 && is_int(args[0]) && is_int(args[1]))
    generated = fmt::format("@{}:{}:{}", name, args[0]->value.as_int(), args[1]->value.as_int());
  if (generated.empty()) return nullptr;
  *matched = true;
  Expr* e = make(ExprKind::kIdent, position, {});
  if (e != nullptr) e->name = store(generated);
  return e;
}

// Each slot of a block sees those before it: nested bindings.
Expr* Parser::make_block(uint32_t position, const std::vector<Expr*>& args) {
  Expr* e = args[1];
  for (size_t i = args[0]->args.size(); i-- > 0 && e != nullptr;) {
    e = make(ExprKind::kMacro, position, {args[0]->args[i], e});
    if (e == nullptr) return nullptr;
    e->macro = Macro::kBind;
    e->name = "bind";
    e->var = store(fmt::format("@index{}", i));
  }
  return e;
}

}  // namespace ctrlplane::cel
