#include "cel/check/unify.h"

#include <algorithm>

namespace ctrlplane::cel {
namespace {

bool accepts_null(TypeRef t) {
  return t->is_dyn() || t->is(TypeKind::kNull) || t->is(TypeKind::kTimestamp) || t->is(TypeKind::kDuration) ||
         t->is(TypeKind::kStruct) || t->is(TypeKind::kAbstract) || t->is(TypeKind::kOptional);
}

// Whether `a` says no more than `b` does.
bool at_least_as_general(TypeRef a, TypeRef b) {
  if (a->is_dyn() || a->is(TypeKind::kParam)) return true;
  if (b->is_dyn() || b->is(TypeKind::kParam)) return false;
  if (a->kind != b->kind || a->name != b->name || a->params.size() != b->params.size()) return false;
  if (a->is(TypeKind::kType)) return true;
  if (a->is(TypeKind::kStruct)) return a->fields == b->fields;
  for (size_t i = 0; i < a->params.size(); ++i)
    if (!at_least_as_general(a->params[i], b->params[i])) return false;
  return true;
}

TypeRef more_general(TypeRef a, TypeRef b) { return at_least_as_general(a, b) ? a : b; }

}  // namespace

bool same_type(TypeRef a, TypeRef b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->name != b->name || a->param_id != b->param_id || a->fields != b->fields ||
      a->params.size() != b->params.size())
    return false;
  for (size_t i = 0; i < a->params.size(); ++i)
    if (!same_type(a->params[i], b->params[i])) return false;
  return true;
}

TypeRef Unifier::fresh() {
  bound_.push_back(nullptr);
  return pool_.param({}, static_cast<uint32_t>(bound_.size() - 1));
}

TypeRef Unifier::instantiate(TypeRef type, Renaming& renaming) {
  if (!type->has_params) return type;
  if (type->is(TypeKind::kParam)) {
    for (auto& [name, param] : renaming)
      if (name == type->name) return param;
    renaming.emplace_back(type->name, fresh());
    return renaming.back().second;
  }
  std::vector<TypeRef> params;
  for (TypeRef p : type->params) params.push_back(instantiate(p, renaming));
  return pool_.with_params(type, params);
}

void Unifier::bind(uint32_t id, TypeRef type) {
  trail_.emplace_back(id, bound_[id]);
  bound_[id] = type;
}

void Unifier::undo(size_t mark) {
  while (trail_.size() > mark) {
    bound_[trail_.back().first] = trail_.back().second;
    trail_.pop_back();
  }
}

TypeRef Unifier::shallow(TypeRef type) const {
  while (type->is(TypeKind::kParam) && bound_[type->param_id] != nullptr) type = bound_[type->param_id];
  return type;
}

bool Unifier::occurs(TypeRef param, TypeRef in) const {
  if (!in->has_params) return false;
  if (in->is(TypeKind::kParam)) {
    if (in->param_id == param->param_id) return true;
    TypeRef bound = bound_[in->param_id];
    return bound != nullptr && occurs(param, bound);
  }
  return std::any_of(in->params.begin(), in->params.end(), [&](TypeRef p) { return occurs(param, p); });
}

bool Unifier::fits_parameter(TypeRef type, TypeRef param, bool& already_bound) {
  already_bound = true;
  if (same_type(type, param)) return true;
  if (TypeRef bound = bound_[param->param_id]; bound != nullptr) {
    if (same_type(type, bound)) return true;
    if (!fits(type, bound)) return false;
    TypeRef wider = more_general(type, bound);
    if (!occurs(param, wider)) bind(param->param_id, wider);
    return true;
  }
  already_bound = false;
  if (occurs(param, type)) return false;
  bind(param->param_id, type);
  return true;
}

bool Unifier::fits(TypeRef from, TypeRef to) {
  bool bound = false;
  if (to->is(TypeKind::kParam)) {
    if (fits_parameter(from, to, bound)) return true;
    if (bound) return false;
  }
  if (from->is(TypeKind::kParam)) return fits_parameter(to, from, bound);
  if (from->is_dyn() || to->is_dyn()) return true;
  if (from->is(TypeKind::kNull)) return accepts_null(to);
  if (to->is(TypeKind::kNull)) return accepts_null(from);
  if (from->kind != to->kind) return false;
  switch (from->kind) {
    case TypeKind::kType: return true;
    case TypeKind::kStruct: return from->fields == to->fields;
    default: return from->name == to->name && fits_all(from->params, to->params);
  }
}

bool Unifier::fits_all(std::span<const TypeRef> from, std::span<const TypeRef> to) {
  if (from.size() != to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i)
    if (!fits(from[i], to[i])) return false;
  return true;
}

bool Unifier::assignable(TypeRef from, TypeRef to) {
  size_t before = mark();
  if (fits(from, to)) return true;
  undo(before);
  return false;
}

bool Unifier::assignable(std::span<const TypeRef> from, std::span<const TypeRef> to) {
  size_t before = mark();
  if (fits_all(from, to)) return true;
  undo(before);
  return false;
}

TypeRef Unifier::resolve(TypeRef type, bool close) {
  if (!type->has_params) return type;
  if (type->is(TypeKind::kParam)) {
    if (TypeRef bound = bound_[type->param_id]; bound != nullptr) return resolve(bound, close);
    return close ? simple_type(TypeKind::kDyn) : type;
  }
  std::vector<TypeRef> params;
  for (TypeRef p : type->params) params.push_back(resolve(p, close));
  return pool_.with_params(type, params);
}

TypeRef Unifier::join(TypeRef previous, TypeRef current) {
  if (previous == nullptr) return current;
  if (assignable(previous, current)) return more_general(previous, current);
  return simple_type(TypeKind::kDyn);
}

}  // namespace ctrlplane::cel
