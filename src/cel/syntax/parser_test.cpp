#include "cel/syntax/parser.h"

#include <gtest/gtest.h>

namespace ctrlplane::cel {
namespace {

std::string reprint(std::string_view text) {
  auto ast = parse(text);
  return ast ? print(*ast->root)
             : "error at " + std::to_string(ast.error().offset) + ": " + ast.error().message;
}

TEST(Parser, precedence_and_grouping) {
  EXPECT_EQ(reprint("1+2*3"), "(1) + ((2) * (3))");
  EXPECT_EQ(reprint("a || b && c"), "a || (b && c)");
  EXPECT_EQ(reprint("a && b && c"), "a && b && c");
  EXPECT_EQ(reprint("a ? b : c ? d : e"), "a ? b : (c ? d : e)");
  EXPECT_EQ(reprint("!a.b"), "!a.b");
  EXPECT_EQ(reprint("-1"), "-1");
  EXPECT_EQ(reprint("- 1 - -x"), "(-1) - (-x)");
  EXPECT_EQ(reprint("a - b - c"), "(a - b) - c");
  EXPECT_EQ(reprint("1 < 2 == true"), "((1) < (2)) == true");
}

TEST(Parser, printing_and_parsing_again_gives_the_same_tree) {
  for (std::string_view text : {"1",
                                "-1",
                                "--1",
                                "---1",
                                "-(1)",
                                "1u",
                                "0x1f",
                                "1.0",
                                "-0.0",
                                "1e100",
                                "1.5e-7",
                                ".5",
                                "'a'",
                                "'\\''",
                                "\"\\\"\"",
                                "r'\\d'",
                                "b'\\xff'",
                                "'''a\nb'''",
                                "true",
                                "null",
                                "[]",
                                "[1, 2,]",
                                "[?a, b]",
                                "{}",
                                "{'a': 1}",
                                "{?'a': b, 'c': d}",
                                "a.b.c",
                                ".a.b",
                                "a.?b",
                                "a[?0]",
                                "a[0][1]",
                                "a.`b-c`.d",
                                "f()",
                                "f(1, 2)",
                                "a.f(b)",
                                "a.b.f(c)",
                                "!a",
                                "!!a",
                                "!!!a",
                                "-a",
                                "--a",
                                "-(-a)",
                                "a + b + c",
                                "a + (b + c)",
                                "a * (b + c)",
                                "(a && b) && c",
                                "a && (b && c)",
                                "a || b && !c",
                                "a ? b : c",
                                "(a ? b : c) ? d : e",
                                "a in [1]",
                                "!(a in b)",
                                "has(a.b)",
                                "has(a.b.c)",
                                "l.all(x, x > 0)",
                                "l.exists(i, v, v > i)",
                                "l.exists_one(x, x)",
                                "l.existsOne(x, x)",
                                "l.map(x, x + 1)",
                                "l.map(x, x > 1, x + 1)",
                                "l.filter(x, x)",
                                "l.transformList(i, v, i)",
                                "m.transformMap(k, v, k != 'a', v)",
                                "m.transformMapEntry(k, v, {v: k})",
                                "cel.bind(x, 1, x + x)",
                                "o.optMap(x, x)",
                                "o.optFlatMap(x, x)",
                                "l.sortBy(x, -x)",
                                "cel.block([1, cel.index(0) + 1], cel.index(1))",
                                "-1.abs()",
                                "(-1).abs()",
                                "1.f()",
                                "l.map(cel.iterVar(0, 1), cel.iterVar(0, 1))",
                                "a // comment\n + b",
                                "'é' + \"\\u00e9\"",
                                "'\\x00\\x7f\\a\\b\\f\\n\\r\\t\\v'",
                                "a.in_(b)",
                                "{1: {2: [3]}}[1]",
                                "a.for.if"}) {
    auto first = parse(text);
    ASSERT_TRUE(first) << text << ": " << first.error().message;
    std::string printed = print(*first->root);
    auto second = parse(printed);
    ASSERT_TRUE(second) << text << " -> " << printed << ": " << second.error().message;
    EXPECT_TRUE(same_tree(*first->root, *second->root)) << text << " -> " << printed;
    EXPECT_EQ(print(*second->root), printed);
  }
}

TEST(Parser, trees_that_differ_are_told_apart) {
  auto differ = [](std::string_view a, std::string_view b) {
    auto x = parse(a), y = parse(b);
    return !same_tree(*x->root, *y->root);
  };
  EXPECT_TRUE(differ("1", "1u"));
  EXPECT_TRUE(differ("1", "1.0"));
  EXPECT_TRUE(differ("0.0", "-0.0"));
  EXPECT_TRUE(differ("a.b", "a.?b"));
  EXPECT_TRUE(differ("'a'", "b'a'"));
  EXPECT_TRUE(differ("a && (b && c)", "a && b && c"));
  EXPECT_TRUE(differ("[?a]", "[a]"));
  EXPECT_TRUE(differ("l.map(x, 1)", "l.map(y, 1)"));
}

TEST(Parser, says_what_to_write_instead) {
  EXPECT_EQ(reprint("a AND b"), "error at 2: unexpected 'AND': use && for 'and'");
  EXPECT_EQ(reprint("a or b"), "error at 2: unexpected 'or': use || for 'or'");
  EXPECT_EQ(reprint("not a"), "error at 0: unexpected 'not': use ! for 'not'");
  EXPECT_EQ(reprint("a = b"), "error at 2: '=' is not an operator; use == to compare");
  EXPECT_EQ(reprint("a === b"), "error at 2: '===' is not an operator; use ==");
  EXPECT_EQ(reprint("a <> b"), "error at 2: '<>' is not an operator; use !=");
  EXPECT_EQ(reprint("a & b"), "error at 2: '&' is not an operator; use && for and");
  EXPECT_EQ(reprint("a == 'b"), "error at 5: this text has no closing ' on its line");
  EXPECT_EQ(reprint("a == “b”"), "error at 5: a typographic quotation mark; use ' or \"");
  EXPECT_EQ(reprint("'\\q'"), "error at 1: unknown escape; for a plain backslash write \\\\ or r'…'");
  EXPECT_EQ(reprint("'\\ud800'"), "error at 1: not a Unicode code point");
  EXPECT_EQ(reprint("for"), "error at 0: 'for' is a reserved word");
  EXPECT_EQ(reprint("a ("), "error at 3: the expression ends where a value should be");
  EXPECT_EQ(reprint("9223372036854775808"), "error at 0: 9223372036854775808 does not fit 64 bits");
  EXPECT_EQ(reprint("Foo{a: 1}"),
            "error at 3: there are no message types here; write a map: {'field': value}");
  EXPECT_EQ(reprint("l.all(1, true)"), "error at 6: all() wants the name of a variable here");
  EXPECT_EQ(reprint(""), "error at 0: the expression is empty");
  EXPECT_EQ(reprint("\xff"), "error at 0: the text is not valid UTF-8");
  EXPECT_EQ(reprint("a b"), "error at 2: unexpected 'b', wanted an operator or the end");
  EXPECT_EQ(reprint("1x"), "error at 0: a number runs into a name; put a space or an operator between them");
}

TEST(Parser, macros_can_be_left_alone) {
  auto ast = parse("has(a.b)", {.macros = false});
  ASSERT_TRUE(ast);
  EXPECT_EQ(ast->root->kind, ExprKind::kCall);
}

}  // namespace
}  // namespace ctrlplane::cel
