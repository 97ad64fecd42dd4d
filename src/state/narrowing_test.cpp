#include "state/narrowing.h"

#include <gtest/gtest.h>

#include "state/selector.h"

namespace ctrlplane {
namespace {

std::string words(const Narrowing& n) {
  static constexpr std::string_view kNames[] = {"name",     "kind",     "version", "identifier",
                                                "provider", "metadata", "has"};
  auto join = [&](std::string_view between) {
    std::string out;
    for (const Narrowing& p : n.parts) out += (out.empty() ? "" : std::string(between)) + words(p);
    return "(" + out + ")";
  };
  switch (n.kind) {
    case Narrowing::Kind::kUnknown: return "?";
    case Narrowing::Kind::kAll: return join(" & ");
    case Narrowing::Kind::kAny: return join(" | ");
    case Narrowing::Kind::kTerm: break;
  }
  std::string out(kNames[static_cast<size_t>(n.field)]);
  if (!n.key.empty()) out += "." + n.key;
  for (const std::string& text : n.any_of) out += ":" + text;
  return out;
}

std::string of(std::string_view text) {
  auto s = Selector::compile(text, Selector::Subject::kTarget);
  EXPECT_TRUE(s) << text << ": " << (s ? "" : s.error().message);
  return s ? words(s->narrowing()) : std::string();
}

TEST(Narrowing, reads_equalities_in_every_spelling) {
  EXPECT_EQ(of("resource.kind == 'Node'"), "kind:Node");
  EXPECT_EQ(of("'Node' == resource.kind"), "kind:Node");
  EXPECT_EQ(of("(((resource.name == \"a\\u0062\")))"), "name:ab");
  EXPECT_EQ(of("resource.identifier in ['x', 'y']"), "identifier:x:y");
  EXPECT_EQ(of("resource.version == 'v1'"), "version:v1");
  EXPECT_EQ(of("resource.providerId == 'p'"), "provider:p");
  EXPECT_EQ(of("resource.metadata['a/b'] == 'x'"), "metadata.a/b:x");
  EXPECT_EQ(of("resource.metadata.`a/b` == 'x'"), "metadata.a/b:x");
  EXPECT_EQ(of("resource.metadata.name == 'x'"), "metadata.name:x");
  EXPECT_EQ(of("resource.metadata.env in []"), "metadata.env");
  EXPECT_EQ(of("has(resource.metadata.env)"), "has.env:");
  EXPECT_EQ(of("'env' in resource.metadata"), "has.env:");
}

TEST(Narrowing, passes_through_and_and_or) {
  EXPECT_EQ(of("resource.kind == 'a' && resource.metadata['b'] == 'c' && resource.name.startsWith('d')"),
            "(kind:a & metadata.b:c & ?)");
  EXPECT_EQ(of("(resource.kind == 'a' && environment.name == 'e') || resource.kind == 'b'"),
            "((kind:a & ?) | kind:b)");
  EXPECT_EQ(of("true"), "()");
  EXPECT_EQ(of("false || resource.kind == 'a'"), "(() | kind:a)");
}

TEST(Narrowing, knows_nothing_of_what_is_not_said_outright) {
  for (const char* text :
       {"!(resource.kind == 'a')", "resource.kind != 'a'",
        "resource.kind == 'a' ? resource.name == 'b' : true", "resource.kind == resource.name",
        "resource.metadata[?'a'].orValue('x') == 'x'", "resource.metadata[resource.name] == 'x'",
        "resource.metadata.?a == optional.of('x')", "resource.kind in ['a', resource.name]",
        "resource.kind in [?optional.of('a')]", "dyn(resource.kind) in ['a', 1]", "deployment.name == 'a'",
        "environment.metadata['a'] == 'x'", "resource.config.kind == 'a'",
        "resource.createdAt == '2026-01-01T00:00:00Z'", "['x'].exists(resource, resource == 'x')",
        "cel.bind(m, resource.metadata, m['a'] == 'x')", "has(resource.config.a)", "'a' in resource.config",
        "size(resource.kind) == 1"})
    EXPECT_EQ(of(text), "?") << text;
}

TEST(Narrowing, counts_what_is_too_much_as_unknown) {
  std::string many = "resource.kind == 'a'";
  for (int i = 0; i < 1500; ++i) many += " || resource.kind == 'a'";
  Narrowing n = narrowing_of(many);
  EXPECT_EQ(n.kind, Narrowing::Kind::kAny);
  EXPECT_TRUE(n.partial);
  EXPECT_EQ(n.parts.front().kind, Narrowing::Kind::kTerm);
  EXPECT_EQ(n.parts.back().kind, Narrowing::Kind::kUnknown);
}

}  // namespace
}  // namespace ctrlplane
