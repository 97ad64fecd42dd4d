#include <cmath>

#include "cel/plan/nodes.h"
#include "cel/plan/operand.h"
#include "cel/value/compare.h"
#include "cel/value/map.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {
namespace {

struct Step {
  Name name;
  uint32_t position;
  const Value::ErrorText* missing;
};

Value no_fields(Frame& frame, const Value& v, std::string_view field) {
  std::string text(type_name(v));
  return frame.fault(Fault::kNoOverload,
                     text + " does not support field selection: '" + std::string(field) + "'");
}

// One step through an optional: a value that is there is looked into, and what is missing there is
// "none" again.
Value step_optional(Frame& frame, const Value& optional, const Name& name) {
  if (!optional.has_value()) return optional;
  Value inner = optional.inner();
  if (inner.is(Kind::kOptional)) return step_optional(frame, inner, name);
  if (!inner.is(Kind::kMap)) return no_fields(frame, inner, name.text);
  Value found = map_find(frame.arena, inner, name);
  return found.is_absent() ? Value::none() : frame.make_some(found);
}

template <class Operand>
class PathNode final : public Node {
 public:
  PathNode(const Operand& operand, std::span<const Step> steps) : operand_(operand), steps_(steps) {}

  Value eval(Frame& frame) const override {
    Value v = operand_.read(frame);
    for (const Step& step : steps_) {
      if (v.is(Kind::kMap)) [[likely]] {
        Value next = map_find(frame.arena, v, step.name);
        if (next.is_absent()) return Value::error(Fault::kMissingKey, *step.missing, step.position);
        v = next;
        continue;
      }
      if (v.is_error()) return v;
      v = v.is(Kind::kOptional) ? step_optional(frame, v, step.name) : no_fields(frame, v, step.name.text);
      if (v.is_error()) return v.at(step.position);
    }
    return v;
  }

 private:
  Operand operand_;
  std::span<const Step> steps_;
};

class OptionalSelectNode final : public Node {
 public:
  OptionalSelectNode(const Node* operand, const Name& name) : operand_(operand), name_(name) {}

  Value eval(Frame& frame) const override {
    Value v = operand_->eval(frame);
    if (v.is_error()) return v;
    if (v.is(Kind::kOptional)) return step_optional(frame, v, name_).at(position);
    if (!v.is(Kind::kMap)) return no_fields(frame, v, name_.text).at(position);
    Value found = map_find(frame.arena, v, name_);
    return found.is_absent() ? Value::none() : frame.make_some(found);
  }

 private:
  const Node* operand_;
  Name name_;
};

class HasNode final : public Node {
 public:
  HasNode(const Node* operand, const Name& name) : operand_(operand), name_(name) {}

  Value eval(Frame& frame) const override {
    Value v = operand_->eval(frame);
    if (v.is_error()) return v;
    if (v.is(Kind::kOptional)) {
      if (!v.has_value()) return Value::boolean(false);
      Value found = step_optional(frame, v, name_);
      if (found.is_error()) return found.at(position);
      return Value::boolean(found.has_value());
    }
    if (!v.is(Kind::kMap)) return no_fields(frame, v, name_.text).at(position);
    return Value::boolean(!map_find(frame.arena, v, name_).is_absent());
  }

 private:
  const Node* operand_;
  Name name_;
};

// The element at a list's index. A double counts if it is whole.
Value list_element(Frame& frame, const Value& list, const Value& index) {
  int64_t at = -1;
  if (index.is(Kind::kInt)) {
    at = index.as_int();
  } else if (index.is(Kind::kUint)) {
    at = index.as_uint() > INT64_MAX ? -1 : index.as_int();
  } else if (index.is(Kind::kDouble)) {
    double d = index.as_double();
    if (d != std::floor(d))
      return frame.fault(Fault::kInvalidArgument, "the index of a list is a whole number");
    at = d >= 0 && d < 1e15 ? static_cast<int64_t>(d) : -1;
  } else {
    Value both[] = {list, index};
    return frame.no_overload("_[_]", both);
  }
  if (at < 0 || static_cast<uint64_t>(at) >= list_size(list))
    return frame.fault(Fault::kIndex, "index out of range: " + literal_text(index, 60));
  return list_at(frame.arena, list, static_cast<size_t>(at));
}

Value element(Frame& frame, const Value& container, const Value& key) {
  if (container.is(Kind::kList)) return list_element(frame, container, key);
  if (!container.is(Kind::kMap)) {
    Value both[] = {container, key};
    return frame.no_overload("_[_]", both);
  }
  Value found = map_find(frame.arena, container, key);
  if (!found.is_absent()) return found;
  return frame.fault(Fault::kMissingKey, "no such key: " + literal_text(key, 80));
}

class IndexNode final : public Node {
 public:
  IndexNode(const Node* operand, const Node* index, bool optional)
      : operand_(operand), index_(index), optional_(optional) {}

  Value eval(Frame& frame) const override {
    Value container = operand_->eval(frame);
    if (container.is_error()) return container;
    Value key = index_->eval(frame);
    if (key.is_error()) return key;
    bool optional = optional_;
    while (container.is(Kind::kOptional)) {
      if (!container.has_value()) return container;
      container = container.inner();
      optional = true;
    }
    Value found = element(frame, container, key);
    if (!optional) return found.at(position);
    if (found.is_error())
      return found.is_missing_key() || found.fault() == Fault::kIndex ? Value::none() : found.at(position);
    return frame.make_some(found);
  }

 private:
  const Node* operand_;
  const Node* index_;
  bool optional_;
};

}  // namespace

Value Frame::lazy_slot(uint32_t i) {
  if (lazy != nullptr) {
    Value v = lazy->variable(i, arena);
    if (!v.is_absent()) return v;
  }
  static const Value::ErrorText kUnbound{"this variable has no value here"};
  return Value::error(Fault::kUnbound, kUnbound);
}

Node* make_path(Store& store, const Node* operand, std::span<const Name> names,
                std::span<const uint32_t> positions) {
  std::vector<Step> steps;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string missing = "no such key: " + quote(names[i].text.substr(0, 80), '\'');
    steps.push_back({names[i], positions[i], store.error_text(missing)});
  }
  return make_with_operand<PathNode>(store, operand, store.copy<Step>(steps));
}

Node* make_optional_select(Store& store, const Node* operand, const Name& name) {
  return store.make<OptionalSelectNode>(operand, name);
}

Node* make_has(Store& store, const Node* operand, const Name& name) {
  return store.make<HasNode>(operand, name);
}

Node* make_index(Store& store, const Node* operand, const Node* index, bool optional) {
  return store.make<IndexNode>(operand, index, optional);
}

}  // namespace ctrlplane::cel
