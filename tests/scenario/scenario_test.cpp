// Runs every scenario file on every store, as one test each: Scenario.<file>/<store>. With `--update` it
// runs them on the simulated store and writes what the steps print back into the files.
#include <cstdio>

#include <gtest/gtest.h>

#include "base/log.h"
#include "final_checks.h"
#include "script.h"
#include "verbs.h"

namespace ctrlplane::scenario {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += "  " + line + "\n";
  return out;
}

// What each step printed. The first step that fails ends the run: `failure` says where and why.
struct Printout {
  std::vector<std::vector<std::string>> printed;
  std::string failure;
};

Printout run_script(const Script& script, const std::string& store, bool compare) {
  Printout out;
  World world(store);
  std::string where;
  auto failed = [&](const std::string& why) {
    out.failure = where + why;
    return out;
  };
  for (const Step& step : script.steps()) {
    where = fmt::format("{}:{}: {}\n", script.path(), step.line, step.text);
    Output output = run_step(world, step.text);
    if (!output) return failed(fmt::format("{}: {}", to_string(output.error().code), output.error().message));
    out.printed.push_back(split_lines(*output));
    if (!compare || !step.wants_block() || out.printed.back() == step.block) continue;
    return failed(fmt::format("expected:\n{}printed:\n{}", joined(step.block), joined(out.printed.back())));
  }
  where = script.path() + ": at the end: ";
  if (std::string broken = final_checks(world); !broken.empty()) return failed(broken);
  return out;
}

class ScenarioTest : public testing::Test {
 public:
  ScenarioTest(std::string path, std::string store) : path_(std::move(path)), store_(std::move(store)) {}
  void TestBody() override {
    Script script = Script::read(path_);
    EXPECT_FALSE(script.claim().empty()) << path_ << ": the first comment says what is true";
    Printout result = run_script(script, store_, true);
    if (!result.failure.empty()) FAIL() << result.failure;
  }

 private:
  std::string path_, store_;
};

void register_all() {
  for (const std::string& path : scripts_below(SCENARIO_FOLDER))
    for (const std::string store : {"sim", "sqlite", "postgres"}) {
      std::string name = Script::read(path).name() + "/" + store;
      testing::RegisterTest("Scenario", name.c_str(), nullptr, nullptr, path.c_str(), 1,
                            [path, store]() -> testing::Test* { return new ScenarioTest(path, store); });
    }
}

int update_all(const std::string& only) {
  int failures = 0;
  for (const std::string& path : scripts_below(SCENARIO_FOLDER)) {
    Script script = Script::read(path);
    if (script.name().find(only) == std::string::npos) continue;
    Printout result = run_script(script, "sim", false);
    if (!result.failure.empty()) std::fprintf(stderr, "%s\n", result.failure.c_str());
    if (result.printed.size() == script.steps().size()) script.rewrite(result.printed);
    failures += !result.failure.empty();
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ctrlplane::scenario

// scenario_test [gtest options] | --update [part of a name]
int main(int argc, char** argv) {
  ctrlplane::log::set_level(ctrlplane::log::Level::kError);
  if (argc > 1 && std::string_view(argv[1]) == "--update")
    return ctrlplane::scenario::update_all(argc > 2 ? argv[2] : "");
  ctrlplane::scenario::register_all();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
