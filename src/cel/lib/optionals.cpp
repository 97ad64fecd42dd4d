#include "cel/lib/args.h"
#include "cel/lib/library.h"
#include "cel/plan/nodes.h"
#include "cel/value/map.h"
#include "cel/value/time_text.h"

namespace ctrlplane::cel {

bool is_zero_value(const Value& v) {
  switch (v.kind()) {
    case Kind::kNull: return true;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDuration: return v.as_int() == 0;
    case Kind::kDouble: return v.as_double() == 0;
    case Kind::kString:
    case Kind::kBytes: return v.as_text().empty();
    case Kind::kList: return list_size(v) == 0;
    case Kind::kMap: return map_size(v) == 0;
    case Kind::kTimestamp: return v.seconds() == 0 && v.nanos() == 0;
    case Kind::kOptional: return !v.has_value();
    default: return false;
  }
}

namespace {

Value of(Context& ctx, std::span<const Value> args) {
  return args.size() == 1 ? ctx.make_some(args[0]) : ctx.no_overload("optional.of", args);
}

Value none(Context& ctx, std::span<const Value> args) {
  return args.empty() ? Value::none() : ctx.no_overload("optional.none", args);
}

Value of_non_zero(Context& ctx, std::span<const Value> args) {
  if (args.size() != 1) return ctx.no_overload("optional.ofNonZeroValue", args);
  return is_zero_value(args[0]) ? Value::none() : ctx.make_some(args[0]);
}

Value has_value(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kOptional})) return ctx.no_overload("hasValue", args);
  return Value::boolean(args[0].has_value());
}

Value value(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kOptional})) return ctx.no_overload("value", args);
  if (!args[0].has_value()) return ctx.fault(Fault::kInvalidArgument, "optional.none() has no value()");
  return args[0].inner();
}

// The planner has nodes of its own for these two and comes here only without a value.
Value or_else(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kOptional, Kind::kOptional})) return ctx.no_overload("or", args);
  return args[0].has_value() ? args[0] : args[1];
}

Value or_value(Context& ctx, std::span<const Value> args) {
  if (args.size() != 2 || !args[0].is(Kind::kOptional)) return ctx.no_overload("orValue", args);
  return args[0].has_value() ? args[0].inner() : args[1];
}

Value unwrap(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kList})) return ctx.no_overload("optional.unwrap", args);
  size_t n = list_size(args[0]), kept = 0;
  if (!ctx.charge(1 + n)) return ctx.out_of_steps();
  Value* out = ctx.arena.allocate_array<Value>(n);
  if (out == nullptr) return ctx.out_of_memory();
  for (size_t i = 0; i < n; ++i) {
    Value v = list_at(ctx.arena, args[0], i);
    if (!v.is(Kind::kOptional)) return ctx.no_overload("optional.unwrap", {&v, 1});
    if (v.has_value()) out[kept++] = v.inner();
  }
  return Value::list({out, kept});
}

constexpr FunctionRow kRows[] = {
    {"optional.of", Style::kGlobal, of, {"A -> optional_type(A)"}},
    {"optional.none", Style::kGlobal, none, {"-> optional_type(A)"}},
    {"optional.ofNonZeroValue", Style::kGlobal, of_non_zero, {"A -> optional_type(A)"}},
    {"optional.unwrap", Style::kGlobal, unwrap, {"list(optional_type(A)) -> list(A)"}},
    {"unwrapOpt", Style::kMember, unwrap, {"list(optional_type(A)) -> list(A)"}},
    {"hasValue", Style::kMember, has_value, {"optional_type(A) -> bool"}},
    {"value", Style::kMember, value, {"optional_type(A) -> A"}},
    {"or", Style::kMember, or_else, {"optional_type(A), optional_type(A) -> optional_type(A)"}},
    {"orValue", Style::kMember, or_value, {"optional_type(A), A -> A"}},
};

}  // namespace

std::span<const FunctionRow> optional_functions() { return kRows; }

}  // namespace ctrlplane::cel
