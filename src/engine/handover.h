// Handing a pending job to an agent: a commit of its own, after which the job counts as in flight
// whatever becomes of the message. Agents learn of a job by no other way.
#pragma once

#include "base/result.h"
#include "engine/tx.h"

namespace ctrlplane {

struct Recipient {
  std::string instance;  // pull: who claims it; push: empty
  bool fences_itself = false;
};

// kConflict, with the reason, if the job may not be handed over (any more); kFrozen if a freeze holds it.
Result<Job> hand_over(Tx& tx, JobIx j, const Recipient& to);

// Nobody knows whether an agent has it: it counts as in flight, and is handed to nobody else.
void assume_handed_over(Job& job, Time now);

// A push that certainly did not arrive: the job waits again as if never sent.
void take_back(Tx& tx, JobIx j);

}  // namespace ctrlplane
