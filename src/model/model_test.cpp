#include <gtest/gtest.h>

#include "model/entities.h"

namespace ctrlplane {
namespace {

TEST(Json, is_canonical_whatever_the_order_of_members) {
  EXPECT_EQ(Json::parse_object(R"({"b":1, "a":{"y":[1,2],"x":true}})")->text(),
            R"({"a":{"x":true,"y":[1,2]},"b":1})");
}

TEST(Json, refuses_what_is_not_an_object) {
  for (const char* text : {"", "[]", "1", "{", "{} x", R"({"a":})"}) {
    auto r = Json::parse_object(text);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().code, ErrorCode::kInvalid);
  }
  EXPECT_FALSE(Json::parse_object(std::string(100, '[')));
}

TEST(Json, merges_maps_and_replaces_the_rest) {
  Json base = *Json::parse_object(R"({"a":{"x":1,"y":2},"l":[1,2],"s":"old"})");
  Json over = *Json::parse_object(R"({"a":{"y":3},"l":[9],"s":"new"})");
  EXPECT_EQ(merge(base, over).text(), R"({"a":{"x":1,"y":3},"l":[9],"s":"new"})");
  EXPECT_EQ(merge(base, Json()), base);
}

TEST(Metadata, round_trips_any_text) {
  Metadata m{{"zone", "eu\"1\\"}, {"a\n", std::string("tab\tbell\a nul") + '\0' + "é"}, {"", ""}};
  EXPECT_EQ(Metadata::parse_trusted(m.json()), m);
  EXPECT_EQ(Metadata::parse_trusted("{}"), Metadata());
  EXPECT_EQ(*m.find("zone"), "eu\"1\\");
  EXPECT_EQ(m.find("none"), nullptr);
}

TEST(Enums, spell_and_parse_alike) {
  for (int i = 0; i <= static_cast<int>(JobStatus::kExternalRunNotFound); ++i) {
    auto s = static_cast<JobStatus>(i);
    EXPECT_EQ(parse_enum<JobStatus>(to_string(s)), s);
  }
  EXPECT_FALSE(parse_enum<VersionStatus>("Ready"));
  EXPECT_TRUE(is_terminal(JobStatus::kSkipped));
  EXPECT_FALSE(is_terminal(JobStatus::kActionRequired));
}

}  // namespace
}  // namespace ctrlplane
