#include "api/router.h"

#include <gtest/gtest.h>

#include <set>

#include "api/shapes.h"

namespace ctrlplane::api {
namespace {

Status nothing(Call&) { return {}; }

Route route(std::string_view method, std::string_view path, std::string_view id) {
  return {.method = method,
          .path = path,
          .id = id,
          .summary = {},
          .permission = permission::kPublic,
          .outcomes = {{200}},
          .handler = nothing};
}

class RouterTest : public ::testing::Test {
 protected:
  Shapes shapes{""};
  std::vector<Family> families = {
      {"Things",
       {route("GET", "/a/{x}", "one"), route("GET", "/a/name/{n}", "by_name"), route("PUT", "/a/{x}", "put"),
        route("GET", "/a/{x}/b/{y}", "two"), route("GET", "/a/fixed", "fixed")}}};
  Router router{families, shapes};

  std::string find(std::string_view method, std::vector<std::string> path) {
    RouteMatch m = router.match(method, path);
    if (!m.route) return m.allow.empty() ? "none" : "allow " + m.allow;
    std::string text(m.route->route->id);
    for (const std::string& argument : m.arguments) text += " " + argument;
    return text;
  }
};

TEST_F(RouterTest, prefers_a_literal_segment_to_a_parameter) {
  EXPECT_EQ(find("GET", {"a", "fixed"}), "fixed");
  EXPECT_EQ(find("GET", {"a", "other"}), "one other");
  EXPECT_EQ(find("GET", {"a", "name", "n"}), "by_name n");
}

TEST_F(RouterTest, goes_back_to_the_parameter_where_the_literal_leads_nowhere) {
  EXPECT_EQ(find("GET", {"a", "name", "b", "y"}), "two name y");
}

TEST_F(RouterTest, keeps_slashes_inside_an_argument) {
  EXPECT_EQ(find("GET", {"a", "org/n1"}), "one org/n1");
}

TEST_F(RouterTest, says_which_methods_there_are) {
  EXPECT_EQ(find("DELETE", {"a", "x"}), "allow GET, PUT");
  EXPECT_EQ(find("GET", {"b"}), "none");
  EXPECT_EQ(find("GET", {}), "none");
}

TEST_F(RouterTest, answers_head_by_get_and_tolerates_a_trailing_slash) {
  EXPECT_EQ(find("HEAD", {"a", "fixed"}), "fixed");
  EXPECT_EQ(find("GET", {"a", "fixed", ""}), "fixed");
}

TEST(Routes, have_ids_summaries_outcomes_and_shapes_that_exist) {
  Shapes shapes(kShapes);
  Router router(families(), shapes);
  std::set<std::string_view> ids;
  for (const BoundRoute& bound : router.routes()) {
    const Route& r = *bound.route;
    EXPECT_TRUE(ids.insert(r.id).second) << r.id;
    EXPECT_FALSE(r.summary.empty()) << r.id;
    EXPECT_NE(r.handler, nullptr) << r.id;
    ASSERT_FALSE(r.outcomes.empty()) << r.id;
    for (const Outcome& o : r.outcomes)
      EXPECT_TRUE(o.shape.empty() || shapes.find(o.shape)) << r.id << " " << o.shape;
    bool in_workspace = r.path.find("{workspaceId}") != std::string_view::npos;
    EXPECT_EQ(in_workspace, r.permission.where == Permission::Where::kWorkspace) << r.id;
  }
}

}  // namespace
}  // namespace ctrlplane::api
