#include "base/uuid.h"

#include <set>

#include <gtest/gtest.h>

namespace ctrlplane {
namespace {

TEST(Uuid, prints_what_it_parsed) {
  const std::string text = "018f4e5a-9c1b-7d3e-8a5f-0123456789ab";
  ASSERT_TRUE(Uuid::parse(text));
  EXPECT_EQ(Uuid::parse(text)->str(), text);
}

TEST(Uuid, refuses_everything_but_the_canonical_form) {
  for (const char* text : {"", "018f4e5a9c1b7d3e8a5f0123456789ab", "{018f4e5a-9c1b-7d3e-8a5f-0123456789ab}",
                           "018f4e5a-9c1b-7d3e-8a5f-0123456789ag", "018f4e5a-9c1b-7d3e-8a5f-0123456789a",
                           "018f4e5a+9c1b-7d3e-8a5f-0123456789ab"})
    EXPECT_FALSE(Uuid::parse(text)) << text;
}

TEST(IdSource, gives_distinct_version_7_ids_in_time_order) {
  IdSource early({1000000}, 7), late({2000000000}, 7);
  std::set<Uuid> seen;
  for (int i = 0; i < 10000; ++i) seen.insert(early.next());
  EXPECT_EQ(seen.size(), 10000u);
  EXPECT_LT(*seen.rbegin(), late.next());
  EXPECT_EQ(seen.begin()->str()[14], '7');
}

TEST(IdSource, is_a_function_of_time_and_nonce) {
  IdSource a({5}, 42), b({5}, 42), c({5}, 43);
  Uuid first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
}

TEST(DerivedUuid, follows_from_its_inputs) {
  EXPECT_EQ(derived_uuid("a"), derived_uuid("a"));
  EXPECT_NE(derived_uuid("a"), derived_uuid("b"));
}

}  // namespace
}  // namespace ctrlplane
