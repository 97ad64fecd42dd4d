// Not tests: what they share. The name puts it into the test program.
#include "cli/testing.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "cli/verb.h"

namespace ctrlplane::cli {
namespace {

// Goes on only when it is told to.
class HandClock final : public Clock {
 public:
  Time wall() const override { return *parse_rfc3339("2026-01-01T00:05:00Z") + passed; }
  Duration boot() const override { return passed; }
  Duration passed = {};
};

// A pipe whose reader goes away after some lines, as a flush notices.
class LinesBuffer final : public std::stringbuf {
 public:
  explicit LinesBuffer(size_t lines) : lines_(lines ? lines : SIZE_MAX) {}

 protected:
  int sync() override {
    std::string all = str();
    return static_cast<size_t>(std::ranges::count(all, '\n')) >= lines_ ? -1 : 0;
  }

 private:
  size_t lines_;
};

}  // namespace

RunResult run_bare(std::vector<std::string> arguments, RunOptions options) {
  RunResult result;
  LinesBuffer buffer(options.lines);
  std::ostream out(&buffer);
  std::ostringstream err;
  std::istringstream in(options.input);
  HandClock clock;
  int code = -1;
  auto frame = std::make_shared<Frame>(
      Frame{Console{.in = in,
                    .out = out,
                    .err = err,
                    .in_is_terminal = options.terminal,
                    .out_is_terminal = options.terminal,
                    .err_is_terminal = options.terminal,
                    .width = options.width,
                    .colour = options.terminal,
                    .environment = [&](const char* name) { return options.environment[name]; },
                    .clock = clock,
                    .pause =
                        [&](Duration d) {
                          clock.passed = clock.passed + d;
                          options.on_pause();
                        }},
            code});
  CLI::App app("ctrlplane", "ctrlplane");
  add_verbs(app, frame);
  std::ranges::reverse(arguments);
  try {
    app.parse(arguments);
    result.code = code;
  } catch (const CLI::ParseError& e) {
    result.code = app.exit(e, out, err) ? kWrongUse : kDone;
  }
  result.out = buffer.str();
  result.err = err.str();
  return result;
}

RunResult run_at(const FakeServer& server, std::vector<std::string> arguments, RunOptions options) {
  options.environment.emplace("CTRLPLANE_URL", server.url());
  options.environment.emplace("CTRLPLANE_API_KEY", "0123456789abcdef.secret");
  return run_bare(std::move(arguments), std::move(options));
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::filesystem::create_directories(std::filesystem::path(file(name)).parent_path());
  std::ofstream(file(name), std::ios::binary) << text;
  return file(name);
}

}  // namespace ctrlplane::cli
