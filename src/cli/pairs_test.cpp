#include "cli/pairs.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "cli/json_text.h"

namespace ctrlplane::cli {
namespace {

std::string texts(const std::vector<std::string>& pairs) {
  auto o = text_pairs(pairs);
  return o ? compact_json(*o) : o.error().message;
}
std::string config(const std::vector<std::string>& pairs) {
  auto o = config_pairs(pairs);
  return o ? compact_json(*o) : o.error().message;
}

TEST(Pairs, of_metadata_are_texts) {
  EXPECT_EQ(texts({"a=1", "b=x=y", "c="}), R"({"a":"1","b":"x=y","c":""})");
  EXPECT_EQ(texts({"a"}), "'a' is not of the form k=v");
  EXPECT_EQ(texts({"=a"}), "'=a' is not of the form k=v");
  EXPECT_EQ(texts({"a=1", "a=2"}), "'a' is given twice");
  EXPECT_NE(texts({"a=\xff"}).find("is not UTF-8 text"), std::string::npos);
}

TEST(Pairs, of_a_configuration_are_what_they_look_like) {
  EXPECT_EQ(config({"n=3", "b=true", "t=1.2.3", "q=\"3\"", "l=[1, x]", "o={a: 1}", "e=", "z=null"}),
            R"({"n":3,"b":true,"t":"1.2.3","q":"3","l":[1,"x"],"o":{"a":1},"e":"","z":null})");
  EXPECT_EQ(config({"a=*.example.com", "b=@daily", "c=x: y", "d=a: b: c", "e=- x"}),
            R"({"a":"*.example.com","b":"@daily","c":"x: y","d":"a: b: c","e":"- x"})");
}

TEST(Pairs, with_dots_are_members_of_members) {
  EXPECT_EQ(config({"image.tag=1.4.2", "image.name=api", "a.b.c=1"}),
            R"({"image":{"tag":"1.4.2","name":"api"},"a":{"b":{"c":1}}})");
  EXPECT_EQ(config({"a=1", "a.b=2"}), "'a.b' does not fit what is given before it");
  EXPECT_EQ(config({"a.b=2", "a=1"}), "'a' does not fit what is given before it");
  EXPECT_EQ(config({"a.=2"}), "'a.' does not fit what is given before it");
  EXPECT_EQ(config({".a=2"}), "'.a' does not fit what is given before it");
  EXPECT_EQ(config({"a=007"}), "a: 007 may be a number or a text; write it in quotes");
}

}  // namespace
}  // namespace ctrlplane::cli
