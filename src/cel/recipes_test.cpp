// The recipes in docs/cel.md compile against the variables the documentation names.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cel/test_support.h"

namespace ctrlplane::cel {
namespace {

Env documented_env() {
  Env env;
  std::string times = "timestamp";
  Env::Fields resource = {{"id", "string"},
                          {"name", "string"},
                          {"kind", "string"},
                          {"version", "string"},
                          {"identifier", "string"},
                          {"config", "dyn"},
                          {"metadata", "map(string, string)"},
                          {"providerId", "string"},
                          {"createdAt", times},
                          {"updatedAt", times}};
  Env::Fields version = {{"id", "string"},
                         {"tag", "string"},
                         {"name", "string"},
                         {"status", "string"},
                         {"metadata", "map(string, string)"},
                         {"config", "dyn"},
                         {"createdAt", times}};
  EXPECT_TRUE(env.declare_struct("Resource", resource).has_value());
  EXPECT_TRUE(env.declare_struct("Version", version).has_value());
  EXPECT_TRUE(env.declare("resource", "Resource").has_value());
  EXPECT_TRUE(env.declare("version", "Version").has_value());
  return env;
}

// The expressions of the block after the heading: separated by blank lines, or one a line where the
// lines do not hang together.
std::vector<std::string> recipes() {
  auto path = std::filesystem::path(__FILE__).parent_path() / "../../docs/cel.md";
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream all;
  all << in.rdbuf();
  std::string text = all.str();
  size_t begin = text.find("```\n", text.find("## Ten recipes")) + 4;
  std::istringstream block(text.substr(begin, text.find("```", begin) - begin));
  std::vector<std::string> out;
  std::string current, line;
  while (std::getline(block, line)) {
    if (line.empty() || line.starts_with("//")) continue;
    current += line + "\n";
    if (line.ends_with("&&")) continue;
    out.push_back(std::exchange(current, ""));
  }
  return out;
}

TEST(Recipes, compile_as_conditions) {
  Env env = documented_env();
  auto all = recipes();
  EXPECT_GE(all.size(), 10u);
  for (const std::string& text : all) {
    auto p = compile_condition(env, text);
    EXPECT_TRUE(p) << text << (p ? "" : p.error().message);
  }
}

TEST(Recipes, those_said_to_use_an_index_do) {
  Env env = documented_env();
  auto all = recipes();
  EXPECT_TRUE(compile(env, all[0])->dependencies().only_conditions);
  EXPECT_FALSE(compile(env, all[1])->dependencies().only_conditions);
}

}  // namespace
}  // namespace ctrlplane::cel
