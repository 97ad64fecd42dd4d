// Side effects, recorded with their cause and carried out afterwards. A start is sent at most once
// unless its receiver deduplicates or can be asked.
#pragma once

#include "engine/commands.h"
#include "engine/tx.h"

namespace ctrlplane {

Reply begin_send(Tx& tx, const BeginSend& c);
Reply finish_send(Tx& tx, const FinishSend& c);

void enqueue_notice(Tx& tx, std::string channel, std::string payload);
void enqueue_cancel(Tx& tx, const Job& job);
// The job ended otherwise: a start that is still waiting must not go out.
void abandon_start(Tx& tx, JobId job);

}  // namespace ctrlplane
