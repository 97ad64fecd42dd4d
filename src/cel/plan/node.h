// A planned expression: a tree of nodes, each of which evaluates itself. Nodes live in the program's
// arena, are never destroyed one by one and hold nothing that would need it.
#pragma once

#include <cstdint>
#include <span>

#include "cel/plan/activation.h"
#include "cel/value/context.h"
#include "cel/value/value.h"

namespace ctrlplane::cel {

struct Frame : Context {
  std::span<const Value> slots;
  Value* locals;
  const LazyVariables* lazy;

  // An unbound variable is an error.
  Value slot(uint32_t i) {
    if (i < slots.size() && !slots[i].is_absent()) return slots[i];
    return lazy_slot(i);
  }
  Value lazy_slot(uint32_t i);
};

class Node {
 public:
  virtual Value eval(Frame& frame) const = 0;
  // The value if it is known without evaluating.
  virtual const Value* constant() const { return nullptr; }
  // The variable's slot if the node is nothing but a variable, else -1.
  virtual int64_t slot_number() const { return -1; }

  uint32_t position = 0;
  uint32_t cost = 1;  // nodes in this subtree: what one run through it may take, loops apart

 protected:
  ~Node() = default;
};

class ConstantNode final : public Node {
 public:
  explicit ConstantNode(const Value& value) : value_(value) {}
  Value eval(Frame&) const override { return value_; }
  const Value* constant() const override { return &value_; }

 private:
  Value value_;
};

class SlotNode final : public Node {
 public:
  explicit SlotNode(uint32_t slot) : slot_(slot) {}
  Value eval(Frame& frame) const override { return frame.slot(slot_).at(position); }
  int64_t slot_number() const override { return slot_; }

 private:
  uint32_t slot_;
};

class LocalNode final : public Node {
 public:
  explicit LocalNode(uint32_t local) : local_(local) {}
  Value eval(Frame& frame) const override { return frame.locals[local_]; }

 private:
  uint32_t local_;
};

// A name nobody knows, in an expression that was not checked.
class ErrorNode final : public Node {
 public:
  explicit ErrorNode(const Value& error) : error_(error) {}
  Value eval(Frame&) const override { return error_; }

 private:
  Value error_;
};

// Of two errors the one to report: running out of budget before anything, and any other error before
// a missing key, because callers may take a missing key lightly.
inline Value worse_error(const Value& a, const Value& b) {
  if (a.is_absent()) return b;
  if (b.is_budget_error() || (a.is_missing_key() && !b.is_missing_key())) return b;
  return a;
}

}  // namespace ctrlplane::cel
