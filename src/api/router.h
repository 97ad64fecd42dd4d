// From method and path to a route.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/route.h"
#include "api/shape.h"

namespace ctrlplane::api {

// A route with what was worked out from its text once.
struct BoundRoute {
  const Route* route = nullptr;
  std::string_view tag;
  std::vector<std::string> parameters;  // of the path, in order
  std::vector<std::pair<std::string, ShapePtr>> query;
  const Shape* body = nullptr;
};

struct RouteMatch {
  const BoundRoute* route = nullptr;   // null: no such path, or not this method
  std::vector<std::string> arguments;  // of the path, decoded, in the order of BoundRoute::parameters
  std::string allow;                   // for 405: the methods there are; empty: no such path
};

class Router {
 public:
  Router(const std::vector<Family>& families, const Shapes& shapes);

  // `segments` decoded. A literal segment is preferred to a parameter; a trailing slash is tolerated.
  RouteMatch match(std::string_view method, std::span<const std::string> segments) const;
  const std::vector<BoundRoute>& routes() const { return routes_; }

 private:
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
    std::unique_ptr<Node> parameter;
    std::map<std::string, size_t, std::less<>> methods;  // index into routes_
  };
  static const Node* find(const Node& node, std::span<const std::string> segments,
                          std::vector<std::string>& arguments);

  std::vector<BoundRoute> routes_;
  Node root_;
};

}  // namespace ctrlplane::api
