#include "api/router.h"

#include "base/check.h"

namespace ctrlplane::api {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  path.remove_prefix(1);
  while (true) {
    size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

std::vector<QueryParameter> paged(std::vector<QueryParameter> more) {
  std::vector<QueryParameter> all = {{"limit", "integer(1..1000)", "how many items at most; 50 by default"},
                                     {"offset", "integer(0..)", "how many items to leave out; 0 by default"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Router::Router(const std::vector<Family>& families, const Shapes& shapes) {
  for (const Family& family : families) {
    for (const Route& route : family.routes) {
      BoundRoute bound{.route = &route, .tag = family.tag, .parameters = {}, .query = {}};
      for (const QueryParameter& q : route.query) bound.query.emplace_back(q.name, shapes.type(q.type));
      if (!route.body.empty()) bound.body = shapes.find(route.body);
      CHECK(route.body.empty() || bound.body, "a route's body has no shape");
      Node* node = &root_;
      for (std::string_view part : split(route.path)) {
        bool is_parameter = part.starts_with('{');
        if (is_parameter) bound.parameters.emplace_back(part.substr(1, part.size() - 2));
        auto& next = is_parameter ? node->parameter : node->literals[std::string(part)];
        if (!next) next = std::make_unique<Node>();
        node = next.get();
      }
      bool added = node->methods.emplace(route.method, routes_.size()).second;
      CHECK(added, "two routes of one method and path");
      routes_.push_back(std::move(bound));
    }
  }
}

const Router::Node* Router::find(const Node& node, std::span<const std::string> segments,
                                 std::vector<std::string>& arguments) {
  if (segments.empty()) return node.methods.empty() ? nullptr : &node;
  auto literal = node.literals.find(segments[0]);
  if (literal != node.literals.end())
    if (const Node* found = find(*literal->second, segments.subspan(1), arguments)) return found;
  if (!node.parameter) return nullptr;
  arguments.push_back(segments[0]);
  if (const Node* found = find(*node.parameter, segments.subspan(1), arguments)) return found;
  arguments.pop_back();
  return nullptr;
}

RouteMatch Router::match(std::string_view method, std::span<const std::string> segments) const {
  RouteMatch m;
  const bool trailing_slash = segments.size() > 1 && segments.back().empty();
  const Node* node =
      find(root_, trailing_slash ? segments.first(segments.size() - 1) : segments, m.arguments);
  if (!node && trailing_slash) {
    m.arguments.clear();
    node = find(root_, segments, m.arguments);
  }
  if (!node) return m;
  auto it = node->methods.find(method == "HEAD" ? "GET" : method);
  if (it != node->methods.end()) {
    m.route = &routes_[it->second];
    return m;
  }
  for (const auto& [name, index] : node->methods) m.allow += (m.allow.empty() ? "" : ", ") + name;
  return m;
}

}  // namespace ctrlplane::api
