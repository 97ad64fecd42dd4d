#include "cel/lib/args.h"
#include "cel/lib/library.h"
#include "cel/value/compare.h"

namespace ctrlplane::cel {
namespace {

// Whether the list holds the item; charges for each comparison.
bool holds(Context& ctx, const Value& list, const Value& item) {
  for (size_t i = 0, n = list_size(list); i < n; ++i) {
    if (!ctx.charge(1)) return false;
    if (deep_equal(ctx, list_at(ctx.arena, list, i), item)) return true;
  }
  return false;
}

bool holds_all(Context& ctx, const Value& list, const Value& items) {
  for (size_t i = 0, n = list_size(items); i < n; ++i)
    if (!holds(ctx, list, list_at(ctx.arena, items, i))) return false;
  return true;
}

Value verdict(Context& ctx, bool yes) { return ctx.exhausted() ? ctx.out_of_steps() : Value::boolean(yes); }

bool two_lists(std::span<const Value> args) { return kinds_are(args, {Kind::kList, Kind::kList}); }

Value contains(Context& ctx, std::span<const Value> args) {
  if (!two_lists(args)) return ctx.no_overload("sets.contains", args);
  return verdict(ctx, holds_all(ctx, args[0], args[1]));
}

Value equivalent(Context& ctx, std::span<const Value> args) {
  if (!two_lists(args)) return ctx.no_overload("sets.equivalent", args);
  return verdict(ctx, holds_all(ctx, args[0], args[1]) && holds_all(ctx, args[1], args[0]));
}

Value intersects(Context& ctx, std::span<const Value> args) {
  if (!two_lists(args)) return ctx.no_overload("sets.intersects", args);
  bool any = false;
  for (size_t i = 0, n = list_size(args[1]); i < n && !any; ++i)
    any = holds(ctx, args[0], list_at(ctx.arena, args[1], i));
  return verdict(ctx, any);
}

constexpr std::array<std::string_view, 8> kSignature = {"list(A), list(A) -> bool"};
constexpr FunctionRow kRows[] = {
    {"sets.contains", Style::kGlobal, contains, kSignature},
    {"sets.equivalent", Style::kGlobal, equivalent, kSignature},
    {"sets.intersects", Style::kGlobal, intersects, kSignature},
};

}  // namespace

std::span<const FunctionRow> set_functions() { return kRows; }

}  // namespace ctrlplane::cel
