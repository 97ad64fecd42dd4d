#include "cel/check/checker.h"

#include <algorithm>

#include <fmt/core.h>

#include "cel/check/checker_impl.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {
namespace {

// More complaints than this help nobody.
constexpr size_t kMaxDiagnostics = 20;

struct TypeName {
  std::string_view name;
  TypeKind kind;
};
// Names that stand for a type as a value. `dyn` is a function only.
constexpr TypeName kTypeNames[] = {
    {"bool", TypeKind::kBool},
    {"int", TypeKind::kInt},
    {"uint", TypeKind::kUint},
    {"double", TypeKind::kDouble},
    {"string", TypeKind::kString},
    {"bytes", TypeKind::kBytes},
    {"list", TypeKind::kList},
    {"map", TypeKind::kMap},
    {"null_type", TypeKind::kNull},
    {"type", TypeKind::kType},
    {"optional_type", TypeKind::kOptional},
    {"google.protobuf.Timestamp", TypeKind::kTimestamp},
    {"google.protobuf.Duration", TypeKind::kDuration},
    {"net.IP", TypeKind::kAbstract},
    {"net.CIDR", TypeKind::kAbstract},
};

const TypeName* find_type_name(std::string_view name) {
  for (const TypeName& t : kTypeNames)
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace

Checked check(const Env& env, const Ast& ast, bool strict) { return Checker(env, ast, strict).run(); }

Checker::Checker(const Env& env, const Ast& ast, bool strict)
    : env_(env), ast_(ast), strict_(strict), out_{std::make_unique<TypePool>()}, unifier_(*out_.pool) {
  out_.resolutions.resize(ast.node_count);
  out_.types.resize(ast.node_count, dyn());
}

Checked Checker::run() {
  TypeRef result = visit(*ast_.root);
  for (TypeRef& t : out_.types) t = unifier_.resolve(t, true);
  out_.result = unifier_.resolve(result, true);
  return std::move(out_);
}

TypeRef Checker::complain(const Expr& e, std::string message) {
  if (strict_ && out_.diagnostics.size() < kMaxDiagnostics)
    out_.diagnostics.push_back({e.position, std::move(message)});
  return simple(TypeKind::kError);
}

uint32_t Checker::push_local(std::string_view name, TypeRef type) {
  locals_.push_back({name, type});
  out_.local_count = std::max(out_.local_count, static_cast<uint32_t>(locals_.size()));
  return static_cast<uint32_t>(locals_.size() - 1);
}

int32_t Checker::find_local(std::string_view name) const {
  for (size_t i = locals_.size(); i-- > 0;)
    if (locals_[i].name == name) return static_cast<int32_t>(i);
  return -1;
}

TypeRef Checker::visit(const Expr& e) {
  TypeRef t = visit_kind(e);
  out_.types[e.id] = t;
  return t;
}

TypeRef Checker::visit_kind(const Expr& e) {
  switch (e.kind) {
    case ExprKind::kLiteral: return literal(e.value);
    case ExprKind::kIdent: return ident(e);
    case ExprKind::kSelect: return select(e);
    case ExprKind::kIndex: return index(e);
    case ExprKind::kUnary: return unary(e);
    case ExprKind::kBinary: return binary(e);
    case ExprKind::kLogic: return logic(e);
    case ExprKind::kConditional: return conditional(e);
    case ExprKind::kCall: return call(e);
    case ExprKind::kList: return list(e);
    case ExprKind::kMap: return map(e);
    case ExprKind::kMacro: return macro(e);
  }
  return dyn();
}

TypeRef Checker::literal(const Value& v) {
  switch (v.kind()) {
    case Kind::kNull: return simple(TypeKind::kNull);
    case Kind::kBool: return simple(TypeKind::kBool);
    case Kind::kInt: return simple(TypeKind::kInt);
    case Kind::kUint: return simple(TypeKind::kUint);
    case Kind::kDouble: return simple(TypeKind::kDouble);
    case Kind::kString: return simple(TypeKind::kString);
    case Kind::kBytes: return simple(TypeKind::kBytes);
    default: return dyn();
  }
}

// Looks for a variable or a type's name inside the container and then outwards.
bool Checker::resolve_name(const Expr& e, const std::string& name, bool leading_dot, TypeRef* type) {
  std::string prefix(leading_dot ? std::string_view() : env_.container());
  for (;;) {
    std::string full = prefix.empty() ? name : prefix + "." + name;
    if (int32_t slot = env_.find_variable(full); slot >= 0) {
      resolution(e) = {Resolution::Kind::kVariable, false, slot};
      *type = env_.variables()[static_cast<size_t>(slot)].type;
      return true;
    }
    if (const TypeName* t = find_type_name(full)) {
      resolution(e) = {Resolution::Kind::kConstant, false, -1, nullptr, t->name};
      *type = out_.pool->type_of(dyn());
      return true;
    }
    if (prefix.empty()) return false;
    size_t dot = prefix.rfind('.');
    prefix.resize(dot == std::string::npos ? 0 : dot);
  }
}

TypeRef Checker::ident(const Expr& e) {
  if (!e.has(Expr::kLeadingDot)) {
    if (int32_t local = find_local(e.name); local >= 0) {
      resolution(e) = {Resolution::Kind::kLocal, false, local};
      return locals_[static_cast<size_t>(local)].type;
    }
    // The usual case without building strings.
    if (env_.container().empty()) {
      if (int32_t slot = env_.find_variable(e.name); slot >= 0) {
        resolution(e) = {Resolution::Kind::kVariable, false, slot};
        return env_.variables()[static_cast<size_t>(slot)].type;
      }
    }
  }
  TypeRef type = nullptr;
  if (resolve_name(e, std::string(e.name), e.has(Expr::kLeadingDot), &type)) return type;
  return unknown_ident(e);
}

TypeRef Checker::unknown_ident(const Expr& e) {
  resolution(e) = {Resolution::Kind::kUnknown, false, -1, nullptr, e.name};
  if (!strict_) return dyn();
  std::vector<std::string_view> candidates;
  for (const Local& l : locals_) candidates.push_back(l.name);
  for (const Variable& v : env_.variables()) candidates.push_back(v.name);
  std::string hint = suggestion(e.name, candidates);
  if (hint.empty()) {
    std::string names;
    for (const Variable& v : env_.variables()) names += (names.empty() ? "" : ", ") + v.name;
    if (!names.empty() && names.size() < 200) hint = "; known are " + names;
    if (e.name == "True" || e.name == "TRUE") hint = "; write true";
    if (e.name == "False" || e.name == "FALSE") hint = "; write false";
    if (e.name == "None" || e.name == "nil" || e.name == "NULL") hint = "; write null";
  }
  return complain(e, fmt::format("unknown name '{}'{}", e.name, hint));
}

bool Checker::qualified_name(const Expr& e, std::string* name, bool* leading_dot) const {
  if (e.kind == ExprKind::kIdent) {
    *leading_dot = e.has(Expr::kLeadingDot);
    if (!*leading_dot && find_local(e.name) >= 0) return false;
    *name = e.name;
    return true;
  }
  if (e.kind != ExprKind::kSelect || e.flags != 0) return false;
  if (!qualified_name(*e.args[0], name, leading_dot)) return false;
  name->append(".").append(e.name);
  return true;
}

TypeRef Checker::select(const Expr& e) {
  // Only worth the string when some name has dots at all.
  const Expr* root = &e;
  while (root->kind == ExprKind::kSelect) root = root->args[0];
  bool dotted =
      env_.has_dotted_names() || !env_.container().empty() || root->name == "google" || root->name == "net";
  if (dotted && root->kind == ExprKind::kIdent) {
    std::string name;
    bool leading_dot = false;
    TypeRef type = nullptr;
    if (qualified_name(e, &name, &leading_dot) && resolve_name(e, name, leading_dot, &type)) return type;
  }
  TypeRef operand = known(visit(*e.args[0]));
  if (operand->is(TypeKind::kOptional)) {
    TypeRef inner = field_type(e, known(operand->params[0]));
    return inner->is(TypeKind::kOptional) ? inner : out_.pool->optional(inner);
  }
  TypeRef field = field_type(e, operand);
  return e.has(Expr::kOptional) ? out_.pool->optional(field) : field;
}

TypeRef Checker::field_type(const Expr& e, TypeRef operand) {
  if (operand->is_dyn() || operand->is(TypeKind::kParam)) return dyn();
  if (operand->is(TypeKind::kMap)) return operand->params[1];
  if (operand->is(TypeKind::kOptional)) return field_type(e, known(operand->params[0]));
  if (operand->is(TypeKind::kStruct)) {
    int32_t at = operand->fields->index_of(e.name);
    if (at >= 0) {
      resolution(e).index = at;
      return operand->fields->fields[static_cast<size_t>(at)].type;
    }
    if (!strict_) return dyn();
    std::vector<std::string_view> names;
    for (const StructField& f : operand->fields->fields) names.push_back(f.name);
    return complain(e, fmt::format("unknown field '{}' of {}{}", e.name, operand->fields->name,
                                   suggestion(e.name, names)));
  }
  return complain(e, fmt::format("{} has no fields, so no '{}'", text(operand), e.name));
}

TypeRef Checker::index(const Expr& e) {
  TypeRef operand = known(visit(*e.args[0]));
  TypeRef key = known(visit(*e.args[1]));
  if (operand->is(TypeKind::kOptional)) {
    TypeRef inner = element_type(e, known(operand->params[0]), key);
    return inner->is(TypeKind::kOptional) ? inner : out_.pool->optional(inner);
  }
  TypeRef element = element_type(e, operand, key);
  return e.has(Expr::kOptional) ? out_.pool->optional(element) : element;
}

TypeRef Checker::element_type(const Expr& e, TypeRef operand, TypeRef key) {
  if (operand->is_dyn() || operand->is(TypeKind::kParam)) return dyn();
  if (operand->is(TypeKind::kList)) {
    if (open(key) || key->is(TypeKind::kInt) || key->is(TypeKind::kUint)) return operand->params[0];
    return complain(e, fmt::format("the index of a list is an int, not {}", text(key)));
  }
  if (operand->is(TypeKind::kMap)) {
    TypeRef wanted = known(operand->params[0]);
    if (unifier_.assignable(key, wanted) || (key->is_number() && wanted->is_number()))
      return operand->params[1];
    return complain(e, fmt::format("the keys of this map are {}, not {}", text(wanted), text(key)));
  }
  if (operand->is(TypeKind::kStruct)) {
    const Expr& k = *e.args[1];
    if (open(key)) return dyn();
    if (!key->is(TypeKind::kString))
      return complain(e, fmt::format("the fields of {} have names, not {}", text(operand), text(key)));
    if (k.kind != ExprKind::kLiteral) return dyn();
    int32_t at = operand->fields->index_of(k.value.as_text());
    if (at >= 0) {
      resolution(e).index = at;
      return operand->fields->fields[static_cast<size_t>(at)].type;
    }
    if (!strict_) return dyn();
    std::vector<std::string_view> names;
    for (const StructField& f : operand->fields->fields) names.push_back(f.name);
    return complain(k, fmt::format("unknown field '{}' of {}{}", k.value.as_text(), operand->fields->name,
                                   suggestion(k.value.as_text(), names)));
  }
  return complain(e, fmt::format("{} cannot be indexed", text(operand)));
}

TypeRef Checker::entry_type(const Expr& value, bool optional) {
  TypeRef t = visit(value);
  if (!optional) return t;
  TypeRef k = known(t);
  if (k->is(TypeKind::kOptional)) return k->params[0];
  if (open(k)) return dyn();
  return complain(value, fmt::format("an entry with '?' wants an optional, not {}", text(k)));
}

TypeRef Checker::list(const Expr& e) {
  TypeRef element = nullptr;
  for (size_t i = 0; i < e.args.size(); ++i)
    element = unifier_.join(element, entry_type(*e.args[i], e.entry_optional[i]));
  return out_.pool->list(element == nullptr ? unifier_.fresh() : element);
}

TypeRef Checker::map(const Expr& e) {
  TypeRef key = nullptr, value = nullptr;
  for (size_t i = 0; i < e.entry_optional.size(); ++i) {
    const Expr& k = *e.args[2 * i];
    TypeRef key_type = known(visit(k));
    bool usable = open(key_type) || key_type->is(TypeKind::kString) || key_type->is(TypeKind::kInt) ||
                  key_type->is(TypeKind::kUint) || key_type->is(TypeKind::kBool);
    if (!usable)
      complain(k, fmt::format("{} cannot be a map key; use string, int, uint or bool", text(key_type)));
    key = unifier_.join(key, key_type);
    value = unifier_.join(value, entry_type(*e.args[2 * i + 1], e.entry_optional[i]));
  }
  return out_.pool->map(key == nullptr ? unifier_.fresh() : key, value == nullptr ? unifier_.fresh() : value);
}

}  // namespace ctrlplane::cel
