#include <cmath>
#include <limits>

#include "cel/lib/args.h"
#include "cel/lib/library.h"
#include "cel/value/compare.h"

namespace ctrlplane::cel {
namespace {

// The greatest (or least) of numbers; of equals the first.
Value extreme(Context& ctx, std::span<const Value> args, bool greatest) {
  std::string_view name = greatest ? "math.greatest" : "math.least";
  bool list = args.size() == 1 && args[0].is(Kind::kList);
  size_t n = list ? list_size(args[0]) : args.size();
  if (n == 0) return ctx.fault(Fault::kInvalidArgument, std::string(name) + " of nothing");
  if (!ctx.charge(n)) return ctx.out_of_steps();
  Value best;
  for (size_t i = 0; i < n; ++i) {
    Value v = list ? list_at(ctx.arena, args[0], i) : args[i];
    if (!v.is_number()) return ctx.no_overload(name, args);
    if (best.is_absent()) {
      best = v;
      continue;
    }
    auto o = compare_numbers(v, best);
    if (greatest ? o > 0 : o < 0) best = v;
  }
  return best;
}

Value greatest(Context& ctx, std::span<const Value> args) { return extreme(ctx, args, true); }
Value least(Context& ctx, std::span<const Value> args) { return extreme(ctx, args, false); }

template <double (*kFunction)(double)>
Value rounding(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kDouble})) return ctx.no_overload("math rounding", args);
  return Value::real(kFunction(args[0].as_double()));
}
double ceil_of(double d) { return std::ceil(d); }
double floor_of(double d) { return std::floor(d); }
double round_of(double d) { return std::round(d); }
double trunc_of(double d) { return std::trunc(d); }

Value square_root(Context& ctx, std::span<const Value> args) {
  if (args.size() != 1 || !args[0].is_number()) return ctx.no_overload("math.sqrt", args);
  const Value& v = args[0];
  double d = v.is(Kind::kDouble) ? v.as_double()
             : v.is(Kind::kInt)  ? static_cast<double>(v.as_int())
                                 : static_cast<double>(v.as_uint());
  return Value::real(std::sqrt(d));
}

Value absolute(Context& ctx, std::span<const Value> args) {
  if (args.size() == 1 && args[0].is(Kind::kDouble)) return Value::real(std::fabs(args[0].as_double()));
  if (args.size() == 1 && args[0].is(Kind::kUint)) return args[0];
  if (!kinds_are(args, {Kind::kInt})) return ctx.no_overload("math.abs", args);
  int64_t i = args[0].as_int();
  if (i == std::numeric_limits<int64_t>::min()) return ctx.fault(Fault::kOverflow, "int overflow");
  return Value::integer(i < 0 ? -i : i);
}

Value sign(Context& ctx, std::span<const Value> args) {
  if (args.size() == 1) {
    const Value& v = args[0];
    if (v.is(Kind::kInt)) return Value::integer((v.as_int() > 0) - (v.as_int() < 0));
    if (v.is(Kind::kUint)) return Value::unsigned_integer(v.as_uint() > 0 ? 1 : 0);
    if (v.is(Kind::kDouble)) {
      double d = v.as_double();
      return Value::real(std::isnan(d) ? d : (d > 0) - (d < 0));
    }
  }
  return ctx.no_overload("math.sign", args);
}

enum class Test { kNan, kInf, kFinite };
template <Test kTest>
Value test(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kDouble})) return ctx.no_overload("math floating point test", args);
  double d = args[0].as_double();
  if constexpr (kTest == Test::kNan)
    return Value::boolean(std::isnan(d));
  else if constexpr (kTest == Test::kInf)
    return Value::boolean(std::isinf(d));
  else
    return Value::boolean(std::isfinite(d));
}

enum class Bit { kAnd, kOr, kXor };
template <Bit kBit>
Value bitwise(Context& ctx, std::span<const Value> args) {
  bool ints = kinds_are(args, {Kind::kInt, Kind::kInt});
  if (!ints && !kinds_are(args, {Kind::kUint, Kind::kUint}))
    return ctx.no_overload("math bit operation", args);
  uint64_t a = args[0].as_uint(), b = args[1].as_uint();
  uint64_t r = kBit == Bit::kAnd ? a & b : kBit == Bit::kOr ? a | b : a ^ b;
  return ints ? Value::integer(static_cast<int64_t>(r)) : Value::unsigned_integer(r);
}

Value bit_not(Context& ctx, std::span<const Value> args) {
  if (kinds_are(args, {Kind::kInt})) return Value::integer(~args[0].as_int());
  if (kinds_are(args, {Kind::kUint})) return Value::unsigned_integer(~args[0].as_uint());
  return ctx.no_overload("math.bitNot", args);
}

// Shifts work on the bits: a negative int shifted right loses its sign.
template <bool kLeft>
Value shift(Context& ctx, std::span<const Value> args) {
  bool is_int = kinds_are(args, {Kind::kInt, Kind::kInt});
  if (!is_int && !kinds_are(args, {Kind::kUint, Kind::kInt})) return ctx.no_overload("math bit shift", args);
  int64_t by = args[1].as_int();
  if (by < 0) return ctx.fault(Fault::kInvalidArgument, "negative offset of a bit shift");
  uint64_t bits = args[0].as_uint();
  uint64_t r = by > 63 ? 0 : kLeft ? bits << by : bits >> by;
  return is_int ? Value::integer(static_cast<int64_t>(r)) : Value::unsigned_integer(r);
}

constexpr std::array<std::string_view, 8> kDoubleToDouble = {"double -> double"};
constexpr std::array<std::string_view, 8> kDoubleToBool = {"double -> bool"};
constexpr std::array<std::string_view, 8> kTwoInts = {"int, int -> int", "uint, uint -> uint"};
constexpr std::array<std::string_view, 8> kShift = {"int, int -> int", "uint, int -> uint"};
constexpr std::array<std::string_view, 8> kNumber = {"int -> int", "uint -> uint", "double -> double"};
constexpr std::array<std::string_view, 8> kExtreme = {
    "int -> int",         "uint -> uint",          "double -> double",
    "int, int... -> int", "uint, uint... -> uint", "double, double... -> double",
    "list(A) -> dyn",     "dyn, dyn... -> dyn"};

constexpr FunctionRow kRows[] = {
    {"math.greatest", Style::kGlobal, greatest, kExtreme},
    {"math.least", Style::kGlobal, least, kExtreme},
    {"math.ceil", Style::kGlobal, rounding<ceil_of>, kDoubleToDouble},
    {"math.floor", Style::kGlobal, rounding<floor_of>, kDoubleToDouble},
    {"math.round", Style::kGlobal, rounding<round_of>, kDoubleToDouble},
    {"math.trunc", Style::kGlobal, rounding<trunc_of>, kDoubleToDouble},
    {"math.sqrt", Style::kGlobal, square_root, {"double -> double", "int -> double", "uint -> double"}},
    {"math.abs", Style::kGlobal, absolute, kNumber},
    {"math.sign", Style::kGlobal, sign, kNumber},
    {"math.isNaN", Style::kGlobal, test<Test::kNan>, kDoubleToBool},
    {"math.isInf", Style::kGlobal, test<Test::kInf>, kDoubleToBool},
    {"math.isFinite", Style::kGlobal, test<Test::kFinite>, kDoubleToBool},
    {"math.bitAnd", Style::kGlobal, bitwise<Bit::kAnd>, kTwoInts},
    {"math.bitOr", Style::kGlobal, bitwise<Bit::kOr>, kTwoInts},
    {"math.bitXor", Style::kGlobal, bitwise<Bit::kXor>, kTwoInts},
    {"math.bitNot", Style::kGlobal, bit_not, {"int -> int", "uint -> uint"}},
    {"math.bitShiftLeft", Style::kGlobal, shift<true>, kShift},
    {"math.bitShiftRight", Style::kGlobal, shift<false>, kShift},
};

}  // namespace

std::span<const FunctionRow> math_functions() { return kRows; }

}  // namespace ctrlplane::cel
