#include "cli/completion.h"

#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/testing.h"

namespace ctrlplane::cli {
namespace {

// What bash offers for a command line, one word a line.
std::string bash_offers(const std::string& script, const std::string& words) {
  TemporaryFolder folder;
  std::string file = folder.write("script", script);
  std::string test =
      folder.write("test", fmt::format("source {}\nCOMP_WORDS=({})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n"
                                       "_ctrlplane\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
                                       file, words));
  FILE* pipe = ::popen(fmt::format("bash {} 2>&1", test).c_str(), "r");
  std::string out;
  char piece[4096];
  while (size_t n = std::fread(piece, 1, sizeof piece, pipe)) out.append(piece, n);
  ::pclose(pipe);
  return out;
}

TEST(Completion, in_bash_offers_verbs_kinds_and_flags) {
  std::string script = run_bare({"completion", "bash"}).out;
  EXPECT_EQ(bash_offers(script, "ctrlplane ver"), "version\nversions\n");
  EXPECT_EQ(bash_offers(script, "ctrlplane version ''"), "create\nset-status\n");
  EXPECT_EQ(bash_offers(script, "ctrlplane get en"), "environments\n");
  EXPECT_EQ(bash_offers(script, "ctrlplane version create api --dry"), "--dry-run\n");
  EXPECT_EQ(bash_offers(script, "ctrlplane job logs -f --fo"), "--follow\n");
  EXPECT_EQ(bash_offers(script, "ctrlplane completion ''"), "bash\nzsh\nfish\n");
}

TEST(Completion, for_other_shells_knows_the_same) {
  std::string zsh = run_bare({"completion", "zsh"}).out;
  EXPECT_TRUE(zsh.starts_with("#compdef ctrlplane\n"));
  EXPECT_NE(zsh.find("    'version') next='create set-status '"), std::string::npos) << zsh;
  std::string fish = run_bare({"completion", "fish"}).out;
  EXPECT_NE(fish.find("= \"version\"' -f -a 'create'\n"), std::string::npos);
  EXPECT_NE(fish.find("= \"version create\"' -l 'dry-run'\n"), std::string::npos);
  EXPECT_EQ(run_bare({"completion", "csh"}).code, 2);
}

TEST(Completion, works_whatever_the_settings_are) {
  EXPECT_EQ(run_bare({"completion", "bash"}, {.environment = {{"CTRLPLANE_URL", "nonsense"}}}).code, 0);
}

}  // namespace
}  // namespace ctrlplane::cli
