// Makers of the nodes, by family. Each takes an allocator (the program's arena) and what it needs
// already planned; position and cost are set by the planner.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "cel/lib/library.h"
#include "cel/plan/node.h"
#include "cel/syntax/ast.h"

namespace ctrlplane::cel {

class RegexSet;

// The program's memory. It is bounded by the size of the source, so running out is a defect.
class Store {
 public:
  explicit Store(Arena& arena) : arena_(arena) {}

  template <class T, class... Args>
  T* make(Args&&... args) {
    void* p = arena_.allocate(sizeof(T));
    CHECK(p != nullptr);
    return new (p) T(std::forward<Args>(args)...);
  }
  template <class T>
  std::span<T> copy(std::span<const T> items) {
    T* p = arena_.allocate_array<T>(items.size());
    CHECK(p != nullptr);
    std::uninitialized_copy(items.begin(), items.end(), p);
    return {p, items.size()};
  }
  std::string_view text(std::string_view s) {
    std::string_view copied = arena_.copy(s);
    CHECK(copied.data() != nullptr);
    return copied;
  }
  Name name(std::string_view s, int32_t index = -1) { return {text(s), hash_text(s), index}; }
  const Value::ErrorText* error_text(std::string_view s) {
    return make<Value::ErrorText>(Value::ErrorText{text(s)});
  }
  Arena& arena() { return arena_; }

 private:
  Arena& arena_;
};

// access.cpp
// operand.a.b['c']: constant names only.
Node* make_path(Store& store, const Node* operand, std::span<const Name> names,
                std::span<const uint32_t> positions);
Node* make_optional_select(Store& store, const Node* operand, const Name& name);
Node* make_has(Store& store, const Node* operand, const Name& name);
Node* make_index(Store& store, const Node* operand, const Node* index, bool optional);

// operators.cpp
Node* make_unary(Store& store, Op op, const Node* operand);
Node* make_binary(Store& store, Op op, const Node* left, const Node* right);
// logic.cpp
Node* make_logic(Store& store, Op op, std::span<const Node* const> terms);
Node* make_conditional(Store& store, const Node* condition, const Node* yes, const Node* no);
// compare.cpp: ==, !=, in and orders, with forms of their own for constant right-hand sides
Node* make_comparison(Store& store, Op op, const Node* left, const Node* right);

// calls.cpp
Node* make_call(Store& store, RegexSet& regexes, const FunctionEntry& function,
                std::span<const Node* const> args);
// collections.cpp
Node* make_list(Store& store, std::span<const Node* const> items, std::span<const bool> optional);
Node* make_map(Store& store, std::span<const Node* const> parts, std::span<const bool> optional);

// comprehensions.cpp
struct Loop {
  const Node* range = nullptr;
  const Node* filter = nullptr;  // null if there is none
  const Node* body = nullptr;
  uint32_t local = 0;  // of the first variable; the second is next to it
  bool two = false;
};
Node* make_comprehension(Store& store, Macro macro, const Loop& loop);
Node* make_bind(Store& store, const Node* initial, const Node* body, uint32_t local);
Node* make_optional_map(Store& store, const Node* target, const Node* body, uint32_t local, bool flat);

// Whether the value has this operator's meaning of "empty", as optional.ofNonZeroValue sees it.
bool is_zero_value(const Value& v);

}  // namespace ctrlplane::cel
