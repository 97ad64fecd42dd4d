#include "cel/check/checker.h"

#include "cel/test_support.h"

namespace ctrlplane::cel {
namespace {

Env env() {
  Env e = resource_env();
  EXPECT_TRUE(e.declare("d", "dyn").has_value());
  EXPECT_TRUE(e.declare("l", "list(int)").has_value());
  EXPECT_TRUE(e.declare("m", "map(string, int)").has_value());
  EXPECT_TRUE(e.declare("o", "optional_type(string)").has_value());
  return e;
}

std::string type_of(std::string_view text) {
  auto p = compile(env(), text);
  return p ? p->type() : "invalid " + p.error().message;
}

TEST(Checker, finds_types) {
  EXPECT_EQ(type_of("1 + 2"), "int");
  EXPECT_EQ(type_of("d + 1"), "int");
  EXPECT_EQ(type_of("d + d"), "dyn");
  EXPECT_EQ(type_of("[1, 'a']"), "list(dyn)");
  EXPECT_EQ(type_of("[[1], []]"), "list(list(int))");
  EXPECT_EQ(type_of("{'a': [1.5]}"), "map(string, list(double))");
  EXPECT_EQ(type_of("l[0]"), "int");
  EXPECT_EQ(type_of("m.x"), "int");
  EXPECT_EQ(type_of("m.?x"), "optional_type(int)");
  EXPECT_EQ(type_of("m[?'x'].orValue(1)"), "int");
  EXPECT_EQ(type_of("o.optMap(x, size(x))"), "optional_type(int)");
  EXPECT_EQ(type_of("l.map(x, string(x))"), "list(string)");
  EXPECT_EQ(type_of("m.map(k, k)"), "list(string)");
  EXPECT_EQ(type_of("m.transformMap(k, v, v > 1)"), "map(string, bool)");
  EXPECT_EQ(type_of("l.transformList(i, v, i * v)"), "list(int)");
  EXPECT_EQ(type_of("cel.bind(x, 'a', [x])"), "list(string)");
  EXPECT_EQ(type_of("resource.createdAt - resource.createdAt"), "duration");
  EXPECT_EQ(type_of("resource.createdAt - duration('1h')"), "timestamp");
  EXPECT_EQ(type_of("true ? 1 : 'a'"), "dyn");
  EXPECT_EQ(type_of("type(1)"), "type(int)");
  EXPECT_EQ(type_of("l.sort().first()"), "optional_type(int)");
  EXPECT_EQ(type_of("resource"), "Resource");
}

TEST(Checker, refuses_what_cannot_work) {
  EXPECT_EQ(type_of("1 + 'a'"),
            "invalid 1:3: + does not apply to int and string; "
            "convert one with int(…), double(…) or string(…)");
  EXPECT_EQ(type_of("1.5 % 2.0"), "invalid 1:5: % does not apply to double and double");
  EXPECT_EQ(type_of("!1"), "invalid 1:1: ! does not apply to int");
  EXPECT_EQ(type_of("-'a'"), "invalid 1:1: - does not apply to string");
  EXPECT_EQ(type_of("true && 1"), "invalid 1:9: && wants bool on both sides, not int");
  EXPECT_EQ(type_of("1 ? 2 : 3"), "invalid 1:1: the condition of 'a ? b : c' is int, not bool");
  EXPECT_EQ(type_of("l['a']"), "invalid 1:2: the index of a list is an int, not string");
  EXPECT_EQ(type_of("m[1]"), "invalid 1:2: the keys of this map are string, not int");
  EXPECT_EQ(type_of("1.x"), "invalid 1:3: int has no fields, so no 'x'");
  EXPECT_EQ(type_of("resource.metadata.region.x"), "invalid 1:26: string has no fields, so no 'x'");
  EXPECT_EQ(type_of("'a'.size(1)"),
            "invalid 1:5: no string.size(int); there is string.size() or "
            "bytes.size() or list(A).size()");
  EXPECT_EQ(type_of("{1.5: 2}"), "invalid 1:2: double cannot be a map key; use string, int, uint or bool");
  EXPECT_EQ(type_of("1.all(x, true)"), "invalid 1:3: all() runs over a list or a map, not int");
  EXPECT_EQ(type_of("l.all(x, x)"), "invalid 1:10: the condition of all() is int, not bool");
  EXPECT_EQ(type_of("'a' in 'abc'"), "invalid 1:5: in does not apply to string and string");
  EXPECT_EQ(type_of("1 == [1]"), "invalid 1:3: == does not apply to int and list(int)");
  EXPECT_EQ(type_of("[?1]"), "invalid 1:3: an entry with '?' wants an optional, not int");
  EXPECT_EQ(type_of("size(m, 1)"),
            "invalid 1:1: no size(map(string, int), int); there is size(string) or "
            "size(bytes) or size(list(A))");
}

TEST(Checker, suggests_names) {
  EXPECT_EQ(type_of("matsh.abs(1)"), "invalid 1:7: unknown function 'matsh.abs'; did you mean 'math.abs'?");
  EXPECT_EQ(type_of("sizes(l)"), "invalid 1:1: unknown function 'sizes'; did you mean 'size'?");
  EXPECT_EQ(type_of("contains('a', 'b')"),
            "invalid 1:1: unknown function 'contains'; call it as x.contains(…)");
  EXPECT_EQ(type_of("l.exist(x, true)"), "invalid 1:3: unknown function 'exist'; did you mean 'exists'?");
  EXPECT_EQ(type_of("l.exists(true)"),
            "invalid 1:3: unknown function 'exists'; exists() takes a variable "
            "and an expression: list.exists(x, …)");
  EXPECT_EQ(type_of("True"), "invalid 1:1: unknown name 'True'; write true");
  EXPECT_EQ(type_of("zzz"), "invalid 1:1: unknown name 'zzz'; known are resource, d, l, m, o");
}

TEST(Checker, comparisons_people_mean_are_allowed) {
  EXPECT_EQ(type_of("1 == 1.0"), "bool");
  EXPECT_EQ(type_of("1 < 2u"), "bool");
  EXPECT_EQ(type_of("[1.0] == [1] && {'a': 1u} == {'a': 1} && [null] == [1]"), "bool");
  EXPECT_EQ(type_of("resource.name == null"), "bool");
  EXPECT_EQ(type_of("resource.createdAt > '2024-01-01T00:00:00Z'"), "bool");
  EXPECT_EQ(type_of("d == 'x' && d > 1"), "bool");
}

TEST(Checker, macro_variables_shadow_and_end_with_their_macro) {
  EXPECT_EQ(type_of("l.map(resource, resource + 1)"), "list(int)");
  EXPECT_EQ(type_of("l.map(x, x) == [x]"), "invalid 1:17: unknown name 'x'; known are resource, d, l, m, o");
}

TEST(Checker, a_type_does_not_contain_itself) {
  EXPECT_EQ(type_of("cel.bind(x, [], x == [x])"),
            "invalid 1:19: == does not apply to list(dyn) and list(list(dyn))");
  EXPECT_EQ(type_of("cel.bind(x, [], [x, x + [x]])"), "list(list(dyn))");
}

TEST(Checker, lenient_leaves_everything_to_run_time) {
  Env e = env();
  EXPECT_EQ(eval_text(e, "unknown || true", {}, {.check = false}), "true");
  EXPECT_EQ(eval_text(e, "unknown", {}, {.check = false}), "error unknown_name 1:1");
  EXPECT_EQ(eval_text(e, "f(1)", {}, {.check = false}), "error unknown_name 1:1");
  EXPECT_EQ(eval_text(e, "1 + 'a'", {}, {.check = false}), "error no_such_overload 1:3");
}

TEST(Type, texts_round_trip) {
  TypePool pool;
  for (std::string_view text : {"int", "list(int)", "map(string, list(dyn))", "optional_type(bool)",
                                "type(int)", "tuple(T, U)", "timestamp", "net.IP"}) {
    auto t = parse_type(text, pool);
    ASSERT_TRUE(t) << text;
    EXPECT_EQ(to_string(*t), text);
  }
  for (std::string_view bad : {"", "list(", "list(int", "nope", "int)", "list(int) x"})
    EXPECT_FALSE(parse_type(bad, pool)) << bad;
}

}  // namespace
}  // namespace ctrlplane::cel
