#include "cel/lib/regex.h"
#include "cel/plan/nodes.h"
#include "cel/plan/operand.h"

namespace ctrlplane::cel {
namespace {

constexpr size_t kMaxArgs = 16;  // more are gathered in the arena

class CallNode final : public Node {
 public:
  CallNode(Function call, std::span<const Node* const> args) : call_(call), args_(args) {}

  Value eval(Frame& frame) const override {
    Value few[kMaxArgs];
    Value* values = few;
    if (args_.size() > kMaxArgs) values = frame.arena.allocate_array<Value>(args_.size());
    if (values == nullptr) return frame.out_of_memory().at(position);
    for (size_t i = 0; i < args_.size(); ++i) {
      values[i] = args_[i]->eval(frame);
      if (values[i].is_error()) return values[i];
    }
    return call_(frame, {values, args_.size()}).at(position);
  }

 private:
  Function call_;
  std::span<const Node* const> args_;
};

class CallOneNode final : public Node {
 public:
  CallOneNode(Function call, const Node* arg) : call_(call), arg_(arg) {}
  Value eval(Frame& frame) const override {
    Value v = arg_->eval(frame);
    return v.is_error() ? v : call_(frame, {&v, 1}).at(position);
  }

 private:
  Function call_;
  const Node* arg_;
};

enum class TextTest : uint8_t { kStartsWith, kEndsWith, kContains };

// operand.startsWith('text') and its like with a constant.
template <TextTest kTest>
struct TextTestFor {
  template <class Operand>
  class Node final : public cel::Node {
   public:
    Node(const Operand& operand, const Value& text, Function call)
        : operand_(operand), text_(text), call_(call) {}

    Value eval(Frame& frame) const override {
      Value v = operand_.read(frame);
      if (v.is(Kind::kString)) [[likely]] {
        std::string_view s = v.as_text(), t = text_.as_text();
        if constexpr (kTest == TextTest::kStartsWith)
          return Value::boolean(s.starts_with(t));
        else if constexpr (kTest == TextTest::kEndsWith)
          return Value::boolean(s.ends_with(t));
        else if (s.size() < 4096)
          return Value::boolean(s.find(t) != s.npos);
      }
      if (v.is_error()) return v;
      const Value args[2] = {v, text_};
      return call_(frame, std::span<const Value>(args, 2)).at(position);
    }

   private:
    Operand operand_;
    Value text_;
    Function call_;
  };
};

// text.matches('pattern') with the pattern compiled once.
template <class Operand>
class MatchesNode final : public Node {
 public:
  MatchesNode(const Operand& operand, const Regex* regex) : operand_(operand), regex_(regex) {}

  Value eval(Frame& frame) const override {
    Value v = operand_.read(frame);
    if (v.is_error()) return v;
    if (!v.is(Kind::kString)) return frame.no_overload("matches", {&v, 1}).at(position);
    if (!frame.charge_bytes(v.as_text().size())) return frame.out_of_steps().at(position);
    return Value::boolean(regex_->matches(v.as_text()));
  }

 private:
  Operand operand_;
  const Regex* regex_;
};

// optional.or(other) and optional.orValue(other): the other side is not looked at if there is a value.
class OrElseNode final : public Node {
 public:
  OrElseNode(Function call, const Node* left, const Node* right, bool unwrap)
      : call_(call), left_(left), right_(right), unwrap_(unwrap) {}

  Value eval(Frame& frame) const override {
    Value v = left_->eval(frame);
    if (v.is_error()) return v;
    if (v.is(Kind::kOptional) && v.has_value()) return unwrap_ ? v.inner() : v;
    Value other = right_->eval(frame);
    if (other.is_error()) return other;
    const Value args[2] = {v, other};
    return call_(frame, std::span<const Value>(args, 2)).at(position);
  }

 private:
  Function call_;
  const Node* left_;
  const Node* right_;
  bool unwrap_;
};

const Value* constant_text(const Node* node) {
  const Value* v = node->constant();
  return v != nullptr && v->is(Kind::kString) ? v : nullptr;
}

}  // namespace

Node* make_call(Store& store, RegexSet& regexes, const FunctionEntry& function,
                std::span<const Node* const> args) {
  const std::string& name = function.name;
  if (args.size() == 2 && constant_text(args[1]) != nullptr && function.call != nullptr) {
    const Value& text = *constant_text(args[1]);
    if (function.style == Style::kMember) {
      if (name == "startsWith")
        return make_with_operand<TextTestFor<TextTest::kStartsWith>::Node>(store, args[0], text,
                                                                           function.call);
      if (name == "endsWith")
        return make_with_operand<TextTestFor<TextTest::kEndsWith>::Node>(store, args[0], text, function.call);
      if (name == "contains")
        return make_with_operand<TextTestFor<TextTest::kContains>::Node>(store, args[0], text, function.call);
    }
    if (name == "matches")
      if (const Regex* regex = regexes.compile(text.as_text()))
        return make_with_operand<MatchesNode>(store, args[0], regex);
  }
  if (args.size() == 2 && function.style == Style::kMember && (name == "or" || name == "orValue"))
    return store.make<OrElseNode>(function.call, args[0], args[1], name == "orValue");
  if (args.size() == 1) return store.make<CallOneNode>(function.call, args[0]);
  return store.make<CallNode>(function.call, store.copy<const Node*>(args));
}

}  // namespace ctrlplane::cel
