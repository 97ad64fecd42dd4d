#include <cstring>
#include <limits>

#include "cel/plan/nodes.h"
#include "cel/value/time_text.h"

namespace ctrlplane::cel {
namespace {

Value overflow(Frame& frame, std::string_view what) {
  return frame.fault(Fault::kOverflow, std::string(what) + " overflow");
}

Value divide_by_zero(Frame& frame, Op op) {
  return frame.fault(Fault::kDivideByZero, op == Op::kMod ? "modulus by zero" : "division by zero");
}

Value int_op(Frame& frame, Op op, int64_t a, int64_t b) {
  int64_t r = 0;
  bool bad = false;
  switch (op) {
    case Op::kAdd: bad = __builtin_add_overflow(a, b, &r); break;
    case Op::kSub: bad = __builtin_sub_overflow(a, b, &r); break;
    case Op::kMul: bad = __builtin_mul_overflow(a, b, &r); break;
    default:
      if (b == 0) return divide_by_zero(frame, op);
      bad = a == std::numeric_limits<int64_t>::min() && b == -1;
      if (!bad) r = op == Op::kDiv ? a / b : a % b;
  }
  return bad ? overflow(frame, "int") : Value::integer(r);
}

Value uint_op(Frame& frame, Op op, uint64_t a, uint64_t b) {
  uint64_t r = 0;
  bool bad = false;
  switch (op) {
    case Op::kAdd: bad = __builtin_add_overflow(a, b, &r); break;
    case Op::kSub: bad = __builtin_sub_overflow(a, b, &r); break;
    case Op::kMul: bad = __builtin_mul_overflow(a, b, &r); break;
    default:
      if (b == 0) return divide_by_zero(frame, op);
      r = op == Op::kDiv ? a / b : a % b;
  }
  return bad ? overflow(frame, "uint") : Value::unsigned_integer(r);
}

// Absent: no such operator.
Value double_op(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd: return Value::real(a + b);
    case Op::kSub: return Value::real(a - b);
    case Op::kMul: return Value::real(a * b);
    case Op::kDiv: return Value::real(a / b);
    default: return Value();
  }
}

Value concat_text(Frame& frame, const Value& a, const Value& b) {
  std::string_view x = a.as_text(), y = b.as_text();
  if (x.empty()) return b;
  if (y.empty()) return a;
  if (!frame.charge_bytes(x.size() + y.size())) return frame.out_of_steps();
  size_t size = x.size() + y.size();
  char* p = size > UINT32_MAX ? nullptr : frame.arena.allocate_array<char>(size);
  if (p == nullptr) return frame.out_of_memory();
  std::memcpy(p, x.data(), x.size());
  std::memcpy(p + x.size(), y.data(), y.size());
  return a.is(Kind::kString) ? Value::string({p, size}) : Value::bytes({p, size});
}

Value concat_lists(Frame& frame, const Value& a, const Value& b) {
  size_t n = list_size(a), m = list_size(b);
  if (n == 0) return b;
  if (m == 0) return a;
  if (!frame.charge(1 + (n + m) / 4)) return frame.out_of_steps();
  Value* p = frame.arena.allocate_array<Value>(n + m);
  if (p == nullptr) return frame.out_of_memory();
  for (size_t i = 0; i < n; ++i) p[i] = list_at(frame.arena, a, i);
  for (size_t i = 0; i < m; ++i) p[n + i] = list_at(frame.arena, b, i);
  return Value::list({p, n + m});
}

Value shift_time(Frame& frame, const Value& t, int64_t nanos, bool back) {
  __int128 total = __int128{t.seconds()} * kNanosPerSecond + t.nanos();
  total += back ? -__int128{nanos} : __int128{nanos};
  __int128 seconds = total / kNanosPerSecond, rest = total % kNanosPerSecond;
  if (rest < 0) --seconds, rest += kNanosPerSecond;
  if (seconds < kMinTimestampSeconds || seconds > kMaxTimestampSeconds)
    return frame.fault(Fault::kRange, "timestamp out of range");
  return Value::timestamp(static_cast<int64_t>(seconds), static_cast<uint32_t>(rest));
}

Value time_difference(Frame& frame, const Value& a, const Value& b) {
  __int128 nanos =
      (__int128{a.seconds()} - b.seconds()) * kNanosPerSecond + (int64_t{a.nanos()} - int64_t{b.nanos()});
  if (nanos > INT64_MAX || nanos < INT64_MIN) return frame.fault(Fault::kRange, "duration out of range");
  return Value::duration(static_cast<int64_t>(nanos));
}

Value duration_op(Frame& frame, Op op, int64_t a, int64_t b) {
  int64_t r = 0;
  bool bad = op == Op::kAdd ? __builtin_add_overflow(a, b, &r) : __builtin_sub_overflow(a, b, &r);
  return bad ? frame.fault(Fault::kRange, "duration out of range") : Value::duration(r);
}

// Absent: no such operator for these kinds.
Value apply(Frame& frame, Op op, const Value& a, const Value& b) {
  bool sum = op == Op::kAdd || op == Op::kSub;
  if (a.kind() == b.kind()) {
    switch (a.kind()) {
      case Kind::kInt: return int_op(frame, op, a.as_int(), b.as_int());
      case Kind::kUint: return uint_op(frame, op, a.as_uint(), b.as_uint());
      case Kind::kDouble: return double_op(op, a.as_double(), b.as_double());
      case Kind::kString:
      case Kind::kBytes: return op == Op::kAdd ? concat_text(frame, a, b) : Value();
      case Kind::kList: return op == Op::kAdd ? concat_lists(frame, a, b) : Value();
      case Kind::kTimestamp: return op == Op::kSub ? time_difference(frame, a, b) : Value();
      case Kind::kDuration:
        return sum ? duration_op(frame, op, a.duration_nanos(), b.duration_nanos()) : Value();
      default: return Value();
    }
  }
  if (a.is(Kind::kTimestamp) && b.is(Kind::kDuration) && sum)
    return shift_time(frame, a, b.duration_nanos(), op == Op::kSub);
  if (a.is(Kind::kDuration) && b.is(Kind::kTimestamp) && op == Op::kAdd)
    return shift_time(frame, b, a.duration_nanos(), false);
  return Value();
}

class ArithmeticNode final : public Node {
 public:
  ArithmeticNode(Op op, const Node* left, const Node* right) : left_(left), right_(right), op_(op) {}

  Value eval(Frame& frame) const override {
    Value a = left_->eval(frame);
    if (a.is_error()) return a;
    Value b = right_->eval(frame);
    if (b.is_error()) return b;
    Value r = apply(frame, op_, a, b);
    if (!r.is_absent()) return r.at(position);
    Value both[] = {a, b};
    return frame.no_overload(op_text(op_), both).at(position);
  }

 private:
  const Node* left_;
  const Node* right_;
  Op op_;
};

class NotNode final : public Node {
 public:
  explicit NotNode(const Node* operand) : operand_(operand) {}
  Value eval(Frame& frame) const override {
    Value v = operand_->eval(frame);
    if (v.is(Kind::kBool)) return Value::boolean(!v.as_bool());
    return v.is_error() ? v : frame.no_overload("!_", {&v, 1}).at(position);
  }

 private:
  const Node* operand_;
};

class NegateNode final : public Node {
 public:
  explicit NegateNode(const Node* operand) : operand_(operand) {}
  Value eval(Frame& frame) const override {
    Value v = operand_->eval(frame);
    if (v.is(Kind::kDouble)) return Value::real(-v.as_double());
    if (v.is(Kind::kInt)) return int_op(frame, Op::kSub, 0, v.as_int()).at(position);
    return v.is_error() ? v : frame.no_overload("-_", {&v, 1}).at(position);
  }

 private:
  const Node* operand_;
};

}  // namespace

Node* make_unary(Store& store, Op op, const Node* operand) {
  if (op == Op::kNot) return store.make<NotNode>(operand);
  return store.make<NegateNode>(operand);
}

Node* make_binary(Store& store, Op op, const Node* left, const Node* right) {
  return store.make<ArithmeticNode>(op, left, right);
}

}  // namespace ctrlplane::cel
