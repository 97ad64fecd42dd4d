#include "cel/lib/library.h"

#include "cel/test_support.h"

namespace ctrlplane::cel {
namespace {

struct Case {
  std::string_view text;
  std::string_view result;
};

void expect_all(std::initializer_list<Case> cases) {
  for (const Case& c : cases) EXPECT_EQ(eval_text(c.text), c.result) << c.text;
}

TEST(Strings, positions_are_code_points) {
  expect_all({{"'añb'.size()", "3"},
              {"'añb'.indexOf('b')", "2"},
              {"'añb'.charAt(1)", R"("ñ")"},
              {"'añb'.substring(1, 2)", R"("ñ")"},
              {"'añb'.reverse()", R"("bña")"},
              {"'abc'.charAt(3)", R"("")"},
              {"'abc'.charAt(4)", "error index_out_of_range 1:7"},
              {"'abc'.substring(2, 1)", "error invalid_argument 1:7"},
              {"'abcabc'.lastIndexOf('abc', 2)", "0"},
              {"'abc'.indexOf('c', 4)", "error index_out_of_range 1:7"}});
}

TEST(Strings, replace_and_split) {
  expect_all({{"'aaa'.replace('a', 'b', 2)", R"("bba")"},
              {"'ab'.replace('', '-')", R"("-a-b-")"},
              {"'ab'.replace('', '-', 2)", R"("-a-b")"},
              {"'a,b,c'.split(',')", R"(["a", "b", "c"])"},
              {"'a,b,c'.split(',', 2)", R"(["a", "b,c"])"},
              {"'abc'.split('')", R"(["a", "b", "c"])"},
              {"''.split('')", "[]"},
              {"''.split(',')", R"([""])"},
              {"['a', 'b'].join(', ')", R"("a, b")"},
              {"'  a '.trim() + '|'", R"("a|")"},
              {"'Ab'.lowerAscii() + 'Ab'.upperAscii()", R"("abAB")"}});
}

TEST(Strings, format) {
  expect_all({{"'%s|%d|%.2f|%x|%X|%b|%o|%e'.format(['a', 1, 1.005, 255, 255, -5, 8, 12.0])",
               R"("a|1|1.00|ff|FF|-101|10|1.200000e+01")"},
              {"'%s'.format([{'b': [1, null], 'a': duration('90s')}])", R"("{a: 90s, b: [1, null]}")"},
              {"'%x'.format(['hi'])", R"("6869")"},
              {"'%d%%'.format([50])", R"("50%")"},
              {"'%d'.format(['x'])", "error invalid_argument 1:6"},
              {"'%d'.format([])", "error invalid_argument 1:6"},
              {"'%'.format([1])", "error invalid_argument 1:5"},
              {"'%.9999f'.format([1.0])", "error invalid_argument 1:11"}});
}

TEST(Lists, functions) {
  expect_all({{"[3, 1, 2].sort()", "[1, 2, 3]"},
              {"['b', 'a'].sort()", R"(["a", "b"])"},
              {"[1, 'a'].sort()", "error no_such_overload 1:10"},
              {"[{'n': 2}, {'n': 1}].sortBy(e, e.n)", R"([{"n": 1}, {"n": 2}])"},
              {"[1, 2, 3, 4].slice(1, 3)", "[2, 3]"},
              {"[1].slice(1, 0)", "error index_out_of_range 1:5"},
              {"[[1, 2], [3], []].flatten()", "[1, 2, 3]"},
              {"[1, [2, [3, [4]]]].flatten(2)", "[1, 2, 3, [4]]"},
              {"[1, 2u, 1.0, 'a', 'a', [1], [1], null, null].distinct()", R"([1, 2u, "a", [1], null])"},
              {"lists.range(3)", "[0, 1, 2]"},
              {"[1, 2].reverse()", "[2, 1]"},
              {"[1, 2].first()", "optional.of(1)"},
              {"[].last()", "optional.none()"},
              {"[optional.of(1), optional.none()].unwrapOpt()", "[1]"}});
}

TEST(Sets, compare_by_cel_equality) {
  expect_all({{"sets.contains([1, 2, 3], [2.0, 3u])", "true"},
              {"sets.contains([1], [2])", "false"},
              {"sets.contains([1], [])", "true"},
              {"sets.equivalent([1, 1, 2], [2, 1])", "true"},
              {"sets.equivalent([1, 2], [1])", "false"},
              {"sets.intersects([1, 2], [3, 2])", "true"},
              {"sets.intersects([1], [])", "false"}});
}

TEST(Encoders, base64) {
  expect_all({{"base64.encode(b'')", R"("")"},
              {"base64.encode(b'ab')", R"("YWI=")"},
              {"base64.decode('YWI=')", R"(b"ab")"},
              {"base64.decode('YWI')", R"(b"ab")"},
              {"base64.decode('YW=')", "error invalid_argument 1:8"},
              {"base64.decode('Y')", "error invalid_argument 1:8"},
              {"base64.decode('Y*I=')", "error invalid_argument 1:8"}});
}

TEST(Time, parts_in_zones) {
  // Berlin goes to summer time at 01:00 UTC on 31 March 2024.
  expect_all({{"timestamp('2024-03-31T00:59:59Z').getHours('Europe/Berlin')", "1"},
              {"timestamp('2024-03-31T01:00:00Z').getHours('Europe/Berlin')", "3"},
              {"timestamp('2024-01-01T00:30:00Z').getFullYear('-01:00')", "2023"},
              {"timestamp('2024-12-31T00:00:00Z').getDayOfYear()", "365"},
              {"timestamp('2024-03-31T00:00:00Z').getDayOfWeek()", "0"},
              {"timestamp('1969-12-31T23:59:59.5Z').getMilliseconds()", "500"},
              {"timestamp(0).getHours('Mars/Olympus')", "error invalid_argument 1:14"},
              {"timestamp(0).getHours('/etc/passwd')", "error invalid_argument 1:14"},
              {"timestamp(0).getHours('../../etc/passwd')", "error invalid_argument 1:14"},
              {"duration('-90m').getHours()", "-1"},
              {"duration('1.5s').getMilliseconds()", "500"}});
}

TEST(Time, texts) {
  expect_all({{"string(timestamp('2024-02-29T23:59:59.12+01:00'))", R"("2024-02-29T22:59:59.120Z")"},
              {"timestamp('2023-02-29T00:00:00Z')", "error invalid_argument 1:1"},
              {"timestamp('2024-01-01T24:00:00Z')", "error invalid_argument 1:1"},
              {"timestamp('2024-01-01 00:00:00Z')", "error invalid_argument 1:1"},
              {"timestamp('2024-01-01T00:00:00')", "error invalid_argument 1:1"},
              {"duration('1h2m3.5s')", R"(duration("3723.500s"))"},
              {"duration('-1.5ms')", R"(duration("-0.001500s"))"},
              {"duration('1')", "error invalid_argument 1:1"},
              {"duration('')", "error invalid_argument 1:1"},
              {"duration('9223372036854775807ns').getSeconds()", "9223372036"},
              {"duration('9223372036854775808ns')", "error invalid_argument 1:1"}});
}

TEST(Conversions, ranges_and_texts) {
  expect_all({{"int('9223372036854775808')", "error invalid_argument 1:1"},
              {"int(' 1')", "error invalid_argument 1:1"},
              {"int('+7')", "7"},
              {"uint(-1)", "error range 1:1"},
              {"double('-Infinity') < 0.0", "true"},
              {"string(1e21)", R"("1e+21")"},
              {"string(b'\\xff')", "error invalid_argument 1:1"},
              {"int(double('NaN'))", "error range 1:1"}});
}

TEST(Math, extremes_and_bits) {
  expect_all({{"math.greatest([1, 2.5, 2u])", "2.5"},
              {"math.least(3, 2u, 2.5)", "2u"},
              {"math.greatest([])", "error invalid_argument 1:6"},
              {"math.greatest('a')", "error no_such_overload 1:6"},
              {"math.sqrt(16)", "4.0"},
              {"math.round(2.5)", "3.0"},
              {"math.bitNot(0u)", "18446744073709551615u"},
              {"math.bitShiftRight(-1, 63)", "1"},
              {"math.bitShiftLeft(1, -1)", "error invalid_argument 1:6"}});
}

TEST(Optionals, the_other_side_is_not_evaluated_in_vain) {
  expect_all({{"optional.of(1).orValue(1 / 0)", "1"},
              {"optional.none().orValue(1 / 0)", "error divide_by_zero 1:27"},
              {"optional.of(1).or(optional.of(1 / 0)).value()", "1"},
              {"optional.none().value()", "error invalid_argument 1:17"},
              {"optional.ofNonZeroValue('').hasValue()", "false"}});
}

TEST(Regex, matches_anywhere_and_by_variable_pattern) {
  expect_all({{"'abcd'.matches('b.')", "true"},
              {"matches('abcd', '^b')", "false"},
              {"['a', '('].map(p, 'a'.matches(p))", "error invalid_argument 1:23"}});
}

TEST(Library, refuses_bad_signatures) {
  Library library;
  EXPECT_FALSE(library.add("f", Style::kGlobal, nullptr, "int"));
  EXPECT_FALSE(library.add("f", Style::kGlobal, nullptr, "wat -> int"));
  EXPECT_TRUE(library.add("f", Style::kGlobal, nullptr, "int, map(string, list(int)) -> int"));
  ASSERT_NE(library.find("f", Style::kGlobal), nullptr);
  EXPECT_EQ(library.find("f", Style::kGlobal)->overloads[0].params.size(), 2u);
  EXPECT_EQ(library.find("f", Style::kMember), nullptr);
}

}  // namespace
}  // namespace ctrlplane::cel
