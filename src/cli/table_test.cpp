#include "cli/table.h"

#include <gtest/gtest.h>

namespace ctrlplane::cli {
namespace {

Table two_rows() {
  Table t({"NAME", "STATUS", "AGE"});
  t.add({{"a-rather-long-name"}, {"ready", Tone::kGood}, {"3m"}});
  t.add({{"é"}, {"failed", Tone::kBad}, {""}});
  return t;
}

TEST(Table, aligns_its_columns_and_marks_what_is_empty) {
  EXPECT_EQ(two_rows().render(0, false),
            "NAME                STATUS  AGE\n"
            "a-rather-long-name  ready   3m\n"
            "é                   failed  -\n");
}

TEST(Table, gives_way_in_its_widest_column_to_fit_a_terminal) {
  EXPECT_EQ(two_rows().render(21, false),
            "NAME      STATUS  AGE\n"
            "a-rathe…  ready   3m\n"
            "é         failed  -\n");
}

TEST(Table, drops_columns_that_a_very_narrow_terminal_has_no_room_for) {
  EXPECT_EQ(two_rows().render(7, false), "NAME\na-rat…\né\n");
}

TEST(Table, colours_only_the_text_so_that_columns_stay_aligned) {
  EXPECT_NE(two_rows().render(0, true).find("\x1b[32mready\x1b[0m   3m\n"), std::string::npos);
}

TEST(Table, shows_control_characters_as_question_marks) {
  Table t({"NAME"});
  t.add({{"a\x1b[2Jb\n"}});
  EXPECT_EQ(t.render(0, false), "NAME\na?[2Jb?\n");
}

TEST(Table, knows_the_tone_of_every_status) {
  EXPECT_EQ(tone_of("successful"), Tone::kGood);
  EXPECT_EQ(tone_of("inProgress"), Tone::kBusy);
  EXPECT_EQ(tone_of("externalRunNotFound"), Tone::kBad);
  EXPECT_EQ(tone_of("cancelled"), Tone::kDim);
  EXPECT_EQ(tone_of("something new"), Tone::kPlain);
}

}  // namespace
}  // namespace ctrlplane::cli
