#include "cel/lib/sort.h"
#include "cel/plan/nodes.h"
#include "cel/value/map.h"

namespace ctrlplane::cel {
namespace {

// Walks a list or map, puts the variables in place and charges what one round may take. `round`
// returns an absent Value to go on, anything else to end the loop with it.
template <class Round>
Value run(const Loop& loop, Frame& frame, const Value& range, Round round) {
  uint64_t cost = 1 + loop.body->cost + (loop.filter == nullptr ? 0 : loop.filter->cost);
  Value* first = frame.locals + loop.local;
  if (range.is(Kind::kMap)) {
    MapWalk walk(frame.arena, range);
    for (size_t i = 0; i < walk.size(); ++i) {
      if (!frame.charge(cost)) return frame.out_of_steps();
      first[0] = walk.key(i);
      if (loop.two) first[1] = walk.value(i);
      if (Value v = round(); !v.is_absent()) return v;
    }
    return Value();
  }
  for (size_t i = 0, n = list_size(range); i < n; ++i) {
    if (!frame.charge(cost)) return frame.out_of_steps();
    if (loop.two) {
      first[0] = Value::integer(static_cast<int64_t>(i));
      first[1] = list_at(frame.arena, range, i);
    } else {
      first[0] = list_at(frame.arena, range, i);
    }
    if (Value v = round(); !v.is_absent()) return v;
  }
  return Value();
}

size_t range_size(const Value& range) { return range.is(Kind::kMap) ? map_size(range) : list_size(range); }

// The filter's verdict: a bool, or the error that ends the loop.
Value passes(const Node* filter, Frame& frame) {
  if (filter == nullptr) return Value::boolean(true);
  Value v = filter->eval(frame);
  if (v.is(Kind::kBool) || v.is_error()) return v;
  return frame.no_overload("filter", {&v, 1}).at(filter->position);
}

class LoopNode : public Node {
 protected:
  explicit LoopNode(const Loop& loop) : loop_(loop) {}
  // The range, or the error instead of it.
  Value read_range(Frame& frame) const {
    Value range = loop_.range->eval(frame);
    if (range.is(Kind::kList) || range.is(Kind::kMap) || range.is_error()) return range;
    return frame.no_overload("comprehension", {&range, 1}).at(position);
  }
  Loop loop_;
};

// all (decides false) and exists (decides true).
template <bool kDecides>
class QuantifierNode final : public LoopNode {
 public:
  explicit QuantifierNode(const Loop& loop) : LoopNode(loop) {}

  Value eval(Frame& frame) const override {
    Value range = read_range(frame);
    if (range.is_error()) return range;
    Value error;
    Value end = run(loop_, frame, range, [&] {
      Value v = loop_.body->eval(frame);
      if (v.is(Kind::kBool)) return v.as_bool() == kDecides ? v : Value();
      if (v.is_budget_error()) return v;
      if (!v.is_error()) v = frame.no_overload(kDecides ? "exists" : "all", {&v, 1}).at(position);
      error = worse_error(error, v);
      return Value();
    });
    if (!end.is_absent()) return end.at(position);
    return error.is_absent() ? Value::boolean(!kDecides) : error;
  }
};

class ExistsOneNode final : public LoopNode {
 public:
  explicit ExistsOneNode(const Loop& loop) : LoopNode(loop) {}

  Value eval(Frame& frame) const override {
    Value range = read_range(frame);
    if (range.is_error()) return range;
    size_t found = 0;
    Value end = run(loop_, frame, range, [&] {
      Value v = passes(loop_.body, frame);
      if (v.is_error()) return v;
      found += v.as_bool();
      return Value();
    });
    return end.is_absent() ? Value::boolean(found == 1) : end.at(position);
  }
};

// map, transformList, filter: a list no longer than the range.
template <bool kKeepsElement>
class CollectNode final : public LoopNode {
 public:
  explicit CollectNode(const Loop& loop) : LoopNode(loop) {}

  Value eval(Frame& frame) const override {
    Value range = read_range(frame);
    if (range.is_error()) return range;
    Value* out = frame.arena.allocate_array<Value>(range_size(range));
    if (out == nullptr) return frame.out_of_memory().at(position);
    size_t n = 0;
    Value end = run(loop_, frame, range, [&] {
      Value element = frame.locals[loop_.local];
      Value keep = passes(kKeepsElement ? loop_.body : loop_.filter, frame);
      if (keep.is_error()) return keep;
      if (!keep.as_bool()) return Value();
      Value v = kKeepsElement ? element : loop_.body->eval(frame);
      if (v.is_error()) return v;
      out[n++] = v;
      return Value();
    });
    return end.is_absent() ? Value::list({out, n}) : end.at(position);
  }
};

class TransformMapNode final : public LoopNode {
 public:
  explicit TransformMapNode(const Loop& loop) : LoopNode(loop) {}

  Value eval(Frame& frame) const override {
    Value range = read_range(frame);
    if (range.is_error()) return range;
    MapBuilder map(frame, range_size(range));
    Value end = run(loop_, frame, range, [&] {
      Value key = frame.locals[loop_.local];
      Value keep = passes(loop_.filter, frame);
      if (keep.is_error()) return keep;
      if (!keep.as_bool()) return Value();
      Value v = loop_.body->eval(frame);
      return v.is_error() ? v : map.add(key, v);
    });
    return (end.is_absent() ? map.build() : end).at(position);
  }
};

class TransformEntriesNode final : public LoopNode {
 public:
  explicit TransformEntriesNode(const Loop& loop) : LoopNode(loop) {}

  Value eval(Frame& frame) const override {
    Value range = read_range(frame);
    if (range.is_error()) return range;
    // How many entries come is not known before, so the maps are gathered first.
    Value* maps = frame.arena.allocate_array<Value>(range_size(range));
    if (maps == nullptr) return frame.out_of_memory().at(position);
    size_t n = 0, entries = 0;
    Value end = run(loop_, frame, range, [&] {
      Value keep = passes(loop_.filter, frame);
      if (keep.is_error()) return keep;
      if (!keep.as_bool()) return Value();
      Value v = loop_.body->eval(frame);
      if (v.is_error()) return v;
      if (!v.is(Kind::kMap)) return frame.no_overload("transformMapEntry", {&v, 1});
      entries += map_size(v);
      maps[n++] = v;
      return Value();
    });
    if (!end.is_absent()) return end.at(position);
    return merge(frame, {maps, n}, entries).at(position);
  }

 private:
  static Value merge(Frame& frame, std::span<const Value> maps, size_t entries) {
    if (!frame.charge(1 + entries)) return frame.out_of_steps();
    MapBuilder out(frame, entries);
    for (const Value& map : maps) {
      MapWalk walk(frame.arena, map);
      for (size_t i = 0; i < walk.size(); ++i) {
        Value failed = out.add(walk.key(i), walk.value(i));
        if (failed.is_error()) return failed;
      }
    }
    return out.build();
  }
};

class SortByNode final : public LoopNode {
 public:
  explicit SortByNode(const Loop& loop) : LoopNode(loop) {}

  Value eval(Frame& frame) const override {
    Value range = read_range(frame);
    if (range.is_error()) return range;
    size_t n = range_size(range);
    Value* items = frame.arena.allocate_array<Value>(n);
    Value* keys = frame.arena.allocate_array<Value>(n);
    if (items == nullptr || keys == nullptr) return frame.out_of_memory().at(position);
    size_t done = 0;
    Value end = run(loop_, frame, range, [&] {
      items[done] = frame.locals[loop_.local];
      Value key = loop_.body->eval(frame);
      if (key.is_error()) return key;
      keys[done++] = key;
      return Value();
    });
    if (!end.is_absent()) return end.at(position);
    return sort_by_keys(frame, {items, n}, {keys, n}).at(position);
  }
};

// An error as the initial value is no error unless the body uses it.
class BindNode final : public Node {
 public:
  BindNode(const Node* initial, const Node* body, uint32_t local)
      : initial_(initial), body_(body), local_(local) {}
  Value eval(Frame& frame) const override {
    Value v = initial_->eval(frame);
    if (v.is_budget_error()) return v;
    frame.locals[local_] = v;
    return body_->eval(frame);
  }

 private:
  const Node* initial_;
  const Node* body_;
  uint32_t local_;
};

class OptionalMapNode final : public Node {
 public:
  OptionalMapNode(const Node* target, const Node* body, uint32_t local, bool flat)
      : target_(target), body_(body), local_(local), flat_(flat) {}

  Value eval(Frame& frame) const override {
    Value v = target_->eval(frame);
    if (v.is_error()) return v;
    if (!v.is(Kind::kOptional))
      return frame.no_overload(flat_ ? "optFlatMap" : "optMap", {&v, 1}).at(position);
    if (!v.has_value()) return v;
    frame.locals[local_] = v.inner();
    Value r = body_->eval(frame);
    if (r.is_error()) return r;
    if (!flat_) return frame.make_some(r).at(position);
    return r.is(Kind::kOptional) ? r : frame.no_overload("optFlatMap", {&r, 1}).at(position);
  }

 private:
  const Node* target_;
  const Node* body_;
  uint32_t local_;
  bool flat_;
};

}  // namespace

Node* make_comprehension(Store& store, Macro macro, const Loop& loop) {
  switch (macro) {
    case Macro::kAll: return store.make<QuantifierNode<false>>(loop);
    case Macro::kExists: return store.make<QuantifierNode<true>>(loop);
    case Macro::kExistsOne: return store.make<ExistsOneNode>(loop);
    case Macro::kFilter: return store.make<CollectNode<true>>(loop);
    case Macro::kTransformMap: return store.make<TransformMapNode>(loop);
    case Macro::kTransformMapEntry: return store.make<TransformEntriesNode>(loop);
    case Macro::kSortBy: return store.make<SortByNode>(loop);
    default: return store.make<CollectNode<false>>(loop);
  }
}

Node* make_bind(Store& store, const Node* initial, const Node* body, uint32_t local) {
  return store.make<BindNode>(initial, body, local);
}

Node* make_optional_map(Store& store, const Node* target, const Node* body, uint32_t local, bool flat) {
  return store.make<OptionalMapNode>(target, body, local, flat);
}

}  // namespace ctrlplane::cel
