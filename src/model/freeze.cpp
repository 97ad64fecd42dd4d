#include "model/freeze.h"

#include <boost/json.hpp>

#include "model/json_writer.h"

namespace ctrlplane {

namespace bj = boost::json;

FreezeSettings FreezeSettings::from(const Json& value) {
  FreezeSettings s;
  bj::error_code error;
  bj::value v = bj::parse(value.text(), error);
  const bj::object* o = error ? nullptr : v.if_object();
  if (!o) return s;
  auto seconds_of = [&](std::string_view name) -> std::optional<Duration> {
    const bj::value* m = o->if_contains(name);
    return m && m->is_int64() && m->get_int64() > 0 ? std::optional(seconds(m->get_int64())) : std::nullopt;
  };
  auto flag = [&](std::string_view name) {
    const bj::value* m = o->if_contains(name);
    return m && m->is_bool() && m->get_bool();
  };
  s.max_ttl = seconds_of("maxTtlSeconds");
  s.ttl_required = flag("ttlRequired");
  s.thaw_needs_reason = flag("thawNeedsReason");
  s.second_person_thaws = flag("secondPersonThaws");
  s.warn_before = seconds_of("warnBeforeSeconds").value_or(s.warn_before);
  return s;
}

Json FreezeSettings::json() const {
  JsonWriter w;
  w.open();
  if (max_ttl) w.member("maxTtlSeconds", max_ttl->us / 1000000);
  w.member("secondPersonThaws", second_person_thaws).member("thawNeedsReason", thaw_needs_reason);
  w.member("ttlRequired", ttl_required).member("warnBeforeSeconds", warn_before.us / 1000000).close();
  return Json::trusted(w.take());
}

void write_freeze(JsonWriter& w, WorkspaceId workspace, const Freeze& f, Time now) {
  w.open().member("id", f.id).member("workspaceId", workspace).member("scope", to_string(f.scope));
  w.member("scopeEntityId", f.scope_entity).member("reason", f.reason);
  w.member_unless_empty("incidentUrl", f.incident_url).member("createdBy", f.created_by);
  w.member("createdAt", f.created_at).member("effectiveAt", f.effective_at).member("expiresAt", f.expires_at);
  w.member("thawedAt", f.thawed_at).member_unless_empty("thawedBy", f.thawed_by);
  w.member_unless_empty("thawReason", f.thaw_reason).member("selector", f.selector);
  w.member("inFlight", to_string(f.in_flight)).member("metadata", f.metadata);
  if (f.resume_per_minute) w.key("resume").open().member("perMinute", *f.resume_per_minute).close();
  w.member("status", f.active(now) ? "active" : f.scheduled(now) ? "scheduled" : "ended").close();
}

std::string spans_json(const std::vector<FreezeSpan>& spans) {
  JsonWriter w;
  w.open_array();
  for (const FreezeSpan& s : spans)
    w.open().member("from", s.from.us).member("to", s.to.us).member("selector", s.selector).close();
  return w.close_array().take();
}

std::optional<std::vector<FreezeSpan>> parse_spans(std::string_view text) {
  bj::error_code error;
  bj::value v = bj::parse(text, error);
  if (error || !v.is_array()) return std::nullopt;
  std::vector<FreezeSpan> spans;
  for (const bj::value& member : v.get_array()) {
    const bj::object* o = member.if_object();
    const bj::value* from = o ? o->if_contains("from") : nullptr;
    const bj::value* to = o ? o->if_contains("to") : nullptr;
    if (!from || !to || !from->is_int64() || !to->is_int64()) return std::nullopt;
    FreezeSpan span{.from = Time{from->get_int64()}, .to = Time{to->get_int64()}};
    if (const bj::value* selector = o->if_contains("selector"); selector && selector->is_string())
      span.selector = std::string(selector->get_string());
    spans.push_back(std::move(span));
  }
  return spans;
}

}  // namespace ctrlplane
