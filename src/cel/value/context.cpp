#include "cel/value/context.h"

#include <string>

namespace ctrlplane::cel {

Value Context::out_of_steps() const {
  static const Value::ErrorText kText{"the expression takes too many steps"};
  return Value::error(Fault::kBudget, kText);
}

Value Context::out_of_memory() const {
  static const Value::ErrorText kText{"the expression needs too much memory"};
  return Value::error(Fault::kBudget, kText);
}

Value Context::no_overload(std::string_view function, std::span<const Value> args) {
  std::string text = "no such overload: ";
  text.append(function).append("(");
  for (size_t i = 0; i < args.size(); ++i) {
    if (i != 0) text += ", ";
    text += type_name(args[i]);
  }
  return fault(Fault::kNoOverload, text + ")");
}

Value Context::make_string(std::string_view text) {
  std::string_view s = arena.copy(text);
  return s.data() == nullptr ? out_of_memory() : Value::string(s);
}

Value Context::make_bytes(std::string_view text) {
  std::string_view s = arena.copy(text);
  return s.data() == nullptr ? out_of_memory() : Value::bytes(s);
}

Value Context::make_some(const Value& inner) {
  Value* p = arena.allocate_array<Value>(1);
  if (p == nullptr) return out_of_memory();
  *p = inner;
  return Value::some(p);
}

}  // namespace ctrlplane::cel
