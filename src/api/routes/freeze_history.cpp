// Freezes looked at: what has not ended is in memory, what has is in the store.
#include <algorithm>

#include <fmt/core.h>

#include "api/cold.h"
#include "api/families.h"
#include "api/freeze_views.h"
#include "api/views.h"

namespace ctrlplane::api {
namespace {

constexpr Duration kRecently = hours(24 * 30);
constexpr int64_t kChunk = 500;
constexpr size_t kMostEnded = 20'000;  // that a list with `since` goes through

struct Listed {
  std::vector<Freeze> open;  // newest first
  Time now;
};

Listed open_freezes(const State& s, Time now, std::string_view status) {
  Listed all{.open = {}, .now = now};
  s.freezes.each([&](FreezeIx, const FreezeSlot& slot) {
    const Freeze& row = slot.row;
    const std::string_view is = row.active(now) ? "active" : row.scheduled(now) ? "scheduled" : "ended";
    if (!row.ended() && (status.empty() || status == "all" || status == is)) all.open.push_back(row);
  });
  std::sort(all.open.begin(), all.open.end(), [](const Freeze& a, const Freeze& b) {
    return std::tie(b.effective_at, b.id) < std::tie(a.effective_at, a.id);
  });
  return all;
}

store::ColdQuery ended_query() {
  store::ColdQuery query;
  query.table = &store::table_for<Freeze>();
  query.present = {"thawed_at"};
  query.order_by = "thawed_at";
  query.descending = true;
  return query;
}

// Those that ended since then: the store is not asked by ranges, so it is read until they are older.
Result<std::vector<Freeze>> ended_since(Call& call, Time since) {
  std::vector<Freeze> all;
  store::ColdQuery query = ended_query();
  query.limit = kChunk;
  while (all.size() < kMostEnded) {
    query.offset = static_cast<int64_t>(all.size());
    auto chunk = TRY(rows<Freeze>(call.store(), call.workspace(), query));
    for (Freeze& row : chunk) {
      if (*row.thawed_at < since) return all;
      all.push_back(std::move(row));
    }
    if (chunk.size() < static_cast<size_t>(kChunk)) break;
  }
  return all;
}

// What has not ended is in memory, what has is in the store.
Status list_with_ended(Call& call, const Listed& listed, std::optional<Time> since) {
  std::vector<Freeze> items = listed.open;
  auto is_listed = [&](const Freeze& row) {  // it ended between the two looks
    return std::any_of(listed.open.begin(), listed.open.end(), [&](auto& o) { return o.id == row.id; });
  };
  auto show = [&](JsonWriter& w, const Freeze& row) { write_freeze(w, call.workspace(), row, listed.now); };
  const Page page = call.page();
  if (since) {
    for (Freeze& row : TRY(ended_since(call, *since)))
      if (!is_listed(row)) items.push_back(std::move(row));
    return call.reply(page_of(items, page, show));
  }
  const size_t from = page.offset < items.size() ? 0 : page.offset - items.size();
  const int64_t total =
      TRY(call.store().count(call.workspace(), ended_query())) + static_cast<int64_t>(items.size());
  std::vector<Freeze> cut;
  for (size_t i = page.offset; i < items.size() && cut.size() < page.limit; ++i) cut.push_back(items[i]);
  store::ColdQuery query = ended_query();
  query.offset = static_cast<int64_t>(from);
  query.limit = static_cast<int64_t>(page.limit - cut.size());
  if (query.limit > 0)
    for (Freeze& row : TRY(rows<Freeze>(call.store(), call.workspace(), query)))
      if (!is_listed(row)) cut.push_back(std::move(row));
  return call.reply(cold_page_text(cut, total, page, show));
}

Status list(Call& c) {
  const std::string status = c.query("status").value_or("");
  if (status == "active" || status == "scheduled")
    return c.read([status, page = c.page()](const State& s, Time now) -> Result<std::string> {
      return page_of(open_freezes(s, now, status).open, page,
                     [&](JsonWriter& w, const Freeze& row) { write_freeze(w, s.id(), row, now); });
    });
  std::optional<Time> since;
  if (auto text = c.query("since")) since = parse_rfc3339(*text);
  if (!since && status.empty()) since = c.now() - kRecently;
  return c.ask<Listed>(
      [status](const State& s, Time now) -> Result<Listed> { return open_freezes(s, now, status); },
      [since](Call& call, Listed listed) { return list_with_ended(call, listed, since); });
}

Status list_active(Call& c) {
  return c.read([](const State& s, Time now) -> Result<std::string> {
    JsonWriter w;
    w.open().key("items").open_array();
    for (const Freeze& row : open_freezes(s, now, "active").open) write_freeze(w, s.id(), row, now);
    return w.close_array().close().take();
  });
}

struct View {
  FreezeId id;
  std::string text;  // empty: it is not in memory
  std::shared_ptr<Impact> impact = std::make_shared<Impact>();
};

Status show_with_events(Call& call, const View& view) {
  std::string text = view.text;
  if (text.empty()) text = freeze_text(call.workspace(), TRY(stored_freeze(call, view.id)), call.now());
  JsonWriter w;
  w.open_array();
  for (const FreezeEvent& event : TRY(events_of(call.store(), call.workspace(), view.id))) write(w, event);
  text = with_member(std::move(text), "events", w.close_array().text());
  if (view.impact->outline) text = with_member(std::move(text), "impact", view.impact->text());
  return call.reply(std::move(text));
}

Status get(Call& c) {
  auto view = std::make_shared<View>();
  view->id = TRY(c.id<FreezeId>("freezeId"));
  Query look{[view](const State& s, Time now) -> Result<std::string> {
    FreezeIx f = s.freezes.find(view->id);
    if (!f) return std::string();
    const Freeze& row = s.freezes[f].row;
    view->text = freeze_text(s.id(), row, now);
    if (!row.ended()) view->impact->begin(s, TRY(FreezeOutline::of(row)));
    return std::string();
  }};
  return c.submit(c.workspace(), std::move(look), {}, [view](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    count_impact(call, view->impact, [view](Call& counted, Status status) {
      if (status) status = counted.later([view](Call& last) { return show_with_events(last, *view); });
      if (!status) counted.refuse(status.error());
    });
  });
}

}  // namespace

Family freeze_history_family() {
  using namespace permission;
  return {"Freezes",
          {
              {.method = "GET",
               .path = CTRLPLANE_W "/freezes",
               .id = "listFreezes",
               .summary = "Freezes: what has not ended, then what has, newest first; without `status` those "
                          "that ended in the last 30 days",
               .permission = kFreezeRead,
               .query = paged({{"status", "\"active\" | \"scheduled\" | \"ended\" | \"all\""},
                               {"since", "datetime", "of ended ones only those that ended since"}}),
               .outcomes = {{200, "FreezePage"}},
               .handler = list},
              {.method = "GET",
               .path = CTRLPLANE_W "/freezes/active",
               .id = "listActiveFreezes",
               .summary = "Freezes that are active now",
               .permission = kFreezeRead,
               .outcomes = {{200, "FreezeList"}},
               .handler = list_active},
              {.method = "GET",
               .path = CTRLPLANE_W "/freezes/{freezeId}",
               .id = "getFreeze",
               .summary = "A freeze with its history, and with its impact while it has not ended",
               .permission = kFreezeRead,
               .outcomes = {{200, "FreezeWithEvents"}},
               .handler = get},
          }};
}

}  // namespace ctrlplane::api
