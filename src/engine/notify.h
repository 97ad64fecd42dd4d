// Notification channels: where news go. News are rows of the outbox, so a dead channel delays nothing.
#pragma once

#include "engine/commands.h"
#include "engine/tx.h"

namespace ctrlplane {

Reply upsert_channel(Tx& tx, const UpsertChannel& c);
Reply delete_channel(Tx& tx, const DeleteChannel& c);
Reply test_channel(Tx& tx, const TestChannel& c);

// To every enabled channel; `payload` is a JSON object with a member "type".
void notify_all(Tx& tx, const std::string& payload);

// The channel of outbox rows that go to channels of this kind.
std::string outbox_channel(ChannelKind kind);

}  // namespace ctrlplane
