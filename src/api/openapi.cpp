#include "api/openapi.h"

#include <boost/json.hpp>

#include "net/http.h"

namespace ctrlplane::api {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::string;

object parameter(std::string_view where, std::string_view name, object schema, std::string_view about) {
  object p{{"name", name}, {"in", where}, {"required", where == "path"}, {"schema", std::move(schema)}};
  if (!about.empty()) p["description"] = about;
  return p;
}

object content(std::string_view type, object schema) {
  return {{string(type), {{"schema", std::move(schema)}}}};
}

object reference(std::string_view shape) { return {{"$ref", "#/components/schemas/" + std::string(shape)}}; }

object responses(const Route& route) {
  object all;
  for (const Outcome& o : route.outcomes) {
    object r{{"description", net::reason_phrase(o.status)}};
    if (!o.shape.empty())
      r["content"] = content("application/json", reference(o.shape));
    else if (o.status == 200)
      r["content"] = content(route.content_type, {});
    if (!o.shape.empty() && !route.other_type.empty())
      r["content"].as_object()[string(route.other_type)] = object{{"schema", object{{"type", "string"}}}};
    all[std::to_string(o.status)] = r;
  }
  all["default"] = {{"description", "refused, with the reason"},
                    {"content", content("application/json", reference("Error"))}};
  return all;
}

object operation(const BoundRoute& bound, const Shapes& shapes) {
  const Route& route = *bound.route;
  object op{{"operationId", route.id}, {"tags", array{string(bound.tag)}}, {"summary", route.summary}};
  array parameters;
  for (const std::string& name : bound.parameters)
    parameters.push_back(parameter("path", name, {{"type", "string"}},
                                   name == "workspaceId" ? "the workspace's id or slug" : ""));
  for (size_t i = 0; i < bound.query.size(); ++i)
    parameters.push_back(parameter("query", bound.query[i].first, shapes.schema(*bound.query[i].second),
                                   route.query[i].about));
  if (route.method == "POST" && route.permission.where != Permission::Where::kNobody)
    parameters.push_back(parameter("header", "Idempotency-Key", {{"type", "string"}},
                                   "a repeat with the same key within 24 h gets the first answer"));
  if (!parameters.empty()) op["parameters"] = parameters;
  if (!route.body.empty())
    op["requestBody"] = {{"required", !route.body_optional},
                         {"content", content("application/json", reference(route.body))}};
  op["responses"] = responses(route);
  if (route.permission.where == Permission::Where::kNobody)
    op["security"] = array{};
  else
    op["x-permission"] = route.permission.name;
  return op;
}

std::string lower(std::string_view method) {
  std::string text(method);
  for (char& c : text) c = static_cast<char>(c | 0x20);
  return text;
}

}  // namespace

std::string openapi_document(const Router& router, const Shapes& shapes, std::string_view version) {
  object paths;
  for (const BoundRoute& bound : router.routes()) {
    auto [it, fresh] = paths.emplace(bound.route->path, object{});
    it->value().as_object()[lower(bound.route->method)] = operation(bound, shapes);
  }
  object schemes{
      {"apiKey", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-API-Key"}}},
      {"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
      {"session", {{"type", "apiKey"}, {"in", "cookie"}, {"name", "ctrlplane_session"}}},
  };
  object document{
      {"openapi", "3.1.0"},
      {"info", {{"title", "ctrlplane"}, {"version", version}, {"license", {{"name", "Apache-2.0"}}}}},
      {"security",
       array{object{{"apiKey", array{}}}, object{{"bearer", array{}}}, object{{"session", array{}}}}},
      {"paths", std::move(paths)},
      {"components", {{"schemas", shapes.schemas()}, {"securitySchemes", std::move(schemes)}}},
  };
  return boost::json::serialize(document);
}

}  // namespace ctrlplane::api
