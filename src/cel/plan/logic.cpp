#include "cel/plan/nodes.h"

namespace ctrlplane::cel {
namespace {

// && and || over any number of terms. The deciding value (false for &&) wins over errors before and
// after it; otherwise the worst error is the result.
template <bool kDecides>
class LogicNode final : public Node {
 public:
  explicit LogicNode(std::span<const Node* const> terms) : terms_(terms) {}

  Value eval(Frame& frame) const override {
    Value error;
    for (const Node* term : terms_) {
      Value v = term->eval(frame);
      if (v.is(Kind::kBool)) [[likely]] {
        if (v.as_bool() == kDecides) return v;
        continue;
      }
      if (v.is_budget_error()) return v;
      if (!v.is_error()) v = frame.no_overload(kDecides ? "_||_" : "_&&_", {&v, 1}).at(position);
      error = worse_error(error, v);
    }
    return error.is_absent() ? Value::boolean(!kDecides) : error;
  }

 private:
  std::span<const Node* const> terms_;
};

class ConditionalNode final : public Node {
 public:
  ConditionalNode(const Node* condition, const Node* yes, const Node* no)
      : condition_(condition), yes_(yes), no_(no) {}

  Value eval(Frame& frame) const override {
    Value c = condition_->eval(frame);
    if (c.is(Kind::kBool)) return c.as_bool() ? yes_->eval(frame) : no_->eval(frame);
    return c.is_error() ? c : frame.no_overload("_?_:_", {&c, 1}).at(position);
  }

 private:
  const Node* condition_;
  const Node* yes_;
  const Node* no_;
};

}  // namespace

Node* make_logic(Store& store, Op op, std::span<const Node* const> terms) {
  auto kept = store.copy<const Node*>(terms);
  if (op == Op::kAnd) return store.make<LogicNode<false>>(kept);
  return store.make<LogicNode<true>>(kept);
}

Node* make_conditional(Store& store, const Node* condition, const Node* yes, const Node* no) {
  return store.make<ConditionalNode>(condition, yes, no);
}

}  // namespace ctrlplane::cel
