#include "cel/value/value.h"

#include <cmath>

#include "cel/test_support.h"
#include "cel/value/clone.h"
#include "cel/value/compare.h"

namespace ctrlplane::cel {
namespace {

TEST(Arena, small_things_need_no_allocation_and_the_ceiling_holds) {
  Arena arena(10000);
  std::byte* inside = reinterpret_cast<std::byte*>(&arena);
  std::byte* p = static_cast<std::byte*>(arena.allocate(100));
  EXPECT_TRUE(p >= inside && p < inside + sizeof arena);
  EXPECT_NE(arena.allocate(5000), nullptr);
  EXPECT_EQ(arena.allocate(9000), nullptr);
  EXPECT_EQ(arena.allocate_array<Value>(SIZE_MAX / 2), nullptr);
  arena.reset();
  EXPECT_EQ(arena.bytes_used(), 0u);
  EXPECT_NE(arena.allocate(9000), nullptr);
}

TEST(Value, numbers_compare_across_types) {
  EXPECT_EQ(compare_numbers(Value::integer(-1), Value::unsigned_integer(UINT64_MAX)),
            std::partial_ordering::less);
  EXPECT_EQ(compare_numbers(Value::unsigned_integer(3), Value::real(3.0)), std::partial_ordering::equivalent);
  EXPECT_EQ(compare_numbers(Value::integer(3), Value::real(3.5)), std::partial_ordering::less);
  EXPECT_EQ(compare_numbers(Value::real(1e300), Value::integer(INT64_MAX)), std::partial_ordering::greater);
  EXPECT_EQ(compare_numbers(Value::integer(1), Value::real(NAN)), std::partial_ordering::unordered);
}

TEST(Value, times_keep_their_microseconds_before_1970_too) {
  for (int64_t us : {0ll, 1ll, -1ll, 1714564800123456ll, -62135596800000000ll})
    EXPECT_EQ(Value::timestamp(Time{us}).as_time().us, us);
}

TEST(Map, keys_of_equal_numbers_are_one_key) {
  Arena arena;
  Context ctx{arena, 1000};
  MapBuilder b(ctx, 20);
  for (int64_t i = 0; i < 20; ++i) EXPECT_TRUE(b.add(Value::integer(i), Value::integer(i * i)).is_absent());
  Value m = b.build();
  EXPECT_EQ(map_find(arena, m, Value::unsigned_integer(7)).as_int(), 49);
  EXPECT_EQ(map_find(arena, m, Value::real(7.0)).as_int(), 49);
  EXPECT_TRUE(map_find(arena, m, Value::real(7.5)).is_absent());
  EXPECT_TRUE(map_find(arena, m, Value::string("7")).is_absent());
  EXPECT_TRUE(map_find(arena, m, Value::boolean(true)).is_absent());
  MapBuilder twice(ctx, 2);
  twice.add(Value::integer(1), Value::null());
  EXPECT_TRUE(twice.add(Value::unsigned_integer(1), Value::null()).is_error());
}

TEST(Clone, owes_nothing_to_where_it_came_from) {
  Arena to;
  Value copied;
  {
    Arena from;
    Context ctx{from, 1000};
    MapBuilder b(ctx, 1);
    b.add(ctx.make_string("key"), ctx.make_some(ctx.make_string("value")));
    ASSERT_TRUE(clone(to, b.build(), 1000, copied));
    std::fill_n(static_cast<char*>(from.allocate(900 - from.bytes_used())), 0, 'x');
  }
  EXPECT_EQ(literal_text(copied), R"({"key": optional.of("value")})");
  EXPECT_FALSE(clone(to, Value::string("too long for this"), 4, copied));
}

TEST(Text, utf8) {
  EXPECT_TRUE(is_valid_utf8("añ\xf0\x9f\x98\x80"));
  for (std::string_view bad : {"\xff", "\xc0\x80", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"})
    EXPECT_FALSE(is_valid_utf8(bad));
  EXPECT_EQ(code_point_offset("añb", 2), 3u);
  EXPECT_EQ(code_point_offset("añb", 3), 4u);
  EXPECT_EQ(code_point_offset("añb", 4), std::string_view::npos);
}

TEST(Text, literals_read_back_to_the_same_value) {
  for (std::string_view text :
       {"1", "-5", "7u", "1.5", "-0.0", "1e+300", R"("a\n\"\\ñ\x01")", R"(b"\x00a\xff")", "[1, [2u]]",
        R"({"a": null, 1: true})", R"(timestamp("2024-01-01T00:00:00Z"))", R"(duration("-1.500s"))",
        "optional.of(1)", "optional.none()", "int", R"(double("NaN"))", R"(double("-Infinity"))"})
    EXPECT_EQ(eval_text(text), text);
}

}  // namespace
}  // namespace ctrlplane::cel
