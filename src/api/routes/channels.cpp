// Notification channels, and what became of the messages to them.
#include <algorithm>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "api/api.h"
#include "api/cold.h"
#include "api/families.h"
#include "net/http.h"
#include "net/smtp.h"

namespace ctrlplane::api {
namespace {

namespace bj = boost::json;

constexpr size_t kMaxUrl = 2000;
constexpr size_t kMaxAddresses = 100;
constexpr size_t kMaxDepth = 100;  // more than a stored document has

// ---- Views -----------------------------------------------------------------------------------------------

// A Slack URL is all it takes to post there: the configuration is for those who may change it.
bool may_see_config(Call& c) {
  return c.api().directory().allows(c.who(), permission::kNotifyWrite, c.workspace()).has_value();
}

void write_channel(JsonWriter& w, const NotificationChannel& row, bool with_config) {
  w.open().member("id", row.id).member("name", row.name).member("kind", to_string(row.kind));
  if (with_config) w.member("config", row.config);
  w.member("hasSecret", !row.secret.empty()).member("enabled", row.enabled);
  w.member("createdAt", row.created_at).close();
}

Error no_channel(ChannelId id) { return {ErrorCode::kNotFound, fmt::format("no channel {}", id.str())}; }

Result<std::string> channel_text(const State& s, ChannelId id, bool with_config) {
  auto it = s.channels.find(id);
  if (it == s.channels.end()) return std::unexpected(no_channel(id));
  JsonWriter w;
  write_channel(w, it->second, with_config);
  return w.take();
}

RenderFn as_channel() {
  return [](const State& s, Time, const Answer& answer) {
    return channel_text(s, ChannelId{answer.id}, true).value_or("{}");
  };
}

std::string type_of(const std::string& payload) {
  bj::error_code error;
  bj::value parsed = bj::parse(payload, error);
  const bj::object* all = error ? nullptr : parsed.if_object();
  const bj::value* type = all ? all->if_contains("type") : nullptr;
  return type && type->is_string() ? std::string(std::string_view(type->get_string())) : "unknown";
}

void write_delivery(JsonWriter& w, ChannelId channel, const OutboxItem& row) {
  w.open().member("id", row.id).member("channelId", channel).member("type", type_of(row.payload));
  w.member("status", to_string(row.status)).member("attempts", row.attempt);
  w.member_unless_empty("lastError", row.last_error).member("createdAt", row.created_at);
  if (row.status == OutboxStatus::kPending) w.member("nextAttemptAt", row.next_attempt_at);
  w.member("endedAt", row.ended_at).close();
}

// ---- What may be said ------------------------------------------------------------------------------------

Status check_url(const bj::object& config) {
  const bj::value* v = config.if_contains("url");
  std::string_view url = v && v->is_string() ? std::string_view(v->get_string()) : std::string_view();
  size_t scheme = net::same_name(url.substr(0, 7), "http://")    ? 7
                  : net::same_name(url.substr(0, 8), "https://") ? 8
                                                                 : 0;
  if (scheme == 0) return invalid("config.url", "must be a URL that begins with http:// or https://");
  if (url.size() > kMaxUrl) return invalid("config.url", fmt::format("has more than {} characters", kMaxUrl));
  if (std::ranges::any_of(url, [](unsigned char c) { return c <= 0x20 || c >= 0x7f; }))
    return invalid("config.url",
                   "has a blank or something other than ASCII in it; it must be percent-encoded");
  std::string_view authority = url.substr(scheme, url.find_first_of("/?#", scheme) - scheme);
  std::string_view host = authority.substr(authority.rfind('@') + 1);  // npos + 1 is 0
  if (host.empty() || host.starts_with(':')) return invalid("config.url", "names no host");
  return {};
}

Status check_addresses(const bj::object& config) {
  const bj::value* to = config.if_contains("to");
  if (!to || to->is_null()) return {};
  const bj::array* all = to->if_array();
  if (!all || all->empty() || all->size() > kMaxAddresses)
    return invalid("config.to",
                   fmt::format("must be a list of 1 to {} e-mail addresses; without it the members concerned "
                               "are written to",
                               kMaxAddresses));
  for (size_t i = 0; i < all->size(); ++i)
    if (!(*all)[i].is_string() || !net::is_mail_address(std::string_view((*all)[i].get_string())))
      return invalid(fmt::format("config.to[{}]", i), "must be an e-mail address");
  return {};
}

// Here, off the loop.
Result<UpsertChannel> from_body(const Body& b) {
  UpsertChannel u{.name = b.text("name")};
  u.kind = *parse_enum<ChannelKind>(b.text("kind"));
  u.config = TRY(b.document("config"));
  u.secret = b.maybe_text("secret");
  u.enabled = b.flag("enabled", true);
  bj::parse_options deep;
  deep.max_depth = kMaxDepth;
  const bj::value parsed = bj::parse(u.config.text(), {}, deep);
  TRY(u.kind == ChannelKind::kEmail ? check_addresses(parsed.get_object()) : check_url(parsed.get_object()));
  if (u.kind != ChannelKind::kWebhook && u.secret && !u.secret->empty())
    return invalid("secret", "is what a webhook's messages are signed with; other channels have none");
  return u;
}

// ---- Handlers --------------------------------------------------------------------------------------------

Status list(Call& c) {
  return c.read([page = c.page(), all = may_see_config(c)](const State& s, Time) -> Result<std::string> {
    std::vector<const NotificationChannel*> found;
    for (const auto& [id, row] : s.channels) found.push_back(&row);
    std::ranges::sort(found,
                      [](auto* a, auto* b) { return std::tie(a->name, a->id) < std::tie(b->name, b->id); });
    return page_of(found, page, [&](JsonWriter& w, const auto* row) { write_channel(w, *row, all); });
  });
}

Status get(Call& c) {
  ChannelId id = TRY(c.id<ChannelId>("channelId"));
  return c.read([id, all = may_see_config(c)](const State& s, Time) { return channel_text(s, id, all); });
}

Status create(Call& c) { return c.write(TRY(from_body(c.body())), as_channel()); }

Status put(Call& c) {
  const ChannelId id = TRY(c.id<ChannelId>("channelId"));
  UpsertChannel u = TRY(from_body(c.body()));
  u.id = id;
  return c.write(std::move(u), as_channel());
}

Status remove(Call& c) {
  return c.write(DeleteChannel{TRY(c.id<ChannelId>("channelId"))}, accepted("Notification channel deleted"));
}

Status test(Call& c) {
  return c.write(TestChannel{TRY(c.id<ChannelId>("channelId"))}, accepted("Test message queued"));
}

// Of a channel that was deleted too, as long as its messages are kept.
Status deliveries(Call& c) {
  ChannelId id = TRY(c.id<ChannelId>("channelId"));
  return c.ask<bool>([id](const State& s, Time) -> Result<bool> { return s.channels.contains(id); },
                     [id](Call& call, bool known) -> Status {
                       store::ColdQuery query;
                       query.equals = {{"recipient_id", store::CellView(id.uuid)}};
                       query.order_by = "created_at";
                       query.descending = true;
                       auto found =
                           TRY(cold_page<OutboxItem>(call.store(), call.workspace(), query, call.page()));
                       if (!known && found.total == 0) return std::unexpected(no_channel(id));
                       return call.reply(cold_page_text(
                           found.items, found.total, call.page(),
                           [&](JsonWriter& w, const OutboxItem& row) { write_delivery(w, id, row); }));
                     });
}

}  // namespace

Family channel_family() {
  using namespace permission;
  constexpr std::string_view kAll = CTRLPLANE_W "/notification-channels";
  constexpr std::string_view kOne = CTRLPLANE_W "/notification-channels/{channelId}";
  return {"Notifications",
          {
              {.method = "GET",
               .path = kAll,
               .id = "listNotificationChannels",
               .summary = "Channels by name; config is shown to those who may change it",
               .permission = kRead,
               .query = paged(),
               .outcomes = {{200, "NotificationChannelPage"}},
               .handler = list},
              {.method = "POST",
               .path = kAll,
               .id = "createNotificationChannel",
               .summary = "Make a channel",
               .permission = kNotifyWrite,
               .body = "UpsertChannelRequest",
               .outcomes = {{201, "NotificationChannel"}},
               .handler = create},
              {.method = "GET",
               .path = kOne,
               .id = "getNotificationChannel",
               .summary = "A channel; config is shown to those who may change it",
               .permission = kRead,
               .outcomes = {{200, "NotificationChannel"}},
               .handler = get},
              {.method = "PUT",
               .path = kOne,
               .id = "upsertNotificationChannel",
               .summary = "Make or replace a channel; without a secret it keeps the one it has",
               .permission = kNotifyWrite,
               .body = "UpsertChannelRequest",
               .outcomes = {{202, "NotificationChannel"}},
               .handler = put},
              {.method = "DELETE",
               .path = kOne,
               .id = "deleteNotificationChannel",
               .summary = "Delete a channel; messages that wait for it are given up",
               .permission = kNotifyWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = remove},
              {.method = "POST",
               .path = CTRLPLANE_W "/notification-channels/{channelId}/test",
               .id = "testNotificationChannel",
               .summary = "Send a test message; answers with the delivery's id",
               .permission = kNotifyWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = test},
              {.method = "GET",
               .path = CTRLPLANE_W "/notification-channels/{channelId}/deliveries",
               .id = "listNotificationDeliveries",
               .summary = "Messages to a channel and what became of them, newest first",
               .permission = kRead,
               .query = paged(),
               .outcomes = {{200, "DeliveryPage"}},
               .handler = deliveries},
          }};
}

}  // namespace ctrlplane::api
