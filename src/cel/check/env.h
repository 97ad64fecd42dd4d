// What an expression may name: variables with their types, struct types, functions. Built once and
// then only read; a const Env may be used by several threads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cel/check/type.h"
#include "cel/lib/library.h"

namespace ctrlplane::cel {

struct Variable {
  std::string name;
  TypeRef type = nullptr;
};

class Env {
 public:
  Env();  // the standard library, no variables
  ~Env();
  Env(Env&&) noexcept;
  Env& operator=(Env&&) noexcept;

  // Type texts: "string", "list(int)", "map(string, dyn)", "timestamp", "optional_type(int)", the
  // name of a struct declared before. Reading a field a struct does not have is a compile error.
  using Fields = std::vector<std::pair<std::string, std::string>>;
  Status declare_struct(std::string_view name, const Fields& fields);

  // Returns the variable's slot: 0 for the first declared, then 1, … A name may have dots; then the
  // longest name that fits wins over fields.
  Result<uint32_t> declare(std::string_view name, std::string_view type);

  // "string, int -> string". Without `call` the function can be checked but not run.
  Status declare_function(std::string_view name, Style style, std::string_view signature,
                          Function call = nullptr);

  // Names are looked up inside this namespace first: in container "a.b", x means a.b.x, a.x or x.
  void set_container(std::string_view container);

  const std::vector<Variable>& variables() const;
  std::string_view container() const;
  const StructType* find_struct(std::string_view name) const;

  // For the checker. The slot, or -1.
  int32_t find_variable(std::string_view name) const;
  bool has_dotted_names() const;
  const FunctionEntry* find_function(std::string_view name, Style style) const;
  std::vector<std::string_view> function_names(Style style) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ctrlplane::cel
