// The kinds of job agents, and what each promises about a start that may or may not have arrived.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ctrlplane {

enum class Delivery : uint8_t { kPull, kPush };

// What to do with a start found half sent (after a crash, a time-out or a change of owner).
enum class Recovery : uint8_t {
  kDeduplicates,  // send again with the same key: the receiver starts it once
  kCanBeAsked,    // ask the receiver whether the job is there, then decide
  kNeither,       // a person must look: the job becomes action_required
};

struct AgentType {
  std::string_view name;
  Delivery delivery;
  Recovery recovery;
};

// Null if there is no such type. A new type is one line in the table behind it.
const AgentType* find_agent_type(std::string_view name);
// How an agent of that type is served. Types are free text: one that is not in the table is not ours to
// push to, so its jobs wait to be claimed.
const AgentType& agent_type(std::string_view name);
std::span<const AgentType> agent_types();

}  // namespace ctrlplane
