#include "cli/yaml_reader.h"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "cli/json_text.h"

namespace ctrlplane::cli {
namespace {

// The first document as compact JSON, or "line N: path: message".
std::string read(const std::string& text) {
  auto documents = parse_yaml(text);
  if (!documents) return fmt::format("line {}: {}", documents.error().line, documents.error().message);
  auto value = read_value(documents->front(), "");
  if (value) return compact_json(*value);
  return fmt::format("line {}: {}: {}", value.error().line, value.error().path, value.error().message);
}

TEST(YamlReader, follows_yaml_1_2_in_what_a_plain_word_is) {
  EXPECT_EQ(read("[1, -7, +3, 0x1f, 0o17, 1.5, 1e3, .5, 1., 18446744073709551615, -9223372036854775808]"),
            "[1,-7,3,31,15,1.5,1000.0,0.5,1.0,18446744073709551615,-9223372036854775808]");
  EXPECT_EQ(read("[true, False, null, ~, '']"), R"([true,false,null,null,""])");
  EXPECT_EQ(read("[yes, no, on, 1.2.3, 12:30, 2026-01-01, 1_000, 0xg, e3, ., '1', \"true\", !!str 5]"),
            R"(["yes","no","on","1.2.3","12:30","2026-01-01","1_000","0xg","e3",".","1","true","5"])");
}

TEST(YamlReader, does_not_guess_where_a_guess_would_lose_something) {
  EXPECT_EQ(read("a: 012345678901"), "line 1: a: 012345678901 may be a number or a text; write it in quotes");
  EXPECT_EQ(read("a:\n  b: 99999999999999999999"),
            "line 2: a.b: is too large for a number; write it in quotes");
  EXPECT_EQ(read("[-9223372036854775809]"), "line 1: [0]: is too large for a number; write it in quotes");
  EXPECT_EQ(read("[1e999]"), "line 1: [0]: is too large for a number; write it in quotes");
  EXPECT_EQ(read("[.inf]"), "line 1: [0]: is a number that JSON does not have; write it in quotes");
  EXPECT_EQ(read("a: !secret x"), "line 1: a: has the tag !secret, which is not known");
}

TEST(YamlReader, says_where_a_member_comes_twice) {
  EXPECT_EQ(read("a:\n  b: 1\n  c: 2\n  b: 3\n"), "line 4: a: has 'b' twice");
  EXPECT_EQ(read("? [1, 2]\n: x\n"), "line 1: : has a member whose name is not a text");
}

TEST(YamlReader, says_where_a_text_stops_being_yaml) {
  EXPECT_TRUE(read("a: 1\nb: [1\n").starts_with("line 3: not YAML")) << read("a: 1\nb: [1\n");
  EXPECT_TRUE(read("a: *nobody").starts_with("line 1: not YAML"));
  EXPECT_TRUE(read(std::string(100'000, '[')).find("not YAML") != std::string::npos);
}

TEST(YamlReader, bounds_what_aliases_and_nesting_grow_to) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i)
    text += fmt::format(
        "a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  EXPECT_NE(read(text).find("is too large, with its aliases written out"), std::string::npos);
  EXPECT_NE(read(std::string(100, '[') + std::string(100, ']')).find("is nested too deeply"),
            std::string::npos);
}

TEST(YamlReader, takes_texts_as_they_are_written) {
  auto documents = parse_yaml("{a: 1.20, b: true, c: , d: [x], e: \"a\\0b\", f: 0644}");
  ASSERT_TRUE(documents);
  const YAML::Node& n = documents->front();
  EXPECT_EQ(*read_text(n["a"], "a"), "1.20");
  EXPECT_EQ(*read_text(n["b"], "b"), "true");
  EXPECT_EQ(*read_text(n["f"], "f"), "0644");
  EXPECT_EQ(read_text(n["c"], "c").error().message, "has no value; write \"\" for an empty one");
  EXPECT_EQ(read_text(n["d"], "d").error().message, "must be a text");
  EXPECT_EQ(read_text(n["e"], "e").error().message, "is not UTF-8 text without NUL");
}

}  // namespace
}  // namespace ctrlplane::cli
