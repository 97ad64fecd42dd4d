// An operand that is most often a plain variable. Nodes templated on it read the variable in place
// instead of through a virtual call.
#pragma once

#include "cel/plan/node.h"
#include "cel/plan/nodes.h"

namespace ctrlplane::cel {

struct SlotOperand {
  uint32_t slot;
  uint32_t position;
  Value read(Frame& frame) const {
    Value v = frame.slot(slot);
    return v.is_error() ? v.at(position) : v;
  }
};

struct NodeOperand {
  const Node* node;
  Value read(Frame& frame) const { return node->eval(frame); }
};

template <template <class> class T, class... Args>
Node* make_with_operand(Store& store, const Node* operand, Args&&... args) {
  if (operand->slot_number() >= 0) {
    SlotOperand slot{static_cast<uint32_t>(operand->slot_number()), operand->position};
    return store.make<T<SlotOperand>>(slot, std::forward<Args>(args)...);
  }
  return store.make<T<NodeOperand>>(NodeOperand{operand}, std::forward<Args>(args)...);
}

}  // namespace ctrlplane::cel
