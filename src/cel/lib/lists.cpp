#include <algorithm>
#include <bit>
#include <compare>
#include <numeric>
#include <vector>

#include "cel/lib/args.h"
#include "cel/lib/library.h"
#include "cel/lib/sort.h"
#include "cel/value/compare.h"
#include "cel/value/map.h"

namespace ctrlplane::cel {
namespace {

constexpr int64_t kMaxRange = 1 << 20;

Value as_list(Context& ctx, const std::vector<Value>& items) {
  Value* out = ctx.arena.allocate_array<Value>(items.size());
  if (out == nullptr) return ctx.out_of_memory();
  std::copy(items.begin(), items.end(), out);
  return Value::list({out, items.size()});
}

Value slice(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kList, Kind::kInt, Kind::kInt})) return ctx.no_overload("slice", args);
  int64_t start = args[1].as_int(), end = args[2].as_int();
  int64_t n = static_cast<int64_t>(list_size(args[0]));
  if (start < 0 || end < 0 || start > end || end > n) {
    return ctx.fault(Fault::kIndex, "cannot slice(" + std::to_string(start) + ", " + std::to_string(end) +
                                        ") a list of " + std::to_string(n));
  }
  size_t from = static_cast<size_t>(start), size = static_cast<size_t>(end - start);
  if (!args[0].is_foreign()) return Value::list(args[0].items().subspan(from, size));
  if (!ctx.charge(1 + size)) return ctx.out_of_steps();
  Value* out = ctx.arena.allocate_array<Value>(size);
  if (out == nullptr) return ctx.out_of_memory();
  for (size_t i = 0; i < size; ++i) out[i] = list_at(ctx.arena, args[0], from + i);
  return Value::list({out, size});
}

// False when the steps ran out.
bool flatten_into(Context& ctx, const Value& list, int64_t depth, int nesting, std::vector<Value>& out) {
  if (nesting > 500) return false;
  for (size_t i = 0, n = list_size(list); i < n; ++i) {
    if (!ctx.charge(2)) return false;
    Value v = list_at(ctx.arena, list, i);
    if (v.is(Kind::kList) && depth > 0) {
      if (!flatten_into(ctx, v, depth - 1, nesting + 1, out)) return false;
    } else {
      out.push_back(v);
    }
  }
  return true;
}

Value flatten(Context& ctx, std::span<const Value> args) {
  bool with_depth = kinds_are(args, {Kind::kList, Kind::kInt});
  if (!with_depth && !kinds_are(args, {Kind::kList})) return ctx.no_overload("flatten", args);
  int64_t depth = with_depth ? args[1].as_int() : 1;
  if (depth < 0) return ctx.fault(Fault::kInvalidArgument, "level must be non-negative");
  std::vector<Value> out;
  if (!flatten_into(ctx, args[0], depth, 0, out)) return ctx.out_of_steps();
  return as_list(ctx, out);
}

// As `order` for two keys of one kind, but NaN has a place too, at the ends.
std::weak_ordering total_order(const Value& a, const Value& b) {
  if (a.is(Kind::kDouble)) return std::weak_order(a.as_double(), b.as_double());
  auto o = order(a, b).value_or(std::partial_ordering::equivalent);
  return o < 0   ? std::weak_ordering::less
         : o > 0 ? std::weak_ordering::greater
                 : std::weak_ordering::equivalent;
}

bool is_hashable(const Value& v) { return is_map_key(v) || v.is(Kind::kDouble); }

// Texts, numbers and bools by hash; anything else by comparing with what is kept so far.
Value distinct(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kList})) return ctx.no_overload("distinct", args);
  size_t n = list_size(args[0]);
  if (!ctx.charge(1 + n)) return ctx.out_of_steps();
  std::vector<Value> out;
  std::vector<Value> others;
  std::vector<uint32_t> slots(std::bit_ceil(2 * n + 2));
  size_t mask = slots.size() - 1;
  for (size_t i = 0; i < n; ++i) {
    Value v = list_at(ctx.arena, args[0], i);
    bool seen = false;
    if (is_hashable(v)) {
      size_t at = hash_key(v) & mask;
      for (; slots[at] != 0 && !seen; at = (at + 1) & mask) seen = deep_equal(ctx, out[slots[at] - 1], v);
      if (!seen) slots[at] = static_cast<uint32_t>(out.size() + 1);
    } else {
      for (size_t k = 0; k < others.size() && !seen; ++k) {
        if (!ctx.charge(1)) return ctx.out_of_steps();
        seen = deep_equal(ctx, others[k], v);
      }
      if (!seen) others.push_back(v);
    }
    if (ctx.exhausted()) return ctx.out_of_steps();
    if (!seen) out.push_back(v);
  }
  return as_list(ctx, out);
}

Value sort(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kList})) return ctx.no_overload("sort", args);
  size_t n = list_size(args[0]);
  if (!args[0].is_foreign()) return sort_by_keys(ctx, args[0].items(), args[0].items());
  Value* items = ctx.arena.allocate_array<Value>(n);
  if (items == nullptr) return ctx.out_of_memory();
  for (size_t i = 0; i < n; ++i) items[i] = list_at(ctx.arena, args[0], i);
  return sort_by_keys(ctx, {items, n}, {items, n});
}

Value range(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kInt})) return ctx.no_overload("lists.range", args);
  int64_t n = std::max<int64_t>(args[0].as_int(), 0);
  if (n > kMaxRange || !ctx.charge(1 + static_cast<uint64_t>(n))) return ctx.out_of_steps();
  Value* out = ctx.arena.allocate_array<Value>(static_cast<size_t>(n));
  if (out == nullptr) return ctx.out_of_memory();
  for (int64_t i = 0; i < n; ++i) out[i] = Value::integer(i);
  return Value::list({out, static_cast<size_t>(n)});
}

Value first(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kList})) return ctx.no_overload("first", args);
  return list_size(args[0]) == 0 ? Value::none() : ctx.make_some(list_at(ctx.arena, args[0], 0));
}

Value last(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kList})) return ctx.no_overload("last", args);
  size_t n = list_size(args[0]);
  return n == 0 ? Value::none() : ctx.make_some(list_at(ctx.arena, args[0], n - 1));
}

constexpr FunctionRow kRows[] = {
    {"slice", Style::kMember, slice, {"list(A), int, int -> list(A)"}},
    {"flatten",
     Style::kMember,
     flatten,
     {"list(list(A)) -> list(A)", "list(dyn) -> list(dyn)", "list(dyn), int -> list(dyn)"}},
    {"distinct", Style::kMember, distinct, {"list(A) -> list(A)"}},
    {"sort", Style::kMember, sort, {"list(A) -> list(A)"}},
    {"lists.range", Style::kGlobal, range, {"int -> list(int)"}},
    {"first", Style::kMember, first, {"list(A) -> optional_type(A)"}},
    {"last", Style::kMember, last, {"list(A) -> optional_type(A)"}},
};

}  // namespace

Value reverse_list(Context& ctx, const Value& list) {
  size_t n = list_size(list);
  if (!ctx.charge(1 + n)) return ctx.out_of_steps();
  Value* out = ctx.arena.allocate_array<Value>(n);
  if (out == nullptr) return ctx.out_of_memory();
  for (size_t i = 0; i < n; ++i) out[i] = list_at(ctx.arena, list, n - 1 - i);
  return Value::list({out, n});
}

std::span<const FunctionRow> list_functions() { return kRows; }

Value sort_by_keys(Context& ctx, std::span<const Value> items, std::span<const Value> keys) {
  size_t n = items.size();
  if (!ctx.charge(1 + n * static_cast<uint64_t>(std::bit_width(n)))) return ctx.out_of_steps();
  for (const Value& key : keys) {
    if (key.kind() != keys[0].kind() || !order(keys[0], key).has_value()) {
      Value both[] = {keys[0], key};
      return ctx.no_overload("sort", both);
    }
  }
  std::vector<uint32_t> at(n);
  std::iota(at.begin(), at.end(), 0u);
  std::sort(at.begin(), at.end(), [&](uint32_t a, uint32_t b) {
    auto o = total_order(keys[a], keys[b]);
    return o == 0 ? a < b : o < 0;
  });
  Value* out = ctx.arena.allocate_array<Value>(n);
  if (out == nullptr) return ctx.out_of_memory();
  for (size_t i = 0; i < n; ++i) out[i] = items[at[i]];
  return Value::list({out, n});
}

}  // namespace ctrlplane::cel
