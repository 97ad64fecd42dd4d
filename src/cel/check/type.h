// Static types of the gradual checker. `dyn` fits everything; a declared struct knows its fields; a
// parameter stands for a type to be found out (only in signatures and while checking).
//
// Types are immutable and borrowed from a TypePool (or from the static set of simple types).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ctrlplane::cel {

enum class TypeKind : uint8_t {
  kDyn,
  kError,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kList,
  kMap,
  kOptional,
  kType,
  kStruct,
  kAbstract,
  kParam,
};

struct Type;
using TypeRef = const Type*;

struct StructField {
  std::string name;
  TypeRef type = nullptr;
};

struct StructType {
  std::string name;
  std::vector<StructField> fields;

  // -1 when there is no such field.
  int32_t index_of(std::string_view field) const;
};

struct Type {
  TypeKind kind = TypeKind::kDyn;
  std::string_view name;               // kAbstract, kParam
  std::span<const TypeRef> params;     // element; key and value; an abstract type's
  const StructType* fields = nullptr;  // kStruct
  uint32_t param_id = 0;               // kParam while checking
  bool has_params = false;             // a kParam occurs in it

  bool is(TypeKind k) const { return kind == k; }
  bool is_dyn() const { return kind == TypeKind::kDyn || kind == TypeKind::kError; }
  bool is_number() const {
    return kind == TypeKind::kInt || kind == TypeKind::kUint || kind == TypeKind::kDouble;
  }
};

// The one instance of a type without parameters.
TypeRef simple_type(TypeKind kind);

class TypePool {
 public:
  TypeRef list(TypeRef element) { return make(TypeKind::kList, {}, {&element, 1}); }
  TypeRef map(TypeRef key, TypeRef value);
  TypeRef optional(TypeRef inner) { return make(TypeKind::kOptional, {}, {&inner, 1}); }
  TypeRef type_of(TypeRef inner) { return make(TypeKind::kType, {}, {&inner, 1}); }
  TypeRef abstract(std::string_view name, std::span<const TypeRef> params) {
    return make(TypeKind::kAbstract, store(name), params);
  }
  TypeRef param(std::string_view name, uint32_t id);
  TypeRef structure(const StructType* fields);
  // The same type around other parameters.
  TypeRef with_params(TypeRef type, std::span<const TypeRef> params) {
    return make(type->kind, type->name, params);
  }

 private:
  TypeRef make(TypeKind kind, std::string_view name, std::span<const TypeRef> params);
  std::string_view store(std::string_view name);

  std::deque<Type> types_;
  std::deque<std::vector<TypeRef>> params_;
  std::deque<std::string> names_;
};

// "list(map(string, int))"; a lone capital letter is a parameter, and an unknown name with
// parentheses an abstract type. Names of structs are looked up in `structs`.
Result<TypeRef> parse_type(std::string_view text, TypePool& pool, const std::deque<StructType>& structs = {});
std::string to_string(TypeRef type);

}  // namespace ctrlplane::cel
