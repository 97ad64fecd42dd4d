// The live stream, and the record of who did what.
#include <charconv>

#include "api/api.h"
#include "api/cold.h"
#include "api/families.h"
#include "api/views.h"

namespace ctrlplane::api {
namespace {

Result<std::optional<int64_t>> last_seen(const Call& c) {
  const std::string* header = c.request().headers.find("last-event-id");
  if (!header || header->empty()) return std::optional<int64_t>();
  int64_t seq = 0;
  auto [end, error] = std::from_chars(header->data(), header->data() + header->size(), seq);
  if (error != std::errc() || end != header->data() + header->size() || seq < 0)
    return invalid("Last-Event-ID", "must be the id of an event");
  return std::optional(seq);
}

Status events(Call& c) {
  auto seen = TRY(last_seen(c));
  // By way of the loop, so that what the stream begins with is durable and ours to say.
  Query nothing{[](const State&, Time) -> Result<std::string> { return std::string(); }};
  return c.submit(c.workspace(), std::move(nothing), {}, [seen](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    Events& events = call.api().events();
    if (!events.can_subscribe(call.workspace()))
      return call.refuse(
          {ErrorCode::kBusy, "too many streams are open, or the workspace is changing its owner"});
    net::Response head{.headers = {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}}};
    events.subscribe(call.workspace(), call.who(), seen, call.stream(std::move(head)));
  });
}

Status audit(Call& c) {
  return c.later([](Call& call) -> Status {
    store::ColdQuery query;
    auto actor = call.query("actor"), subject = call.query("subject"), action = call.query("action");
    if (actor) query.equals.push_back({"actor", store::CellView(std::string_view(*actor))});
    if (subject) query.equals.push_back({"subject", store::CellView(std::string_view(*subject))});
    if (action) query.equals.push_back({"action", store::CellView(std::string_view(*action))});
    query.order_by = "at";
    query.descending = true;
    auto found = TRY(cold_page<AuditEntry>(call.store(), call.workspace(), query, call.page()));
    return call.reply(cold_page_text(found.items, found.total, call.page(),
                                     [](JsonWriter& w, const AuditEntry& e) { write(w, e); }));
  });
}

}  // namespace

Family event_family() {
  using namespace permission;
  return {"Events",
          {
              {.method = "GET",
               .path = CTRLPLANE_W "/events",
               .id = "streamEvents",
               .summary = "What is committed, as Server-Sent Events",
               .permission = kRead,
               .outcomes = {{200}},
               .handler = events,
               .content_type = "text/event-stream"},
              {.method = "GET",
               .path = CTRLPLANE_W "/audit",
               .id = "listAuditEntries",
               .summary = "Who did what, newest first",
               .permission = kRead,
               .query = paged({{"actor", "string"}, {"action", "string"}, {"subject", "string"}}),
               .outcomes = {{200, "AuditEntryPage"}},
               .handler = audit},
          }};
}

}  // namespace ctrlplane::api
