// Which types fit where, and what their parameters stand for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cel/check/type.h"

namespace ctrlplane::cel {

class Unifier {
 public:
  explicit Unifier(TypePool& pool) : pool_(pool) {}

  // A parameter nobody knows anything about yet.
  TypeRef fresh();
  // The signature's types with each of its parameters replaced by a fresh one. `mapping` keeps the
  // pairs from one type of the signature to the next.
  using Renaming = std::vector<std::pair<std::string_view, TypeRef>>;
  TypeRef instantiate(TypeRef type, Renaming& renaming);

  // Whether a value of one type may stand where the other is expected; what this says about
  // parameters is kept if so and forgotten if not.
  bool assignable(TypeRef from, TypeRef to);
  bool assignable(std::span<const TypeRef> from, std::span<const TypeRef> to);

  // Undo of what was learnt since the mark.
  size_t mark() const { return trail_.size(); }
  void undo(size_t mark);

  // With what is known filled in; parameters still open become dyn if `close`.
  TypeRef resolve(TypeRef type, bool close);
  // What a parameter stands for, one level; other types as they are.
  TypeRef shallow(TypeRef type) const;

  // The type of an element that is both: the more general if one fits the other, else dyn.
  TypeRef join(TypeRef previous, TypeRef current);

 private:
  bool fits(TypeRef from, TypeRef to);
  bool fits_all(std::span<const TypeRef> from, std::span<const TypeRef> to);
  bool fits_parameter(TypeRef type, TypeRef param, bool& already_bound);
  bool occurs(TypeRef param, TypeRef in) const;
  void bind(uint32_t id, TypeRef type);

  TypePool& pool_;
  std::vector<TypeRef> bound_;
  std::vector<std::pair<uint32_t, TypeRef>> trail_;
};

bool same_type(TypeRef a, TypeRef b);

}  // namespace ctrlplane::cel
