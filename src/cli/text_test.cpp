#include "cli/text.h"

#include <array>

#include <gtest/gtest.h>

namespace ctrlplane::cli {
namespace {

TEST(Text, of_other_people_cannot_move_the_cursor) {
  EXPECT_EQ(printable("plain, é and 日本"), "plain, é and 日本");
  EXPECT_EQ(printable("a\x1b[2Jb\r\nc\td"), "a?[2Jb??c?d");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m");
  EXPECT_EQ(printable("a\u202eb"), "a?b");
  EXPECT_EQ(printable("\xff\xe2\x82"), "???");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
}

TEST(Text, is_cut_between_characters) {
  EXPECT_EQ(cut_to("héllo", 5), "héllo");
  EXPECT_EQ(cut_to("héllo", 3), "hé…");
  EXPECT_EQ(cut_to("héllo", 1), "…");
  EXPECT_EQ(cut_to("héllo", 0), "");
  EXPECT_EQ(columns_of("hé…"), 3u);
}

TEST(Text, finds_the_word_that_was_meant) {
  constexpr std::array<std::string_view, 3> kKnown = {"resourceSelector", "description", "name"};
  EXPECT_EQ(nearest("resourceselector", kKnown), "resourceSelector");
  EXPECT_EQ(nearest("descriptoin", kKnown), "description");
  EXPECT_EQ(nearest("nmae", kKnown), "name");
  EXPECT_EQ(nearest("colour", kKnown), "");
  EXPECT_EQ(nearest(std::string(10'000, 'n'), kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
}

TEST(Text, knows_ids_and_their_beginnings) {
  EXPECT_TRUE(is_uuid("0190a3b4-0000-7000-8000-00000000000f"));
  EXPECT_TRUE(is_id_prefix("0190"));
  EXPECT_TRUE(is_id_prefix("0190A3B4-00"));
  EXPECT_TRUE(is_id_prefix("0190a3b4-0000-7000-8000-00000000000f"));
  EXPECT_FALSE(is_id_prefix("019"));
  EXPECT_FALSE(is_id_prefix("0190a3b400"));
  EXPECT_FALSE(is_id_prefix("face-off"));
  EXPECT_FALSE(is_id_prefix(""));
}

}  // namespace
}  // namespace ctrlplane::cli
