// The door: one command in, changes and a reply out.
#pragma once

#include "engine/commands.h"
#include "engine/tx.h"

namespace ctrlplane {

// Runs everything but SetProviderResources, which is a ProviderSet of many steps. A request with a known
// Idempotency-Key is answered as it was then; with another body it is a conflict.
Reply execute(Tx& tx, const Request& request);

// The key's record, before a command runs (kConflict, or the earlier answer) and after it succeeded.
std::optional<Reply> replay(const State& state, const Request& request);
void remember(Tx& tx, const Request& request, const Answer& answer);

}  // namespace ctrlplane
