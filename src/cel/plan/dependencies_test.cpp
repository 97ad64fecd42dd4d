#include "cel/plan/dependencies.h"

#include "cel/test_support.h"

namespace ctrlplane::cel {
namespace {

Env env() {
  Env e = resource_env();
  EXPECT_TRUE(e.declare("deployment", "map(string, dyn)").has_value());
  EXPECT_TRUE(e.declare("names", "list(string)").has_value());
  return e;
}

Dependencies of(std::string_view text) {
  auto p = compile(env(), text);
  EXPECT_TRUE(p) << p.error().message;
  return p->dependencies();
}

// "resource.metadata.region, deployment.slug"
std::string paths(std::string_view text) {
  constexpr std::string_view kNames[] = {"resource", "deployment", "names"};
  std::string out;
  for (const FieldPath& p : of(text).paths) {
    out += (out.empty() ? "" : ", ") + std::string(kNames[p.slot]);
    for (const std::string& n : p.names) out += "." + n;
  }
  return out;
}

TEST(Dependencies, are_the_longest_constant_paths) {
  EXPECT_EQ(paths("resource.metadata['region'] == 'eu'"), "resource.metadata.region");
  EXPECT_EQ(paths("resource.metadata.region.startsWith('eu') && deployment.slug == resource.name"),
            "resource.metadata.region, resource.name, deployment.slug");
  EXPECT_EQ(paths("has(resource.metadata.region)"), "resource.metadata.region");
  EXPECT_EQ(paths("'region' in resource.metadata"), "resource.metadata.region");
  EXPECT_EQ(paths("resource.metadata[?'region'].hasValue()"), "resource.metadata.region");
  EXPECT_EQ(paths("resource.name in names"), "resource.name, names");
  EXPECT_EQ(paths("1 == 1"), "");
}

TEST(Dependencies, what_is_walked_over_is_read_as_a_whole) {
  EXPECT_EQ(paths("resource.metadata.exists(k, k == 'a')"), "resource.metadata");
  EXPECT_EQ(paths("resource.metadata[resource.name] == 'a'"), "resource.metadata, resource.name");
  EXPECT_EQ(paths("resource.metadata.size() > 1 && resource.metadata.region == 'a'"), "resource.metadata");
  EXPECT_EQ(paths("'a' in names"), "names");
  EXPECT_EQ(paths("dyn(resource).name == 'a'"), "resource");
}

TEST(Dependencies, a_macro_variable_is_not_a_variable) {
  EXPECT_EQ(paths("[1].exists(resource, resource == 1)"), "");
  EXPECT_EQ(paths("cel.bind(m, resource.metadata, m.region == 'a')"), "resource.metadata");
}

TEST(Dependencies, changes_inside_and_around_what_is_read_count) {
  Dependencies d = of("resource.metadata['region'] == 'eu'");
  EXPECT_TRUE(d.reads(0u));
  EXPECT_FALSE(d.reads(1u));
  EXPECT_TRUE(d.reads(FieldPath{0, {"metadata", "region"}}));
  EXPECT_TRUE(d.reads(FieldPath{0, {"metadata"}}));
  EXPECT_TRUE(d.reads(FieldPath{0, {"metadata", "region", "x"}}));
  EXPECT_FALSE(d.reads(FieldPath{0, {"metadata", "zone"}}));
  EXPECT_FALSE(d.reads(FieldPath{0, {"name"}}));
}

TEST(Dependencies, conjunctions_of_equalities_can_use_an_index) {
  Dependencies d =
      of("resource.metadata['region'] == 'eu' && 'Cluster' == resource.kind && "
         "resource.metadata.tier in ['2', '1', '2']");
  EXPECT_TRUE(d.only_conditions);
  ASSERT_EQ(d.conditions.size(), 3u);
  EXPECT_EQ(d.conditions[0].path, (FieldPath{0, {"metadata", "region"}}));
  EXPECT_EQ(d.conditions[0].any_of, std::vector<std::string>{"eu"});
  EXPECT_EQ(d.conditions[1].path, (FieldPath{0, {"kind"}}));
  EXPECT_EQ(d.conditions[2].any_of, (std::vector<std::string>{"1", "2"}));
}

TEST(Dependencies, other_terms_leave_the_conditions_necessary_but_not_enough) {
  Dependencies d = of("resource.metadata['region'] == 'eu' && (resource.name == 'a' || true)");
  EXPECT_FALSE(d.only_conditions);
  ASSERT_EQ(d.conditions.size(), 1u);
  d = of("resource.metadata['region'] == 'eu' || resource.name == 'a'");
  EXPECT_FALSE(d.only_conditions);
  EXPECT_TRUE(d.conditions.empty());
  EXPECT_TRUE(of("resource.metadata['region'] != 'eu'").conditions.empty());
  // A timestamp equals many texts, and a dyn may be one.
  EXPECT_TRUE(of("resource.createdAt == '2024-05-01T12:00:00Z'").conditions.empty());
  EXPECT_TRUE(of("deployment.slug == 'a'").conditions.empty());
}

}  // namespace
}  // namespace ctrlplane::cel
