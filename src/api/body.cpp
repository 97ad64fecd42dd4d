#include "api/body.h"

#include <map>

#include <boost/json.hpp>

namespace ctrlplane::api {

const boost::json::value* Body::find(std::string_view name) const {
  if (!object_) return nullptr;
  const boost::json::value* v = object_->if_contains(name);
  return v && !v->is_null() ? v : nullptr;
}

std::optional<std::string> Body::maybe_text(std::string_view name) const {
  const boost::json::value* v = find(name);
  if (!v || !v->is_string()) return std::nullopt;
  return std::string(std::string_view(v->get_string()));
}

std::string Body::text(std::string_view name) const { return maybe_text(name).value_or(""); }

std::optional<int64_t> Body::integer(std::string_view name) const {
  const boost::json::value* v = find(name);
  return v && v->is_int64() ? std::optional(v->get_int64()) : std::nullopt;
}

std::optional<bool> Body::maybe_flag(std::string_view name) const {
  const boost::json::value* v = find(name);
  return v && v->is_bool() ? std::optional(v->get_bool()) : std::nullopt;
}

bool Body::flag(std::string_view name, bool otherwise) const { return maybe_flag(name).value_or(otherwise); }

std::optional<Time> Body::time(std::string_view name) const {
  auto text = maybe_text(name);
  return text ? parse_rfc3339(*text) : std::nullopt;
}

Metadata Body::metadata(std::string_view name) const {
  Metadata m;
  const boost::json::value* v = find(name);
  if (!v || !v->is_object()) return m;
  // In order: each then goes to the end, also when somebody sends a hundred thousand of them.
  std::map<std::string_view, std::string_view> sorted;
  for (const auto& [key, value] : v->get_object())
    if (value.is_string()) sorted[key] = value.get_string();
  for (const auto& [key, value] : sorted) m.set(std::string(key), std::string(value));
  return m;
}

Result<Json> Body::document(std::string_view name) const {
  const boost::json::value* v = find(name);
  if (!v || !v->is_object()) return Json();
  auto parsed = Json::parse_object(boost::json::serialize(*v));
  if (!parsed) return invalid(std::string(name), parsed.error().message);
  return parsed;
}

std::vector<std::string> Body::texts(std::string_view name) const {
  std::vector<std::string> all;
  const boost::json::value* v = find(name);
  if (!v || !v->is_array()) return all;
  for (const auto& item : v->get_array())
    if (item.is_string()) all.emplace_back(std::string_view(item.get_string()));
  return all;
}

std::vector<Body> Body::objects(std::string_view name) const {
  std::vector<Body> all;
  const boost::json::value* v = find(name);
  if (!v || !v->is_array()) return all;
  for (const auto& item : v->get_array())
    if (item.is_object()) all.emplace_back(item.get_object());
  return all;
}

std::optional<Body> Body::object(std::string_view name) const {
  const boost::json::value* v = find(name);
  if (!v || !v->is_object()) return std::nullopt;
  return Body(v->get_object());
}

std::vector<std::string> Body::names() const {
  std::vector<std::string> all;
  if (object_)
    for (const auto& [key, value] : *object_) all.emplace_back(key);
  return all;
}

}  // namespace ctrlplane::api
