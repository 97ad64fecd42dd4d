// Properties over many expressions: the seeds of the fuzzer and the pieces below in combination.
#include "cel/agreement.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/uuid.h"
#include "cel/test_support.h"

namespace ctrlplane::cel {
namespace {

constexpr std::string_view kAtoms[] = {"1",
                                       "0",
                                       "-3",
                                       "2u",
                                       "1.5",
                                       "'a'",
                                       "''",
                                       "b'x'",
                                       "true",
                                       "false",
                                       "null",
                                       "[]",
                                       "[1, 2, 3]",
                                       "{}",
                                       "{'a': 1}",
                                       "duration('1h')",
                                       "timestamp(0)",
                                       "optional.none()",
                                       "optional.of(1)",
                                       "int",
                                       "x",
                                       "l",
                                       "m",
                                       "m.a",
                                       "m['b']",
                                       "1 / 0",
                                       "double('NaN')",
                                       "'2024-01-01T00:00:00Z'"};

constexpr std::string_view kShapes[] = {"A + B",
                                        "A - B",
                                        "A * B",
                                        "A / B",
                                        "A % B",
                                        "A == B",
                                        "A != B",
                                        "A < B",
                                        "A >= B",
                                        "A in B",
                                        "A && B",
                                        "A || B",
                                        "A ? B : 2",
                                        "!A || B",
                                        "-A == B",
                                        "[A, B]",
                                        "{'k': A, 'j': B}",
                                        "A[B]",
                                        "[A][?0] == B",
                                        "{?'k': A}",
                                        "A.all(v, v == B)",
                                        "A.exists(v, v == B)",
                                        "A.map(v, B)",
                                        "A.filter(v, v != B)",
                                        "cel.bind(v, A, v == v || B)",
                                        "A.optMap(v, B)",
                                        "A.orValue(B)",
                                        "size(A) == B",
                                        "string(A) == B",
                                        "type(A) == type(B)",
                                        "A.contains(B)",
                                        "A.matches(B)",
                                        "A.transformMap(k, v, B)",
                                        "[A].join(B)",
                                        "'%s'.format([A]) == B",
                                        "has(A.a) && B",
                                        "[1, 2].map(v, [A].map(w, [v, w, B]))",
                                        "[3].all(v, [v].exists(w, cel.bind(z, A, z == v || w == 3 && B)))",
                                        "A.exists_one(v, B)",
                                        "[B, A].sort()",
                                        "math.greatest(A, B)",
                                        "A.a == B"};

std::string fill(std::string_view shape, std::string_view a, std::string_view b) {
  std::string out;
  for (char c : shape) {
    if (c == 'A')
      out.append("(").append(a).append(")");
    else if (c == 'B')
      out.append("(").append(b).append(")");
    else
      out += c;
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

std::vector<std::string> corpus() {
  std::vector<std::string> out;
  auto folder = std::filesystem::path(__FILE__).parent_path() / "../../tests/cel/corpus";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// A short, repeatable walk in the manner of the fuzzer: seeds, cut and joined at random places.
TEST(Agreement, holds_for_the_fuzzers_corpus_and_its_neighbours) {
  Env env;
  for (std::string_view name : {"resource", "x", "l", "s", "t"}) ASSERT_TRUE(env.declare(name, "dyn"));
  Value ints[] = {Value::integer(3), Value::integer(-1)};
  TestResource r;
  Value slots[] = {Value::map(r), Value::real(1.5), Value::list(ints), Value::string("Grüße"),
                   Value::timestamp(1700000000, 5)};
  std::vector<std::string> seeds = corpus();
  ASSERT_GE(seeds.size(), 30u);
  uint64_t state = 1;
  auto random = [&](size_t n) { return static_cast<size_t>(mix64(state++) % n); };
  for (int round = 0; round < 3000; ++round) {
    std::string text = seeds[random(seeds.size())];
    if (round >= static_cast<int>(seeds.size())) {
      const std::string& other = seeds[random(seeds.size())];
      size_t from = random(other.size());
      text.replace(random(text.size()), random(8), other, from, random(other.size() - from + 1));
    } else {
      text = seeds[static_cast<size_t>(round)];
    }
    ASSERT_EQ(check_reprint(text), "") << text;
    ASSERT_EQ(check_folding(env, text, slots, true), "") << text;
    ASSERT_EQ(check_folding(env, text, slots, false), "") << text;
  }
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
