#include "agent/json_view.h"

#include <gtest/gtest.h>

namespace ctrlplane::agent {
namespace {

JsonView parsed(std::string_view text) {
  auto json = JsonView::parse(text);
  EXPECT_TRUE(json) << text;
  return json.value_or(JsonView());
}

TEST(JsonView, keeps_values_as_they_were_written) {
  JsonView json = parsed(R"( {"a": 1.50, "big": 123456789012345678901234567890 , "o" : {"x":[1, 2]}} )");
  EXPECT_EQ(json["a"].text(), "1.50");
  EXPECT_EQ(json["big"].text(), "123456789012345678901234567890");
  EXPECT_EQ(json["o"].text(), R"({"x":[1, 2]})");
  EXPECT_EQ(json["o"]["x"].members().size(), 2u);
  EXPECT_EQ(json["o"]["x"].members()[1].value.text(), "2");
  EXPECT_TRUE(json["absent"].is_null());
  EXPECT_TRUE(json["a"]["not an object"].is_null());
}

TEST(JsonView, is_not_misled_by_strings) {
  JsonView json = parsed(R"({"a":"},\"]{\\","\u0062":"c\n\u00e4","n\"x":null})");
  EXPECT_EQ(json["a"].string(), "},\"]{\\");
  EXPECT_EQ(json["b"].string(), "c\n\xC3\xA4");
  EXPECT_EQ(json.members()[2].name, "n\"x");
  EXPECT_TRUE(json.members()[2].value.is_null());
}

TEST(JsonView, reads_empty_and_nested_values) {
  EXPECT_TRUE(parsed("{ }").members().empty());
  EXPECT_TRUE(parsed("[\n]").members().empty());
  EXPECT_TRUE(parsed("\"x\"").members().empty());
  auto members = parsed(R"([{},[],"",[[1],{"a":2}]])").members();
  ASSERT_EQ(members.size(), 4u);
  EXPECT_EQ(members[0].value.text(), "{}");
  EXPECT_EQ(members[2].value.string(), "");
  EXPECT_EQ(members[3].value.text(), R"([[1],{"a":2}])");
}

TEST(JsonView, gives_a_value_only_as_what_it_is) {
  EXPECT_EQ(parsed("17").integer(), 17);
  EXPECT_EQ(parsed("-3").integer(), -3);
  EXPECT_EQ(parsed("2.9").integer(), 2);
  EXPECT_EQ(parsed("1e300").integer(), std::nullopt);
  EXPECT_EQ(parsed("\"17\"").integer(), std::nullopt);
  EXPECT_EQ(parsed("true").integer(), std::nullopt);
  EXPECT_EQ(parsed("17").string(), std::nullopt);
}

TEST(JsonView, refuses_what_is_not_json) {
  for (std::string_view text : {"", "{", "{\"a\"}", "<html>", "{} {}", "nul"})
    EXPECT_FALSE(JsonView::parse(text)) << text;
  EXPECT_FALSE(JsonView::parse(std::string(100'000, '[')));
  EXPECT_TRUE(JsonView::parse(std::string(100, '[') + std::string(100, ']')));
}

TEST(JsonView, quotes_any_text) {
  EXPECT_EQ(json_quote("a\"b\\\n\x01"), R"("a\"b\\\n\u0001")");
  EXPECT_EQ(parsed(json_quote("\xC3\xA4\t")).string(), "\xC3\xA4\t");
}

}  // namespace
}  // namespace ctrlplane::agent
