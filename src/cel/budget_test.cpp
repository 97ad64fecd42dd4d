// Hostile input: nothing of 64 kB may overflow the stack, run for long or take much memory.
#include <chrono>

#include "cel/syntax/parser.h"
#include "cel/test_support.h"

namespace ctrlplane::cel {
namespace {

std::string repeat(std::string_view s, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += s;
  return out;
}

// Compiles and evaluates with and without checking and folding; any outcome will do that comes.
void survive(const std::string& text) {
  ASSERT_LE(text.size(), 64u * 1024);
  Env env = resource_env();
  TestResource r;
  Value slots[] = {Value::map(r)};
  for (bool check : {true, false}) {
    for (bool fold : {true, false}) {
      auto p = compile(env, text, {.check = check, .fold = fold});
      if (!p) continue;
      Arena arena;
      literal_text(p->eval({slots}, arena), 1000);
    }
  }
}

TEST(Budget, deep_nesting_is_refused_or_survived) {
  constexpr size_t k = 64 * 1024;
  for (std::string open : {"(", "[", "{1:", "!", "-", "a.b(", "size(", "[[", "x ? y : ", "[1].map(x,",
                           "{'a':", "has(", "cel.bind(x,1,", "-(", "!(", "[?", "a[", "1 + (", "'a' in ["})
    survive(repeat(open, k / open.size()));
  survive(repeat("(", 30000) + "1" + repeat(")", 30000));
  survive(repeat("[", 30000) + repeat("]", 30000));
  survive(repeat("!", 65000) + "t");
  survive("1" + repeat("+1", 32000));
  survive("1" + repeat(".a", 32000));
  survive("x" + repeat("[0]", 20000));
  survive("x" + repeat(".f()", 15000));
  survive("true" + repeat("?1:2", 15000));
  survive("true" + repeat("&&true", 10000));
  survive("true" + repeat("||false&&true", 4500));
  survive(repeat("[1].map(x,", 190) + "x" + repeat(")", 190));
  survive(repeat("cel.bind(x,[1,2],", 190) + "x" + repeat(")", 190));
}

TEST(Budget, long_chains_of_one_logical_operator_are_flat) {
  EXPECT_EQ(eval_text("false" + repeat("||false", 9000) + "||true"), "true");
  EXPECT_EQ(eval_text("true" + repeat("&&true", 9000)), "true");
  EXPECT_EQ(eval_text("1" + repeat("+1", 900)), "901");
  EXPECT_EQ(eval_text("!" + repeat("!", 60000) + "true"), "false");
}

TEST(Budget, nesting_and_length_are_told) {
  EXPECT_EQ(eval_text(repeat("(", 300) + "1" + repeat(")", 300)),
            "invalid 1:201: more than 200 levels of nesting");
  EXPECT_TRUE(eval_text("1" + repeat("+1", 2000)).starts_with("invalid 1:"));
  EXPECT_EQ(eval_text(std::string(70000, ' ')), "invalid 1:1: the expression is longer than 65536 bytes");
}

TEST(Budget, comprehension_bombs_run_out_of_steps) {
  Env env;
  ASSERT_TRUE(env.declare("l", "list(int)"));
  std::vector<Value> items(1000, Value::integer(1));
  std::string bomb = "l.all(a, l.all(b, l.all(c, l.all(d, a + b + c + d > 0))))";
  EXPECT_EQ(eval_text(env, bomb, {Value::list(items)}).substr(0, 12), "error budget");
  // Not absorbed: the evaluation ends, whatever stands beside it.
  EXPECT_EQ(eval_text(env, bomb + " || true", {Value::list(items)}).substr(0, 12), "error budget");
  EXPECT_EQ(eval_text(env, "l.exists(x, " + bomb + ") || true", {Value::list(items)}).substr(0, 12),
            "error budget");
  EXPECT_EQ(eval_text("lists.range(1000000000).size()").substr(0, 12), "error budget");
}

TEST(Budget, doubling_runs_out_of_memory_or_steps) {
  std::string text, list, pairs, map;
  for (int i = 0; i < 60; ++i) {
    std::string x = "x" + std::to_string(i), y = "x" + std::to_string(i + 1);
    text += "cel.bind(" + y + ", " + x + " + " + x + ", ";
    pairs += "cel.bind(" + y + ", [" + x + ", " + x + "], ";
    map += "cel.bind(" + y + ", {'a': " + x + ", 'b': " + x + "}, ";
  }
  std::string close = repeat(")", 61);
  EXPECT_EQ(eval_text("cel.bind(x0, 'abcdefgh', " + text + "size(x60)" + close).substr(0, 12),
            "error budget");
  EXPECT_EQ(eval_text("cel.bind(x0, [1, 2], " + text + "size(x60)" + close).substr(0, 12), "error budget");
  // Sharing makes such a value small to build and huge to walk.
  EXPECT_EQ(eval_text("cel.bind(x0, [1], " + pairs + "x60 == [x59, x59]" + close).substr(0, 12),
            "error budget");
  EXPECT_EQ(eval_text("cel.bind(x0, {'a': 1}, " + map + "x60 == {'a': x59, 'b': x59}" + close).substr(0, 12),
            "error budget");
  EXPECT_EQ(eval_text("cel.bind(x0, [1], " + pairs + "'%s'.format([x60])" + close).substr(0, 12),
            "error budget");
  EXPECT_EQ(eval_text("cel.bind(x0, [1], " + pairs + "x60.flatten(100)" + close).substr(0, 12),
            "error budget");
  EXPECT_EQ(eval_text("cel.bind(x0, [1], " + pairs + "x60 in [x60]" + close).substr(0, 12), "error budget");
}

TEST(Budget, text_functions_cannot_be_multiplied) {
  std::string big = "cel.bind(s, lists.range(3000).map(i, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join(), ";
  EXPECT_EQ(eval_text(big + "s.replace('a', s).size())").substr(0, 12), "error budget");
  EXPECT_EQ(eval_text(big + "lists.range(10000).all(i, s.contains('b') || true))").substr(0, 12),
            "error budget");
  EXPECT_EQ(eval_text(big + "lists.range(10000).all(i, s.matches('b' + string(i)) || true))").substr(0, 12),
            "error budget");
}

TEST(Budget, keys_chosen_to_collide_are_refused_or_cheap) {
  // Texts whose hashes agree in the bits a table of this size looks at.
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < 700 && i < 20000000; ++i) {
    std::string key = "k" + std::to_string(i);
    if ((hash_text(key) & 0x7ff) == 0) keys.push_back(std::move(key));
  }
  std::string map = "{", list = "[";
  for (const std::string& k : keys) {
    map += "'" + k + "':1,";
    list += "'" + k + "',";
  }
  EXPECT_EQ(eval_text("size(" + map + "})").substr(0, 12), "error budget");
  EXPECT_EQ(eval_text("'k' in " + list + "]"), "false");
  EXPECT_EQ(eval_text("'" + keys.back() + "' in " + list + "]"), "true");
}

TEST(Budget, compiling_hostile_text_is_quick) {
  auto start = std::chrono::steady_clock::now();
  survive(repeat("[1,2].map(x,x+1)==[2,3]&&", 2600) + "true");
  survive(repeat("'a'.matches('(a|b){1,50}c')&&", 2200) + "true");
  survive("[" + repeat("unknown_name, ", 4500) + "1]");
  survive("{" + repeat("'a': 1, ", 8000) + "'b': 2}");
  survive("[" + repeat("lists.range(9000),", 3600) + "1]");
  survive(repeat("resource.metadata.x.", 3200) + "y");
  auto took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took, std::chrono::seconds(20));
}

}  // namespace
}  // namespace ctrlplane::cel
