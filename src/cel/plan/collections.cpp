#include "cel/plan/nodes.h"
#include "cel/value/map.h"

namespace ctrlplane::cel {
namespace {

// The value of an entry with '?': absent means leave it out.
Value optional_entry(Frame& frame, const Value& v) {
  if (!v.is(Kind::kOptional)) return frame.no_overload("?_", {&v, 1});
  return v.has_value() ? v.inner() : Value();
}

class ListNode final : public Node {
 public:
  ListNode(std::span<const Node* const> items, std::span<const bool> optional)
      : items_(items), optional_(optional) {}

  Value eval(Frame& frame) const override {
    Value* out = frame.arena.allocate_array<Value>(items_.size());
    if (out == nullptr) return frame.out_of_memory().at(position);
    size_t n = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      Value v = items_[i]->eval(frame);
      if (v.is_error()) return v;
      if (optional_[i]) {
        v = optional_entry(frame, v);
        if (v.is_error()) return v.at(items_[i]->position);
        if (v.is_absent()) continue;
      }
      out[n++] = v;
    }
    return Value::list({out, n});
  }

 private:
  std::span<const Node* const> items_;
  std::span<const bool> optional_;
};

class MapNode final : public Node {
 public:
  MapNode(std::span<const Node* const> parts, std::span<const bool> optional)
      : parts_(parts), optional_(optional) {}

  Value eval(Frame& frame) const override {
    MapBuilder map(frame, optional_.size());
    for (size_t i = 0; i < optional_.size(); ++i) {
      Value key = parts_[2 * i]->eval(frame);
      if (key.is_error()) return key;
      Value v = parts_[2 * i + 1]->eval(frame);
      if (v.is_error()) return v;
      if (optional_[i]) {
        v = optional_entry(frame, v);
        if (v.is_error()) return v.at(parts_[2 * i + 1]->position);
        if (v.is_absent()) continue;
      }
      Value failed = map.add(key, v);
      if (failed.is_error()) return failed.at(parts_[2 * i]->position);
    }
    return map.build().at(position);
  }

 private:
  std::span<const Node* const> parts_;
  std::span<const bool> optional_;
};

}  // namespace

Node* make_list(Store& store, std::span<const Node* const> items, std::span<const bool> optional) {
  auto flags = store.copy<bool>(optional);
  return store.make<ListNode>(store.copy<const Node*>(items), flags);
}

Node* make_map(Store& store, std::span<const Node* const> parts, std::span<const bool> optional) {
  auto flags = store.copy<bool>(optional);
  return store.make<MapNode>(store.copy<const Node*>(parts), flags);
}

}  // namespace ctrlplane::cel
