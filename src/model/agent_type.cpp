#include "model/agent_type.h"

#include <array>

namespace ctrlplane {
namespace {

constexpr std::array kTypes = {
    // A claim names the instance, and the same claim repeated returns the same job.
    AgentType{"http-pull", Delivery::kPull, Recovery::kDeduplicates},
    // A plain web hook that honours the job id as its idempotency key.
    AgentType{"webhook-keyed", Delivery::kPush, Recovery::kDeduplicates},
    // A web hook with a look-up by job id.
    AgentType{"webhook-lookup", Delivery::kPush, Recovery::kCanBeAsked},
    // A web hook that promises nothing.
    AgentType{"webhook", Delivery::kPush, Recovery::kNeither},
};

// A claim is the same for every type that pulls.
constexpr AgentType kOther{"", Delivery::kPull, Recovery::kDeduplicates};

}  // namespace

const AgentType* find_agent_type(std::string_view name) {
  for (const AgentType& t : kTypes)
    if (t.name == name) return &t;
  return nullptr;
}

const AgentType& agent_type(std::string_view name) {
  const AgentType* known = find_agent_type(name);
  return known ? *known : kOther;
}

std::span<const AgentType> agent_types() { return kTypes; }

}  // namespace ctrlplane
