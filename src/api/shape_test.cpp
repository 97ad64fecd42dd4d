#include "api/shape.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/shapes.h"

namespace ctrlplane::api {
namespace {

const Shapes& shapes() {
  static const Shapes all(R"(
    Name   = string(1..5)                       # a comment
    Word   = "red" | "green"
    Thing  = { name: Name, count?: integer(0..10), tags?: [string], notes?: map<string>, id?: uuid,
               colour?: Word, at?: datetime, rate?: number(0..1.5), slug?: string(~a-z0-9_) }
    Richer = Thing & { size: integer }
    Either = string | null
  )");
  return all;
}

std::vector<std::string> complaints(std::string_view shape, std::string_view json) {
  std::vector<std::string> all;
  for (const ErrorDetail& d : shapes().check(*shapes().find(shape), boost::json::parse(json)))
    all.push_back(d.path + " " + d.message);
  return all;
}
using List = std::vector<std::string>;

TEST(Shape, accepts_what_fits) {
  EXPECT_EQ(complaints("Thing", R"({"name":"abc"})"), List{});
  EXPECT_EQ(complaints("Thing", R"({"name":"abc","count":0,"tags":["x"],"notes":{"a":"b"},"colour":"red",
    "id":"018f0000-0000-7000-8000-000000000000","at":"2026-01-02T03:04:05Z","rate":1.5,"slug":"a_1"})"),
            List{});
  EXPECT_EQ(complaints("Either", "null"), List{});
}

TEST(Shape, takes_null_for_absent_only_where_a_member_may_be_absent) {
  EXPECT_EQ(complaints("Thing", R"({"name":"abc","count":null})"), List{});
  EXPECT_EQ(complaints("Thing", R"({"name":null})"), List{"name must be a string, not null"});
}

TEST(Shape, ignores_members_it_does_not_know) {
  EXPECT_EQ(complaints("Thing", R"({"name":"abc","more":{"deep":[1]}})"), List{});
}

TEST(Shape, names_the_place_and_the_reason) {
  EXPECT_EQ(complaints("Thing", "{}"), List{"name is required"});
  EXPECT_EQ(complaints("Thing", "[]"), List{"body must be an object, not an array"});
  EXPECT_EQ(complaints("Thing", R"({"name":""})"), List{"name must not be empty"});
  EXPECT_EQ(complaints("Thing", R"({"name":"abcdef"})"), List{"name must have at most 5 characters"});
  EXPECT_EQ(complaints("Thing", R"({"name":"a","tags":["x",1]})"),
            List{"tags[1] must be a string, not an integer"});
  EXPECT_EQ(complaints("Thing", R"({"name":"a","notes":{"k":[]}})"),
            List{"notes.k must be a string, not an array"});
  EXPECT_EQ(complaints("Thing", R"({"name":"a","colour":"blue"})"),
            List{"colour must be one of red, green, not \"blue\""});
  EXPECT_EQ(complaints("Thing", R"({"name":"a","count":11})"), List{"count must be at most 10"});
  EXPECT_EQ(complaints("Thing", R"({"name":"a","count":-1})"), List{"count must be at least 0"});
  EXPECT_EQ(complaints("Thing", R"({"name":"a","count":1.0})"),
            List{"count must be an integer, not a number"});
  EXPECT_EQ(complaints("Thing", R"({"name":"a","id":"7"})"), List{"id must be a UUID, not \"7\""});
  EXPECT_EQ(complaints("Thing", R"({"name":"a","at":"today"})"),
            List{"at must be an RFC 3339 instant, not \"today\""});
  EXPECT_EQ(complaints("Thing", R"({"name":"a","slug":"A"})"), List{"slug may consist of a-z0-9_ only"});
  EXPECT_EQ(complaints("Richer", R"({"name":"a"})"), List{"size is required"});
}

TEST(Shape, counts_characters_not_bytes) {
  EXPECT_EQ(complaints("Thing", R"({"name":"äöüäö"})"), List{});
  EXPECT_EQ(complaints("Thing", R"({"name":"äöüäöü"})").size(), 1u);
}

TEST(Shape, stops_complaining_after_a_few) {
  std::string many = R"({"name":"a","tags":[)";
  for (int i = 0; i < 1000; ++i) many += i ? ",1" : "1";
  EXPECT_EQ(complaints("Thing", many + "]}").size(), 10u);
}

TEST(Shape, becomes_json_schema) {
  boost::json::object schema = shapes().schema(*shapes().find("Thing"));
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["required"], boost::json::parse(R"(["name"])"));
  EXPECT_EQ(schema["properties"].at("name").at("$ref"), "#/components/schemas/Name");
  EXPECT_EQ(shapes().schemas()["Name"],
            boost::json::parse(R"({"type":"string","minLength":1,"maxLength":5})"));
  EXPECT_EQ(shapes().schemas()["Word"], boost::json::parse(R"({"type":"string","enum":["red","green"]})"));
}

TEST(Shape, of_the_api_can_be_read) { EXPECT_NE(Shapes(kShapes).find("Job"), nullptr); }

}  // namespace
}  // namespace ctrlplane::api
