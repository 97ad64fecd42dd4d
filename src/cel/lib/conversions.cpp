#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "cel/lib/args.h"
#include "cel/lib/library.h"
#include "cel/value/text.h"
#include "cel/value/time_text.h"

namespace ctrlplane::cel {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

Value range_error(Context& ctx, std::string_view type) {
  return ctx.fault(Fault::kRange, fmt::format("the value is out of range for {}", type));
}

Value bad_text(Context& ctx, std::string_view type, std::string_view text) {
  return ctx.fault(Fault::kInvalidArgument,
                   fmt::format("not a {}: {}", type, quote(text.substr(0, 80), '\'')));
}

// The whole text as a number, or nothing.
template <class T>
bool parse_whole(std::string_view text, T& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('+')) return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Value to_int(Context& ctx, std::span<const Value> args) {
  if (args.size() != 1) return ctx.no_overload("int", args);
  const Value& v = args[0];
  switch (v.kind()) {
    case Kind::kInt: return v;
    case Kind::kUint: return v.as_uint() > INT64_MAX ? range_error(ctx, "int") : Value::integer(v.as_int());
    case Kind::kDouble: {
      double d = v.as_double();
      // The end points themselves are refused: a double cannot tell them from their neighbours.
      if (!(d > -kTwo63 && d < kTwo63)) return range_error(ctx, "int");
      return Value::integer(static_cast<int64_t>(d));
    }
    case Kind::kString: {
      int64_t i = 0;
      if (!parse_whole(v.as_text(), i)) return bad_text(ctx, "int", v.as_text());
      return Value::integer(i);
    }
    case Kind::kTimestamp: return Value::integer(v.seconds());
    default: return ctx.no_overload("int", args);
  }
}

Value to_uint(Context& ctx, std::span<const Value> args) {
  if (args.size() != 1) return ctx.no_overload("uint", args);
  const Value& v = args[0];
  switch (v.kind()) {
    case Kind::kUint: return v;
    case Kind::kInt: return v.as_int() < 0 ? range_error(ctx, "uint") : Value::unsigned_integer(v.as_uint());
    case Kind::kDouble: {
      double d = v.as_double();
      if (!(d >= 0 && d < kTwo64)) return range_error(ctx, "uint");
      return Value::unsigned_integer(static_cast<uint64_t>(d));
    }
    case Kind::kString: {
      uint64_t u = 0;
      if (!parse_whole(v.as_text(), u)) return bad_text(ctx, "uint", v.as_text());
      return Value::unsigned_integer(u);
    }
    default: return ctx.no_overload("uint", args);
  }
}

Value to_double(Context& ctx, std::span<const Value> args) {
  if (args.size() != 1) return ctx.no_overload("double", args);
  const Value& v = args[0];
  switch (v.kind()) {
    case Kind::kDouble: return v;
    case Kind::kInt: return Value::real(static_cast<double>(v.as_int()));
    case Kind::kUint: return Value::real(static_cast<double>(v.as_uint()));
    case Kind::kString: {
      double d = 0;
      std::string_view text = v.as_text();
      if (parse_whole(text, d)) return Value::real(d);
      return bad_text(ctx, "double", text);
    }
    default: return ctx.no_overload("double", args);
  }
}

Value to_bool(Context& ctx, std::span<const Value> args) {
  if (args.size() != 1) return ctx.no_overload("bool", args);
  if (args[0].is(Kind::kBool)) return args[0];
  if (!args[0].is(Kind::kString)) return ctx.no_overload("bool", args);
  std::string_view s = args[0].as_text();
  for (std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (s == yes) return Value::boolean(true);
  for (std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (s == no) return Value::boolean(false);
  return bad_text(ctx, "bool", s);
}

Value to_string_value(Context& ctx, std::span<const Value> args) {
  if (args.size() != 1) return ctx.no_overload("string", args);
  const Value& v = args[0];
  switch (v.kind()) {
    case Kind::kString: return v;
    case Kind::kBool: return Value::string(v.as_bool() ? "true" : "false");
    case Kind::kInt: return ctx.make_string(fmt::format("{}", v.as_int()));
    case Kind::kUint: return ctx.make_string(fmt::format("{}", v.as_uint()));
    case Kind::kDouble: return ctx.make_string(double_text(v.as_double()));
    case Kind::kTimestamp: return ctx.make_string(timestamp_text(v));
    case Kind::kDuration: return ctx.make_string(duration_text(v.duration_nanos()));
    case Kind::kBytes:
      if (!ctx.charge_bytes(v.as_text().size())) return ctx.out_of_steps();
      if (!is_valid_utf8(v.as_text()))
        return ctx.fault(Fault::kInvalidArgument, "the bytes are not valid UTF-8");
      return Value::string(v.as_text());
    case Kind::kOpaque: return ctx.make_string(v.as_opaque().text());
    default: return ctx.no_overload("string", args);
  }
}

Value to_bytes(Context& ctx, std::span<const Value> args) {
  if (args.size() == 1 && args[0].is(Kind::kBytes)) return args[0];
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload("bytes", args);
  return Value::bytes(args[0].as_text());
}

Value to_timestamp(Context& ctx, std::span<const Value> args) {
  if (args.size() != 1) return ctx.no_overload("timestamp", args);
  const Value& v = args[0];
  if (v.is(Kind::kTimestamp)) return v;
  if (v.is(Kind::kInt)) {
    if (v.as_int() < kMinTimestampSeconds || v.as_int() > kMaxTimestampSeconds)
      return range_error(ctx, "timestamp");
    return Value::timestamp(v.as_int(), 0);
  }
  if (!v.is(Kind::kString)) return ctx.no_overload("timestamp", args);
  auto t = parse_timestamp(v.as_text());
  return t ? *t : bad_text(ctx, "timestamp", v.as_text());
}

Value to_duration(Context& ctx, std::span<const Value> args) {
  if (args.size() == 1 && args[0].is(Kind::kDuration)) return args[0];
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload("duration", args);
  auto nanos = parse_duration_nanos(args[0].as_text());
  return nanos ? Value::duration(*nanos) : bad_text(ctx, "duration", args[0].as_text());
}

constexpr FunctionRow kRows[] = {
    {"int",
     Style::kGlobal,
     to_int,
     {"int -> int", "uint -> int", "double -> int", "string -> int", "timestamp -> int"}},
    {"uint", Style::kGlobal, to_uint, {"uint -> uint", "int -> uint", "double -> uint", "string -> uint"}},
    {"double",
     Style::kGlobal,
     to_double,
     {"double -> double", "int -> double", "uint -> double", "string -> double"}},
    {"bool", Style::kGlobal, to_bool, {"bool -> bool", "string -> bool"}},
    {"string",
     Style::kGlobal,
     to_string_value,
     {"string -> string", "bool -> string", "int -> string", "uint -> string", "double -> string",
      "bytes -> string", "timestamp -> string", "duration -> string"}},
    {"string", Style::kGlobal, to_string_value, {"net.IP -> string", "net.CIDR -> string"}},
    {"bytes", Style::kGlobal, to_bytes, {"bytes -> bytes", "string -> bytes"}},
    {"timestamp",
     Style::kGlobal,
     to_timestamp,
     {"timestamp -> timestamp", "string -> timestamp", "int -> timestamp"}},
    {"duration", Style::kGlobal, to_duration, {"duration -> duration", "string -> duration"}},
};

}  // namespace

std::span<const FunctionRow> conversion_functions() { return kRows; }

}  // namespace ctrlplane::cel
