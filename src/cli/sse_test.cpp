#include "cli/sse.h"

#include <vector>

#include <gtest/gtest.h>

namespace ctrlplane::cli {
namespace {

std::vector<std::string> all(std::string_view text, size_t piece) {
  SseParser parser;
  std::vector<std::string> events;
  for (size_t at = 0; at < text.size(); at += piece)
    parser.feed(text.substr(at, piece), [&](const StreamEvent& e) {
      events.push_back(e.id + "|" + e.type + "|" + e.data);
      return true;
    });
  return events;
}

TEST(Sse, is_the_same_however_it_is_cut) {
  constexpr std::string_view kText =
      ": hello\n\nid: 7\nevent: commit\ndata: {\"a\":1}\n\r\nid:8\r\nevent:commit\r\ndata:x\r\ndata: "
      "y\r\n\r\n"
      "event: reset\r\rretry: 5\n\nid: 9\n\ndata: late\n\ndata: unfinished";
  const std::vector<std::string> expected = {"7|commit|{\"a\":1}", "8|commit|x\ny", "8|reset|",
                                             "9|message|late"};
  for (size_t piece = 1; piece <= kText.size(); ++piece) EXPECT_EQ(all(kText, piece), expected) << piece;
}

TEST(Sse, stops_when_the_reader_has_enough) {
  SseParser parser;
  int seen = 0;
  EXPECT_FALSE(parser.feed("data: 1\n\ndata: 2\n\n", [&](const StreamEvent&) { return ++seen < 1; }));
  EXPECT_EQ(seen, 1);
}

TEST(Sse, refuses_an_event_without_end) {
  SseParser parser;
  std::string piece(1 << 20, 'x');
  int taken = 0;
  while (taken < 1000 && parser.feed(piece, [](const StreamEvent&) { return true; })) ++taken;
  EXPECT_LT(taken, 100);
}

}  // namespace
}  // namespace ctrlplane::cli
