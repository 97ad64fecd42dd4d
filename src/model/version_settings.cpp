#include "model/version_settings.h"

#include <boost/json.hpp>

#include "model/json_writer.h"

namespace ctrlplane {

namespace bj = boost::json;

VersionSettings VersionSettings::from(const Json& value) {
  VersionSettings s;
  bj::error_code error;
  bj::value v = bj::parse(value.text(), error);
  const bj::object* o = error ? nullptr : v.if_object();
  if (!o) return s;
  if (const bj::value* m = o->if_contains("onSelectorError"); m && m->is_string())
    s.on_selector_error = parse_enum<OnSelectorError>(m->get_string()).value_or(s.on_selector_error);
  if (const bj::value* m = o->if_contains("scopeNeedsPermission"); m && m->is_bool())
    s.scope_needs_permission = m->get_bool();
  return s;
}

Json VersionSettings::json() const {
  JsonWriter w;
  w.open().member("onSelectorError", to_string(on_selector_error));
  return Json::trusted(w.member("scopeNeedsPermission", scope_needs_permission).close().take());
}

}  // namespace ctrlplane
