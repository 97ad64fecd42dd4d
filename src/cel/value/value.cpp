#include "cel/value/value.h"

#include <cstring>
#include <new>

namespace ctrlplane::cel {

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::kMissingKey: return "missing_key";
    case Fault::kNoOverload: return "no_such_overload";
    case Fault::kUnknownName: return "unknown_name";
    case Fault::kUnbound: return "unbound_variable";
    case Fault::kDivideByZero: return "divide_by_zero";
    case Fault::kOverflow: return "overflow";
    case Fault::kRange: return "range";
    case Fault::kIndex: return "index_out_of_range";
    case Fault::kInvalidArgument: return "invalid_argument";
    case Fault::kBudget: return "budget";
  }
  return "?";
}

uint64_t hash_text(std::string_view s) {
  // Eight bytes a step, multiply and fold: short keys (the usual metadata) take two or three steps.
  constexpr uint64_t kMul = 0x9fb21c651e98df25ull;
  uint64_t h = s.size() * kMul ^ 0xcbf29ce484222325ull;
  const char* p = s.data();
  size_t n = s.size();
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    h = (h ^ w) * kMul;
    h ^= h >> 32;
  }
  if (n != 0) {
    uint64_t w = 0;
    std::memcpy(&w, p, n);
    h = (h ^ w) * kMul;
    h ^= h >> 32;
  }
  return h * kMul;
}

Value Value::timestamp(Time t) {
  int64_t s = t.us / 1000000, us = t.us % 1000000;
  if (us < 0) --s, us += 1000000;
  return timestamp(s, static_cast<uint32_t>(us * 1000));
}

Time Value::as_time() const { return {i_ * 1000000 + extra_ / 1000}; }

Value Value::error(Arena& arena, Fault fault, std::string_view message, uint32_t position) {
  static const ErrorText kNoRoom{"out of memory for this evaluation"};
  void* p = arena.allocate(sizeof(ErrorText));
  if (p == nullptr) return error(Fault::kBudget, kNoRoom, position);
  std::string_view copied = arena.copy(message);
  if (copied.data() == nullptr) return error(Fault::kBudget, kNoRoom, position);
  return error(fault, *new (p) ErrorText{copied}, position);
}

std::string_view type_name(const Value& v) {
  switch (v.kind()) {
    case Kind::kAbsent: return "absent";
    case Kind::kError: return "error";
    case Kind::kNull: return "null_type";
    case Kind::kBool: return "bool";
    case Kind::kInt: return "int";
    case Kind::kUint: return "uint";
    case Kind::kDouble: return "double";
    case Kind::kString: return "string";
    case Kind::kBytes: return "bytes";
    case Kind::kList: return "list";
    case Kind::kMap: return "map";
    case Kind::kTimestamp: return "google.protobuf.Timestamp";
    case Kind::kDuration: return "google.protobuf.Duration";
    case Kind::kType: return "type";
    case Kind::kOptional: return "optional_type";
    case Kind::kOpaque: return v.as_opaque().type_name();
  }
  return "?";
}

}  // namespace ctrlplane::cel
