#include <fmt/core.h>

#include "cel/check/checker_impl.h"

namespace ctrlplane::cel {

TypeRef Checker::call(const Expr& e) {
  bool member = e.has(Expr::kMember);
  const FunctionEntry* f = nullptr;
  size_t first = 0;
  if (member) {
    // math.greatest(…): the receiver is part of the name.
    std::string name;
    bool leading_dot = false;
    const Expr& target = *e.args[0];
    bool maybe_name = target.kind == ExprKind::kIdent || target.kind == ExprKind::kSelect;
    if (maybe_name && qualified_name(target, &name, &leading_dot))
      f = env_.find_function(name + "." + std::string(e.name), Style::kGlobal);
    if (f != nullptr)
      first = 1;
    else
      f = env_.find_function(e.name, Style::kMember);
  } else {
    f = env_.find_function(e.name, Style::kGlobal);
  }
  std::vector<TypeRef> args;
  args.reserve(e.args.size());
  // The receiver of an unknown function may itself be unknown; one complaint is enough.
  if (f == nullptr && member && e.args[0]->kind == ExprKind::kIdent && find_local(e.args[0]->name) < 0 &&
      env_.find_variable(e.args[0]->name) < 0 && env_.container().empty() && strict_) {
    std::string qualified = fmt::format("{}.{}", e.args[0]->name, e.name);
    auto names = env_.function_names(Style::kGlobal);
    if (!nearest(qualified, names).empty())
      return complain(e, fmt::format("unknown function '{}'{}", qualified, suggestion(qualified, names)));
  }
  if (f == nullptr) return unknown_function(e);
  for (size_t i = first; i < e.args.size(); ++i) args.push_back(visit(*e.args[i]));
  resolution(e) = {Resolution::Kind::kFunction, first == 1, -1, f};
  return resolve_overload(e, *f, args);
}

TypeRef Checker::resolve_overload(const Expr& e, const FunctionEntry& f, std::span<const TypeRef> args) {
  TypeRef result = nullptr;
  Unifier::Renaming renaming;
  std::vector<TypeRef> params;
  for (const Overload& overload : f.overloads) {
    size_t n = overload.params.size();
    if (overload.variadic ? args.size() + 1 < n : args.size() != n) continue;
    renaming.clear();
    params.clear();
    for (size_t i = 0; i < args.size(); ++i) {
      TypeRef wanted = overload.params[std::min(i, n - 1)];
      params.push_back(overload.variadic && i + 1 >= n ? wanted : unifier_.instantiate(wanted, renaming));
    }
    if (!unifier_.assignable(args, params)) continue;
    TypeRef r = unifier_.resolve(unifier_.instantiate(overload.result, renaming), false);
    if (result == nullptr)
      result = r;
    else if (!same_type(result, r))
      result = dyn();
  }
  if (result != nullptr) return result;
  call_error(e, f, args);
  return dyn();
}

void Checker::call_error(const Expr& e, const FunctionEntry& f, std::span<const TypeRef> args) {
  if (!strict_) return;
  std::string given, wanted;
  bool member = f.style == Style::kMember;
  auto render = [&](std::span<const TypeRef> types, bool signature) {
    std::string out;
    for (size_t i = 0; i < types.size(); ++i) {
      if (i == (member ? 1u : 0u))
        out += (member ? "." : "") + f.name + "(";
      else if (i > (member ? 1u : 0u))
        out += ", ";
      out += signature ? to_string(types[i]) : text(types[i]);
    }
    if (types.size() <= (member ? 1u : 0u)) out += (member ? "." : "") + f.name + "(";
    return out + ")";
  };
  given = render(args, false);
  for (size_t i = 0; i < f.overloads.size() && i < 3; ++i)
    wanted += (i == 0 ? "" : " or ") + render(f.overloads[i].params, true);
  complain(e, fmt::format("no {}; there is {}", given, wanted));
}

TypeRef Checker::unknown_function(const Expr& e) {
  resolution(e) = {Resolution::Kind::kUnknown, false, -1, nullptr, e.name};
  // Its arguments may be a macro's variables: nothing is known about them, so they stay unchecked.
  if (!strict_) return dyn();
  bool member = e.has(Expr::kMember);
  Style style = member ? Style::kMember : Style::kGlobal;
  std::string hint;
  if (env_.find_function(e.name, member ? Style::kGlobal : Style::kMember) != nullptr) {
    hint = member ? fmt::format("; call it as {}(…)", e.name) : fmt::format("; call it as x.{}(…)", e.name);
  } else {
    auto names = env_.function_names(style);
    for (std::string_view macro : {"has"})
      if (!member) names.push_back(macro);
    for (std::string_view macro :
         {"all", "exists", "exists_one", "existsOne", "map", "filter", "transformList", "transformMap",
          "transformMapEntry", "optMap", "optFlatMap", "sortBy"})
      if (member) names.push_back(macro);
    hint = suggestion(e.name, names);
    if (nearest(e.name, names) == e.name)
      hint = fmt::format("; {}() takes a variable and an expression: list.{}(x, …)", e.name, e.name);
  }
  return complain(e, fmt::format("unknown function '{}'{}", e.name, hint));
}

}  // namespace ctrlplane::cel
