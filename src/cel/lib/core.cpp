#include "cel/lib/args.h"
#include "cel/lib/library.h"
#include "cel/value/map.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {
namespace {

Value size(Context& ctx, std::span<const Value> args) {
  if (args.size() == 1) {
    const Value& v = args[0];
    auto count = [](size_t n) { return Value::integer(static_cast<int64_t>(n)); };
    switch (v.kind()) {
      case Kind::kString:
        if (!ctx.charge_bytes(v.as_text().size())) return ctx.out_of_steps();
        return count(count_code_points(v.as_text()));
      case Kind::kBytes: return count(v.as_text().size());
      case Kind::kList: return count(list_size(v));
      case Kind::kMap: return count(map_size(v));
      default: break;
    }
  }
  return ctx.no_overload("size", args);
}

Value type(Context& ctx, std::span<const Value> args) {
  if (args.size() != 1) return ctx.no_overload("type", args);
  return Value::type(type_name(args[0]));
}

Value dyn(Context& ctx, std::span<const Value> args) {
  if (args.size() != 1) return ctx.no_overload("dyn", args);
  return args[0];
}

constexpr FunctionRow kRows[] = {
    {"size", Style::kGlobal, size, {"string -> int", "bytes -> int", "list(A) -> int", "map(A, B) -> int"}},
    {"size", Style::kMember, size, {"string -> int", "bytes -> int", "list(A) -> int", "map(A, B) -> int"}},
    {"type", Style::kGlobal, type, {"A -> type(A)"}},
    {"dyn", Style::kGlobal, dyn, {"A -> dyn"}},
};

}  // namespace

std::span<const FunctionRow> core_functions() { return kRows; }

}  // namespace ctrlplane::cel
