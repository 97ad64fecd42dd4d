#include "cel/value/compare.h"

#include <cmath>

#include "base/uuid.h"
#include "cel/value/map.h"
#include "cel/value/time_text.h"

namespace ctrlplane::cel {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;
// Values nest as deep as the data bound to variables; text of 64 kB cannot build this depth.
constexpr int kMaxDepth = 1000;

std::partial_ordering reversed(std::partial_ordering o) {
  if (o == std::partial_ordering::less) return std::partial_ordering::greater;
  if (o == std::partial_ordering::greater) return std::partial_ordering::less;
  return o;
}

// The double's neighbourhood decides: within the range of the integer type both are compared as
// doubles, so that 2^63 and the greatest int count as the same.
std::partial_ordering compare_int_double(int64_t i, double d) {
  if (d > kTwo63) return std::partial_ordering::less;
  if (d < -kTwo63) return std::partial_ordering::greater;
  return static_cast<double>(i) <=> d;
}

std::partial_ordering compare_uint_double(uint64_t u, double d) {
  if (d > kTwo64) return std::partial_ordering::less;
  if (d < 0) return std::partial_ordering::greater;
  return static_cast<double>(u) <=> d;
}

std::partial_ordering compare_int_uint(int64_t i, uint64_t u) {
  if (i < 0) return std::partial_ordering::less;
  return static_cast<uint64_t>(i) <=> u;
}

std::strong_ordering compare_times(const Value& a, const Value& b) {
  if (a.seconds() != b.seconds()) return a.seconds() <=> b.seconds();
  return a.nanos() <=> b.nanos();
}

bool lists_equal(Context& ctx, const Value& a, const Value& b, int depth) {
  size_t n = list_size(a);
  if (n != list_size(b)) return false;
  for (size_t i = 0; i < n; ++i) {
    if (!ctx.charge(1)) return false;
    if (!deep_equal(ctx, list_at(ctx.arena, a, i), list_at(ctx.arena, b, i), depth + 1)) return false;
  }
  return true;
}

bool maps_equal(Context& ctx, const Value& a, const Value& b, int depth) {
  if (map_size(a) != map_size(b)) return false;
  MapWalk walk(ctx.arena, a);
  for (size_t i = 0; i < walk.size(); ++i) {
    if (!ctx.charge(1)) return false;
    Value other = map_find(ctx.arena, b, walk.key(i));
    if (other.is_absent()) return false;
    if (!deep_equal(ctx, walk.value(i), other, depth + 1)) return false;
  }
  return true;
}

bool same_kind_equal(Context& ctx, const Value& a, const Value& b, int depth) {
  switch (a.kind()) {
    case Kind::kNull: return true;
    case Kind::kBool: return a.as_bool() == b.as_bool();
    case Kind::kInt: return a.as_int() == b.as_int();
    case Kind::kUint: return a.as_uint() == b.as_uint();
    case Kind::kDouble: return a.as_double() == b.as_double();
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType: return a.as_text() == b.as_text();
    case Kind::kTimestamp: return compare_times(a, b) == 0;
    case Kind::kDuration: return a.duration_nanos() == b.duration_nanos();
    case Kind::kList: return lists_equal(ctx, a, b, depth);
    case Kind::kMap: return maps_equal(ctx, a, b, depth);
    case Kind::kOptional:
      if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
      return deep_equal(ctx, a.inner(), b.inner(), depth + 1);
    case Kind::kOpaque:
      return a.as_opaque().type_name() == b.as_opaque().type_name() && a.as_opaque().equals(b.as_opaque());
    case Kind::kAbsent:
    case Kind::kError: return false;
  }
  return false;
}

// Nothing unless one side is a timestamp and the other the text of one.
std::optional<std::strong_ordering> compare_time_with_text(const Value& a, const Value& b) {
  if (a.is(Kind::kTimestamp) && b.is(Kind::kString)) {
    auto t = parse_timestamp(b.as_text());
    if (t) return compare_times(a, *t);
  } else if (a.is(Kind::kString) && b.is(Kind::kTimestamp)) {
    auto t = parse_timestamp(a.as_text());
    if (t) return compare_times(*t, b);
  }
  return std::nullopt;
}

}  // namespace

std::partial_ordering compare_numbers(const Value& a, const Value& b) {
  switch (a.kind()) {
    case Kind::kInt:
      if (b.is(Kind::kInt)) return a.as_int() <=> b.as_int();
      if (b.is(Kind::kUint)) return compare_int_uint(a.as_int(), b.as_uint());
      return compare_int_double(a.as_int(), b.as_double());
    case Kind::kUint:
      if (b.is(Kind::kUint)) return a.as_uint() <=> b.as_uint();
      if (b.is(Kind::kInt)) return reversed(compare_int_uint(b.as_int(), a.as_uint()));
      return compare_uint_double(a.as_uint(), b.as_double());
    default:
      if (b.is(Kind::kDouble)) return a.as_double() <=> b.as_double();
      if (b.is(Kind::kInt)) return reversed(compare_int_double(b.as_int(), a.as_double()));
      return reversed(compare_uint_double(b.as_uint(), a.as_double()));
  }
}

bool deep_equal(Context& ctx, const Value& a, const Value& b, int depth) {
  if (depth > kMaxDepth) return ctx.charge(ctx.steps_left);
  if (a.kind() == b.kind()) return same_kind_equal(ctx, a, b, depth);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  auto times = compare_time_with_text(a, b);
  return times && *times == 0;
}

std::optional<std::partial_ordering> order(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.kind() != b.kind()) {
    if (auto times = compare_time_with_text(a, b)) return *times;
    return std::nullopt;
  }
  switch (a.kind()) {
    case Kind::kBool: return a.as_bool() <=> b.as_bool();
    case Kind::kString:
    case Kind::kBytes: return a.as_text() <=> b.as_text();
    case Kind::kTimestamp: return compare_times(a, b);
    case Kind::kDuration: return a.duration_nanos() <=> b.duration_nanos();
    default: return std::nullopt;
  }
}

uint64_t hash_key(const Value& key) {
  switch (key.kind()) {
    case Kind::kString: return hash_text(key.as_text());
    case Kind::kDouble: {
      double d = key.as_double();
      if (d >= 0 && d < kTwo64) return mix64(static_cast<uint64_t>(d));
      if (d >= -kTwo63 && d < 0) return mix64(static_cast<uint64_t>(static_cast<int64_t>(d)));
      return 0;
    }
    default: return mix64(key.as_uint() ^ (key.is(Kind::kBool) ? 0xb001 : 0));
  }
}

}  // namespace ctrlplane::cel
