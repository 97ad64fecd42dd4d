// Properties over many expressions: the seeds of the fuzzer and the pieces below in combination.
#include "cel/agreement.h"

#include "cel/test_support.h"

namespace ctrlplane::cel {
namespace {

constexpr std::string_view kAtoms[] = {
    "1", "0", "-3", "2u", "1.5", "'a'", "''", "b'x'", "true", "false", "null", "[]", "[1, 2, 3]",
    "{}", "{'a': 1}", "duration('1h')", "timestamp(0)", "optional.none()", "optional.of(1)", "int",
    "x", "l", "m", "m.a", "m['b']", "1 / 0", "double('NaN')", "'2024-01-01T00:00:00Z'"};

constexpr std::string_view kShapes[] = {
    "A + B", "A - B", "A * B", "A / B", "A % B", "A == B", "A != B", "A < B", "A >= B", "A in B",
    "A && B", "A || B", "A ? B : 2", "!A || B", "-A == B", "[A, B]", "{'k': A, 'j': B}", "A[B]",
    "[A][?0] == B", "{?'k': A}", "A.all(v, v == B)", "A.exists(v, v == B)", "A.map(v, B)",
    "A.filter(v, v != B)", "cel.bind(v, A, v == v || B)", "A.optMap(v, B)", "A.orValue(B)",
    "size(A) == B", "string(A) == B", "type(A) == type(B)", "A.contains(B)", "A.matches(B)",
    "A.transformMap(k, v, B)", "[A].join(B)", "'%s'.format([A]) == B", "has(A.a) && B",
    "A.exists_one(v, B)", "[B, A].sort()", "math.greatest(A, B)", "A.a == B"};

std::string fill(std::string_view shape, std::string_view a, std::string_view b) {
  std::string out;
  for (char c : shape) {
    if (c == 'A') out.append("(").append(a).append(")");
    else if (c == 'B') out.append("(").append(b).append(")");
    else out += c;
  }
  return out;
}

TEST(Agreement, folded_and_unfolded_plans_and_reprinted_trees_agree) {
  Env env;
  ASSERT_TRUE(env.declare("x", "dyn"));
  ASSERT_TRUE(env.declare("l", "list(int)"));
  ASSERT_TRUE(env.declare("m", "map(string, dyn)"));
  Value ints[] = {Value::integer(3), Value::integer(1), Value::integer(2)};
  StringMap m = {{"a", "1"}};
  Value slots[] = {Value::string("a"), Value::list(ints), Value::map(m)};
  size_t evaluated = 0;
  for (std::string_view shape : kShapes) {
    for (std::string_view a : kAtoms) {
      for (std::string_view b : kAtoms) {
        std::string text = fill(shape, a, b);
        ASSERT_EQ(check_reprint(text), "") << text;
        ASSERT_EQ(check_folding(env, text, slots, false), "") << text;
        evaluated += compile(env, text).has_value();
      }
    }
  }
  EXPECT_GT(evaluated, 3000u);
}

// What the checker calls a type, the evaluator delivers.
TEST(Agreement, checked_types_are_the_types_of_results) {
  size_t compared = 0;
  for (std::string_view shape : kShapes) {
    for (std::string_view a : kAtoms) {
      for (std::string_view b : kAtoms) {
        std::string text = fill(shape, a, b);
        auto p = compile(Env(), text);
        if (!p || p->type().find("dyn") != std::string::npos) continue;
        Arena arena;
        Value v = p->eval({}, arena);
        if (v.is_error()) continue;
        std::string found = p->type().substr(0, p->type().find('('));
        if (found == "timestamp") found = "google.protobuf.Timestamp";
        if (found == "duration") found = "google.protobuf.Duration";
        EXPECT_EQ(type_name(v), found) << text;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 1000u);
}

}  // namespace
}  // namespace ctrlplane::cel
