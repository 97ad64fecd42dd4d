#include "cel/value/compare.h"

#include <bit>

#include "cel/plan/nodes.h"
#include "cel/plan/operand.h"
#include "cel/value/map.h"

namespace ctrlplane::cel {
namespace {

class EqualNode final : public Node {
 public:
  EqualNode(const Node* left, const Node* right, bool wanted) : left_(left), right_(right), wanted_(wanted) {}

  Value eval(Frame& frame) const override {
    Value a = left_->eval(frame);
    if (a.is_error()) return a;
    Value b = right_->eval(frame);
    if (b.is_error()) return b;
    Value same = equal(frame, a, b);
    if (same.is_error()) return same.at(position);
    return Value::boolean(same.as_bool() == wanted_);
  }

 private:
  const Node* left_;
  const Node* right_;
  bool wanted_;
};

// operand == 'text'
template <class Operand>
class EqualTextNode final : public Node {
 public:
  EqualTextNode(const Operand& operand, const Value& text, bool wanted)
      : operand_(operand), text_(text), wanted_(wanted) {}

  Value eval(Frame& frame) const override {
    Value v = operand_.read(frame);
    if (v.is(Kind::kString)) [[likely]]
      return Value::boolean((v.as_text() == text_.as_text()) == wanted_);
    if (v.is_error()) return v;
    return Value::boolean(deep_equal(frame, v, text_) == wanted_);
  }

 private:
  Operand operand_;
  Value text_;
  bool wanted_;
};

template <Op kOp>
class OrderNode final : public Node {
 public:
  OrderNode(const Node* left, const Node* right) : left_(left), right_(right) {}

  Value eval(Frame& frame) const override {
    Value a = left_->eval(frame);
    if (a.is_error()) return a;
    Value b = right_->eval(frame);
    if (b.is_error()) return b;
    if (a.is(Kind::kInt) && b.is(Kind::kInt)) return Value::boolean(holds(a.as_int() <=> b.as_int()));
    auto o = order(a, b);
    if (o) return Value::boolean(holds(*o));
    Value both[] = {a, b};
    return frame.no_overload(op_text(kOp), both).at(position);
  }

 private:
  static bool holds(std::partial_ordering o) {
    if constexpr (kOp == Op::kLt)
      return o < 0;
    else if constexpr (kOp == Op::kLe)
      return o <= 0;
    else if constexpr (kOp == Op::kGt)
      return o > 0;
    else
      return o >= 0;
  }
  const Node* left_;
  const Node* right_;
};

class InNode final : public Node {
 public:
  InNode(const Node* item, const Node* container) : item_(item), container_(container) {}

  Value eval(Frame& frame) const override {
    Value item = item_->eval(frame);
    if (item.is_error()) return item;
    Value container = container_->eval(frame);
    if (container.is(Kind::kList)) {
      for (size_t i = 0, n = list_size(container); i < n; ++i) {
        if (!frame.charge(1)) return frame.out_of_steps().at(position);
        Value same = equal(frame, list_at(frame.arena, container, i), item);
        if (same.is_error()) return same.at(position);
        if (same.as_bool()) return same;
      }
      return Value::boolean(false);
    }
    if (container.is(Kind::kMap)) return Value::boolean(!map_find(frame.arena, container, item).is_absent());
    if (container.is_error()) return container;
    Value both[] = {item, container};
    return frame.no_overload("@in", both).at(position);
  }

 private:
  const Node* item_;
  const Node* container_;
};

// operand in ['a', 'b', …] with constant texts: one after the other if few, else by hash.
template <class Operand>
class InTextsNode final : public Node {
 public:
  InTextsNode(const Operand& operand, std::span<const Value> texts, std::span<const uint32_t> slots)
      : operand_(operand), texts_(texts), slots_(slots) {}

  Value eval(Frame& frame) const override {
    Value v = operand_.read(frame);
    if (v.is(Kind::kString)) [[likely]]
      return Value::boolean(contains(v.as_text()));
    if (v.is_error()) return v;
    for (const Value& text : texts_)
      if (deep_equal(frame, v, text)) return Value::boolean(true);
    return Value::boolean(false);
  }

 private:
  bool contains(std::string_view s) const {
    if (slots_.empty()) {
      for (const Value& text : texts_)
        if (text.as_text() == s) return true;
      return false;
    }
    size_t mask = slots_.size() - 1;
    for (size_t at = hash_text(s) & mask; slots_[at] != 0; at = (at + 1) & mask)
      if (texts_[slots_[at] - 1].as_text() == s) return true;
    return false;
  }

  Operand operand_;
  std::span<const Value> texts_;
  std::span<const uint32_t> slots_;  // text number + 1; 0 is free
};

bool all_texts(const Value& v) {
  if (!v.is(Kind::kList) || v.is_foreign() || v.items().empty()) return false;
  for (const Value& item : v.items())
    if (!item.is(Kind::kString)) return false;
  return true;
}

// Null if the texts were chosen to collide: then comparing them one by one, which is charged for, is
// the better plan.
constexpr size_t kMaxProbes = 500;
Node* make_in_texts(Store& store, const Node* item, std::span<const Value> texts) {
  std::vector<uint32_t> slots;
  if (texts.size() > 8) {
    slots.resize(std::bit_ceil(texts.size() * 2));
    for (size_t i = 0; i < texts.size(); ++i) {
      size_t at = hash_text(texts[i].as_text()) & (slots.size() - 1), probes = 0;
      for (; slots[at] != 0; at = (at + 1) & (slots.size() - 1))
        if (++probes > kMaxProbes) return nullptr;
      slots[at] = static_cast<uint32_t>(i + 1);
    }
  }
  std::span<const uint32_t> kept = store.copy<uint32_t>(slots);
  return make_with_operand<InTextsNode>(store, item, texts, kept);
}

}  // namespace

Node* make_comparison(Store& store, Op op, const Node* left, const Node* right) {
  switch (op) {
    case Op::kEq:
    case Op::kNe:
      if (right->constant() != nullptr && right->constant()->is(Kind::kString))
        return make_with_operand<EqualTextNode>(store, left, *right->constant(), op == Op::kEq);
      if (left->constant() != nullptr && left->constant()->is(Kind::kString))
        return make_with_operand<EqualTextNode>(store, right, *left->constant(), op == Op::kEq);
      return store.make<EqualNode>(left, right, op == Op::kEq);
    case Op::kIn:
      if (right->constant() != nullptr && all_texts(*right->constant()))
        if (Node* node = make_in_texts(store, left, right->constant()->items())) return node;
      return store.make<InNode>(left, right);
    case Op::kLt: return store.make<OrderNode<Op::kLt>>(left, right);
    case Op::kLe: return store.make<OrderNode<Op::kLe>>(left, right);
    case Op::kGt: return store.make<OrderNode<Op::kGt>>(left, right);
    default: return store.make<OrderNode<Op::kGe>>(left, right);
  }
}

}  // namespace ctrlplane::cel
