// The functions an expression may call. A family is one file with a table of rows; a row is a name,
// how it is called, its signatures for the checker and the one C++ function that serves them all,
// looking at the kinds of its arguments.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/check/type.h"
#include "cel/value/context.h"
#include "cel/value/value.h"

namespace ctrlplane::cel {

// Arguments are never errors or absent. An error it returns need not have a position.
using Function = Value (*)(Context& ctx, std::span<const Value> args);

enum class Style : uint8_t { kGlobal, kMember };  // f(a, b) or a.f(b)

struct FunctionRow {
  std::string_view name;
  Style style;
  Function call;
  // "string, int -> string"; a member's first type is its receiver's. "T..." at the end of the list
  // means any number of further arguments.
  std::array<std::string_view, 8> signatures;
};

struct Overload {
  std::vector<TypeRef> params;
  TypeRef result = nullptr;
  bool variadic = false;  // the last param repeats
};

struct FunctionEntry {
  std::string name;
  Style style = Style::kGlobal;
  Function call = nullptr;  // null: declared for checking only
  std::vector<Overload> overloads;
};

class Library {
 public:
  Library();
  ~Library();
  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;

  Status add(const FunctionRow& row);
  Status add(std::string_view name, Style style, Function call, std::string_view signature);
  const FunctionEntry* find(std::string_view name, Style style) const;
  std::vector<std::string_view> names(Style style) const;

 private:
  struct State;  // keeps the hash table's header out of everybody's way
  std::unique_ptr<State> state_;
};

// All families below, built once.
const Library& standard_library();

std::span<const FunctionRow> core_functions();
std::span<const FunctionRow> conversion_functions();
std::span<const FunctionRow> string_functions();
std::span<const FunctionRow> format_functions();
std::span<const FunctionRow> math_functions();
std::span<const FunctionRow> list_functions();
std::span<const FunctionRow> set_functions();
std::span<const FunctionRow> encoder_functions();
std::span<const FunctionRow> time_functions();
std::span<const FunctionRow> regex_functions();
std::span<const FunctionRow> optional_functions();
std::span<const FunctionRow> network_functions();

}  // namespace ctrlplane::cel
