// The bulk form of resource upserts: a diff against what the provider has, done in steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "engine/commands.h"
#include "engine/tx.h"

namespace ctrlplane {

// Not atomic, but repeatable: upserts first, then the deletes; a set that was cut off half way is
// completed by sending it again. A resource of another provider is left as it is; one of nobody becomes
// the provider's.
class ProviderSet {
 public:
  explicit ProviderSet(SetProviderResources command) : command_(std::move(command)) {}
  // The form of all of them, for whoever has the time: the steps look at it first, some at a time.
  Status validate();
  // One resource, or the form of some. True when nothing is left; reply() then says how it went.
  bool step(Tx& tx);
  const Reply& reply() const { return reply_; }

 private:
  Status check_next();
  bool owned_by_another(const State& state, std::string_view identifier) const;

  SetProviderResources command_;
  boost::unordered_flat_set<std::string> wanted_;
  size_t checked_ = 0, next_ = 0;
  size_t skipped_ = 0;
  Time last_created_;
  std::optional<std::vector<ResourceId>> leaving_;
  Reply reply_ = Answer{};
};

// Cancels the target's jobs that no agent has been handed.
void cancel_waiting_jobs(Tx& tx, TargetIx t);

}  // namespace ctrlplane
