#include "cel/value/clone.h"

#include "cel/value/context.h"
#include "cel/value/map.h"

namespace ctrlplane::cel {
namespace {

constexpr int kMaxDepth = 200;

class Cloner {
 public:
  Cloner(Arena& arena, size_t max_bytes) : arena_(arena), left_(max_bytes) {}

  bool copy(const Value& v, Value& out, int depth) {
    if (depth > kMaxDepth) return false;
    switch (v.kind()) {
      case Kind::kString:
      case Kind::kBytes:
      case Kind::kType: return copy_text(v, out);
      case Kind::kList: return copy_list(v, out, depth);
      case Kind::kMap: return copy_map(v, out, depth);
      case Kind::kOptional: return copy_optional(v, out, depth);
      case Kind::kOpaque: return copy_opaque(v, out);
      case Kind::kError:
      case Kind::kAbsent: return false;
      default: out = v; return true;
    }
  }

 private:
  bool take(size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  bool copy_text(const Value& v, Value& out) {
    if (!take(v.as_text().size())) return false;
    std::string_view s = arena_.copy(v.as_text());
    if (s.data() == nullptr) return false;
    out = v.is(Kind::kString) ? Value::string(s) : v.is(Kind::kBytes) ? Value::bytes(s) : Value::type(s);
    return true;
  }

  bool copy_list(const Value& v, Value& out, int depth) {
    size_t n = list_size(v);
    if (!take(n * sizeof(Value))) return false;
    Value* items = arena_.allocate_array<Value>(n);
    if (items == nullptr) return false;
    for (size_t i = 0; i < n; ++i)
      if (!copy(list_at(arena_, v, i), items[i], depth + 1)) return false;
    out = Value::list({items, n});
    return true;
  }

  bool copy_map(const Value& v, Value& out, int depth) {
    size_t n = map_size(v);
    if (!take(n * sizeof(MapEntry) + sizeof(MapData))) return false;
    Context ctx{arena_, 1};
    MapBuilder map(ctx, n);
    MapWalk walk(arena_, v);
    for (size_t i = 0; i < n; ++i) {
      Value copied_key, copied_value;
      if (!copy(walk.key(i), copied_key, depth + 1) || !copy(walk.value(i), copied_value, depth + 1) ||
          map.add(copied_key, copied_value).is_error())
        return false;
    }
    out = map.build();
    return !out.is_error();
  }

  bool copy_optional(const Value& v, Value& out, int depth) {
    if (!v.has_value()) {
      out = v;
      return true;
    }
    Value* inner = arena_.allocate_array<Value>(1);
    if (inner == nullptr || !take(sizeof(Value)) || !copy(v.inner(), *inner, depth + 1)) return false;
    out = Value::some(inner);
    return true;
  }

  bool copy_opaque(const Value& v, Value& out) {
    const Opaque* copied = v.as_opaque().copy(arena_);
    if (copied == nullptr) return false;
    out = Value::opaque(*copied);
    return true;
  }

  Arena& arena_;
  size_t left_;
};

}  // namespace

bool clone(Arena& arena, const Value& v, size_t max_bytes, Value& out) {
  return Cloner(arena, max_bytes).copy(v, out, 0);
}

}  // namespace ctrlplane::cel
