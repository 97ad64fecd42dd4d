#include "cli/json_text.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "cli/yaml_reader.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

TEST(JsonText, is_indented_and_keeps_the_order_and_the_kind_of_numbers) {
  bj::value v =
      bj::parse(R"({"b":1,"a":[50,1.5,2.0,-0.0,18446744073709551615],"e":{},"l":[],"t":"x\"\n","n":null})");
  EXPECT_EQ(pretty_json(v),
            "{\n"
            "  \"b\": 1,\n"
            "  \"a\": [\n    50,\n    1.5,\n    2.0,\n    -0.0,\n    18446744073709551615\n  ],\n"
            "  \"e\": {},\n"
            "  \"l\": [],\n"
            "  \"t\": \"x\\\"\\n\",\n"
            "  \"n\": null\n"
            "}\n");
  EXPECT_EQ(compact_json(v),
            R"({"b":1,"a":[50,1.5,2.0,-0.0,18446744073709551615],"e":{},"l":[],"t":"x\"\n","n":null})");
}

TEST(JsonText, as_yaml_quotes_what_would_read_as_something_else) {
  bj::value v = bj::parse(
      R"({"version":"1.20","on":"yes","date":"2026-01-01","time":"12:30","none":"~","empty":"","hex":"0x1f",
          "n":3,"f":1.0,"b":true,"plain":"eu-west-1","list":["1",1,{}],"deep":{"a":null}})");
  EXPECT_EQ(
      yaml_text(v),
      "version: \"1.20\"\n\"on\": \"yes\"\ndate: \"2026-01-01\"\ntime: \"12:30\"\nnone: \"~\"\nempty: \"\"\n"
      "hex: \"0x1f\"\n\"n\": 3\nf: 1.0\nb: true\nplain: eu-west-1\nlist:\n  - \"1\"\n  - 1\n  - {}\ndeep:\n"
      "  a: ~\n");
}

TEST(JsonText, as_yaml_reads_back_as_the_same) {
  bj::object o;
  for (const char* text :
       {"",    " lead", "trail ", "a: b",     "- x",  "#c",  "a #b",  "a\nb\n", "\ttab", "é日",   "\"q\"",
        "'",   "*a",    "&a",     "!t",       "%d",   "@x",  "`",     "{",      "[",     "}",     "a,b",
        "|",   ">",     "?",      "null",     "True", "1e3", "1_000", "+1",     "-",     "--- x", "...",
        "0o7", "a\\b",  "\x01",   "\xc2\x85", "=",    "<<",  "012",   ".5"})
    o.emplace(fmt::format("k{}", text), text);
  o["numbers"] = bj::array{0, -1, 1.5, 1e300, INT64_MIN, UINT64_MAX};
  o["nested"] = {{"a", bj::array{bj::array{}, bj::array{1, bj::object{{"b", nullptr}}}}}};
  auto documents = parse_yaml(yaml_text(o));
  ASSERT_TRUE(documents) << documents.error().message;
  ASSERT_EQ(documents->size(), 1u);
  auto back = read_value(documents->front(), "");
  ASSERT_TRUE(back) << back.error().path << back.error().message;
  EXPECT_EQ(compact_json(*back), compact_json(o));
}

TEST(JsonText, finds_members_and_minds_none_that_are_missing) {
  bj::value v = bj::parse(R"({"a":{"b":"x","n":5,"z":null},"l":[1]})");
  EXPECT_EQ(text_at(v, "a.b"), "x");
  EXPECT_EQ(text_at(v, "a.n"), "5");
  for (const char* path : {"a.z", "a.q", "a.b.c", "l.0", "q.r"}) EXPECT_EQ(text_at(v, path), "") << path;
  EXPECT_EQ(member_at(v, ""), &v);
}

TEST(JsonText, compares_values_and_not_their_spelling) {
  auto same = [](const char* a, const char* b) { return same_json(bj::parse(a), bj::parse(b)); };
  EXPECT_TRUE(same(R"({"a":1,"b":[1,2]})", R"({"b":[1,2.0],"a":1.0})"));
  EXPECT_FALSE(same(R"({"a":1})", R"({"a":1,"b":2})"));
  EXPECT_FALSE(same(R"({"a":1,"b":2})", R"({"a":1})"));
  EXPECT_FALSE(same("[1,2]", "[2,1]"));
  EXPECT_FALSE(same("[1]", "[1,1]"));
  EXPECT_FALSE(same(R"("1")", "1"));
  EXPECT_FALSE(same("true", "1"));
  EXPECT_TRUE(same("null", "null"));
}

TEST(JsonText, reads_whole_numbers_and_takes_all_else_for_none) {
  bj::value v = bj::parse(R"({"a":{"n":3},"text":"3","half":0.5,"nothing":null})");
  EXPECT_EQ(number_at(v, "a.n"), 3);
  for (const char* path : {"a", "text", "half", "nothing", "absent", "a.n.m"})
    EXPECT_EQ(number_at(v, path), 0) << path;
}

}  // namespace
}  // namespace ctrlplane::cli
