#include "agent/output_buffer.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace ctrlplane::agent {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

std::string repaired(std::string_view bytes) {
  TextRepair repair;
  std::string out = repair.feed(bytes);
  return out + repair.finish();
}

std::string all_of(OutputBuffer& buffer, size_t piece_bytes = 64 * 1024) {
  std::string out;
  while (!buffer.piece(piece_bytes).text.empty()) {
    EXPECT_EQ(buffer.piece(piece_bytes).offset, out.size());
    out += buffer.piece(piece_bytes).text;
    buffer.settle();
  }
  return out;
}

TEST(TextRepair, leaves_text_as_it_is) {
  std::string text = "plain, \xC3\xA4, \xE2\x82\xAC, \xF0\x9F\x9A\x80, \xF4\x8F\xBF\xBF\n";
  EXPECT_EQ(repaired(text), text);
}

TEST(TextRepair, replaces_what_is_no_character) {
  EXPECT_EQ(repaired("a\xFFz"), "a" + kBad + "z");
  EXPECT_EQ(repaired(std::string_view("a\0z", 3)), "a" + kBad + "z");
  EXPECT_EQ(repaired("\xC0\xAF"), kBad + kBad);             // overlong
  EXPECT_EQ(repaired("\xED\xA0\x80"), kBad + kBad + kBad);  // a surrogate
  EXPECT_EQ(repaired("\xF4\x90\x80\x80"), kBad + kBad + kBad + kBad);
  EXPECT_EQ(repaired("\xE2\x82z"), kBad + "z");  // cut short in the middle
  EXPECT_EQ(repaired("z\xE2\x82"), "z" + kBad);  // and at the end
  EXPECT_EQ(repaired("\xE2\xE2\x82\xAC"), kBad + "\xE2\x82\xAC");
}

TEST(TextRepair, does_not_mind_where_the_bytes_are_cut) {
  std::string bytes = "x\xF0\x9F\x9A\x80\xE2\x82\xFF\xC3\xA4\xF0\x9F";
  std::string whole = repaired(bytes);
  for (size_t at = 0; at <= bytes.size(); ++at) {
    TextRepair repair;
    std::string out = repair.feed(std::string_view(bytes).substr(0, at));
    out += repair.feed(std::string_view(bytes).substr(at));
    EXPECT_EQ(out + repair.finish(), whole) << at;
  }
  TextRepair one_by_one;
  std::string out;
  for (char c : bytes) out += one_by_one.feed({&c, 1});
  EXPECT_EQ(out + one_by_one.finish(), whole);
}

TEST(TextRepair, any_bytes_become_storable_text) {
  uint32_t state = 1;
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    for (int i = 0; i < 64; ++i) bytes += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    EXPECT_TRUE(is_storable_text(repaired(bytes)));
  }
}

TEST(OutputBuffer, hands_out_pieces_of_whole_characters_with_their_offsets) {
  OutputBuffer buffer;
  buffer.append(
      "ab\xE2\x82\xAC"
      "cd");
  EXPECT_EQ(buffer.piece(4).text, "ab");
  EXPECT_EQ(buffer.piece(4).text, "ab");  // the same until it is settled
  buffer.settle();
  EXPECT_EQ(buffer.piece(4).offset, 2u);
  EXPECT_EQ(buffer.piece(4).text,
            "\xE2\x82\xAC"
            "c");
  buffer.settle();
  EXPECT_EQ(buffer.piece(4).text, "d");
  buffer.settle();
  EXPECT_EQ(buffer.piece(4).text, "");
  EXPECT_EQ(buffer.piece(4).offset, 7u);
}

TEST(OutputBuffer, a_piece_under_way_does_not_change_when_more_comes) {
  OutputBuffer buffer(64);
  buffer.append("first");
  EXPECT_EQ(buffer.piece(1024).text, "first");
  buffer.append(std::string(10'000, 'x'));
  EXPECT_EQ(buffer.piece(1024).text, "first");
}

TEST(OutputBuffer, offsets_count_the_bytes_as_sent) {
  OutputBuffer buffer;
  buffer.append("\xFF\xFF");
  EXPECT_EQ(buffer.piece(1024).text, kBad + kBad);
  buffer.settle();
  buffer.append("x");
  EXPECT_EQ(buffer.piece(1024).offset, 6u);
}

TEST(OutputBuffer, drops_the_middle_and_says_how_much) {
  OutputBuffer buffer(1000);
  std::string written;
  for (int i = 0; i < 2000; ++i) written += std::to_string(i) + "\n";
  buffer.append(written);
  EXPECT_TRUE(buffer.dropping());
  EXPECT_LE(buffer.waiting_bytes(), 2000u);
  std::string sent = all_of(buffer);
  EXPECT_TRUE(sent.starts_with(written.substr(0, 500)));
  EXPECT_TRUE(sent.ends_with(written.substr(written.size() - 500)));
  size_t kept = 1000;
  std::string note = "\n[" + std::to_string(written.size() - kept) + " bytes of output are left out here]\n";
  EXPECT_NE(sent.find(note), std::string::npos) << sent;
  EXPECT_EQ(sent.size(), kept + note.size());
}

TEST(OutputBuffer, never_grows_and_keeps_characters_whole_however_it_is_fed) {
  OutputBuffer buffer(1000);
  for (int i = 0; i < 10'000; ++i) {
    buffer.append("\xE2\x82\xAC");
    EXPECT_LE(buffer.waiting_bytes(), 1600u);
  }
  EXPECT_TRUE(is_storable_text(all_of(buffer, 7)));
}

TEST(OutputBuffer, goes_on_after_a_gap_was_handed_out) {
  OutputBuffer buffer(100);
  buffer.append(std::string(1000, 'a'));
  all_of(buffer);
  EXPECT_FALSE(buffer.dropping());
  buffer.append("more\n");
  EXPECT_EQ(buffer.piece(100).text, "more\n");
}

TEST(OutputBuffer, an_unfinished_character_comes_out_at_the_end) {
  OutputBuffer buffer;
  buffer.append("a\xE2\x82");
  buffer.finish();
  EXPECT_EQ(all_of(buffer), "a" + kBad);
}

TEST(OutputBuffer, knows_the_last_line_that_says_something) {
  OutputBuffer buffer;
  EXPECT_EQ(buffer.last_line(), "");
  buffer.append("one\ntwo\n\n  \n");
  EXPECT_EQ(buffer.last_line(), "two");
  buffer.append("  thr");
  buffer.append("ee");
  EXPECT_EQ(buffer.last_line(), "three");
  buffer.append("\rfour\x1b[0m\t");
  EXPECT_EQ(buffer.last_line(), "four[0m");
}

TEST(OutputBuffer, the_last_line_has_at_most_200_characters) {
  OutputBuffer buffer;
  std::string euro = "\xE2\x82\xAC", many;
  for (int i = 0; i < 5000; ++i) many += euro;
  buffer.append(many);
  EXPECT_EQ(buffer.last_line(), many.substr(0, 600));
}

}  // namespace
}  // namespace ctrlplane::agent
