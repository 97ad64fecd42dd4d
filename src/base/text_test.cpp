#include "base/text.h"

#include <string>

#include <gtest/gtest.h>

namespace ctrlplane {
namespace {

TEST(StorableText, takes_utf8) {
  for (const char* text :
       {"", "plain", "é", "\xe2\x82\xac", "\xf0\x9f\x9a\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_storable_text(text)) << text;
}

TEST(StorableText, refuses_nul_and_malformed_utf8) {
  EXPECT_FALSE(is_storable_text(std::string("a\0b", 3)));
  for (const char* text : {"\x80", "\xc0\xaf", "\xc3", "\xe2\x82", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "a\xc3(b"})
    EXPECT_FALSE(is_storable_text(text)) << text;
}

}  // namespace
}  // namespace ctrlplane
