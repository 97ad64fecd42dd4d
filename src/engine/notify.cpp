#include "engine/notify.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/outbox.h"
#include "engine/validate.h"
#include "model/json_writer.h"

namespace ctrlplane {
namespace {

constexpr size_t kMaxChannels = 100;

OutboxId enqueue(Tx& tx, const NotificationChannel& channel, const std::string& payload) {
  OutboxItem item{.id = tx.ids.make<OutboxId>(), .kind = OutboxKind::kNotice};
  item.channel = outbox_channel(channel.kind);
  item.payload = payload;
  item.created_at = item.next_attempt_at = tx.now;
  item.recipient = channel.id;
  tx.put(item);
  return item.id;
}

Result<NotificationChannel> known_channel(const State& state, ChannelId id) {
  auto it = state.channels.find(id);
  if (it == state.channels.end()) return fail(ErrorCode::kNotFound, fmt::format("no channel {}", id.str()));
  return it->second;
}

}  // namespace

std::string outbox_channel(ChannelKind kind) { return fmt::format("notify-{}", to_string(kind)); }

Reply upsert_channel(Tx& tx, const UpsertChannel& c) {
  TRY(required_text("name", c.name));
  TRY(valid_document("config", c.config));
  if (c.secret) TRY(optional_text("secret", *c.secret, kMaxName));
  for (const auto& [id, other] : tx.state.channels)
    if (other.name == c.name && id != c.id)
      return fail(ErrorCode::kConflict, fmt::format("a channel named '{}' exists already", c.name));
  const auto known = c.id ? tx.state.channels.find(*c.id) : tx.state.channels.end();
  const bool is_new = known == tx.state.channels.end();
  if (is_new && tx.state.channels.size() >= kMaxChannels)
    return fail(ErrorCode::kConflict, fmt::format("a workspace has at most {} channels", kMaxChannels));
  NotificationChannel row;
  if (is_new) {
    row.id = c.id ? *c.id : tx.ids.make<ChannelId>();
    row.created_at = tx.now;
  } else {
    row = known->second;
  }
  row.name = c.name;
  row.kind = c.kind;
  row.config = c.config;
  if (c.secret) row.secret = *c.secret;
  row.enabled = c.enabled;
  if (!is_new && row == known->second) return Answer{.id = row.id.uuid};
  tx.put(row);
  tx.audit(is_new ? "channel.create" : "channel.update", row.id.str(),
           JsonWriter().open().member("name", row.name).member("kind", to_string(row.kind)).close().take());
  return Answer{.id = row.id.uuid, .created = is_new};
}

Reply delete_channel(Tx& tx, const DeleteChannel& c) {
  NotificationChannel row = TRY(known_channel(tx.state, c.id));
  tx.audit("channel.delete", c.id.str(), JsonWriter().open().member("name", row.name).close().take());
  tx.erase(std::move(row));
  return Answer{.id = c.id.uuid};
}

Reply test_channel(Tx& tx, const TestChannel& c) {
  NotificationChannel row = TRY(known_channel(tx.state, c.id));
  JsonWriter w;
  w.open().member("type", "test").member("workspaceId", tx.state.id()).member("at", tx.now);
  w.member("audience", "admins").member("actor", tx.actor).close();
  return Answer{.id = enqueue(tx, row, w.take()).uuid, .created = true};
}

void notify_all(Tx& tx, const std::string& payload) {
  for (const auto& [id, channel] : tx.state.channels)
    if (channel.enabled) enqueue(tx, channel, payload);
}

}  // namespace ctrlplane
