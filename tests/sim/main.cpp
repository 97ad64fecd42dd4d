// sim: runs seeded worlds and reports what broke.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/core.h>

#include "base/log.h"
#include "sim/world.h"

namespace {

using namespace ctrlplane;

constexpr const char* kHelp =
    "sim [--seeds A..B] [--replay SEED] [--until-violation]\n"
    "  Runs simulated installations, one per seed, and checks the product's promises after every commit.\n"
    "  --seeds A..B       seeds to run (1..100)\n"
    "  --replay SEED      one seed, with every violation printed\n"
    "  --until-violation  stop at the first seed that breaks a promise\n";

struct Totals {
  uint64_t seeds = 0, failed = 0, commands = 0, commits = 0, starts = 0, least_commands = UINT64_MAX,
           least_faults = UINT64_MAX;
  sim::FaultCounts faults, judged, frozen, bracketed;
  std::map<int, uint64_t> violations;
};

uint64_t injected(const sim::FaultCounts& faults) {
  uint64_t n = 0;
  for (const auto& [kind, count] : faults) n += count;
  return n;
}

// Same seed, same world: decisions are a function of state and time (promise 7).
void check_repeatable(uint64_t seed, sim::Outcome& first) {
  sim::World again(seed);
  if (again.run().digest != first.digest)
    first.violations.push_back({7, "the same seed gave another history"});
}

void run_seed(uint64_t seed, bool verbose, Totals& totals) {
  sim::World world(seed);
  sim::Outcome out = world.run();
  if (seed % 20 == 0) check_repeatable(seed, out);
  if (out.faults.contains("MISSED WAKE-UPS"))
    out.violations.push_back({4, "a target was not woken (see the audit)"});
  ++totals.seeds;
  totals.commands += out.commands;
  totals.commits += out.commits;
  totals.starts += out.starts;
  totals.least_commands = std::min(totals.least_commands, out.commands);
  totals.least_faults = std::min(totals.least_faults, injected(out.faults));
  for (const auto& [kind, count] : out.faults) totals.faults[kind] += count;
  for (const auto& [kind, count] : out.judged) totals.judged[kind] += count;
  for (const auto& [kind, count] : out.frozen) totals.frozen[kind] += count;
  for (const auto& [kind, count] : out.bracketed) totals.bracketed[kind] += count;
  for (const sim::Violation& v : out.violations) ++totals.violations[v.promise];
  if (out.violations.empty()) return;
  ++totals.failed;
  fmt::print("seed {}: {} violations, the first: promise {}: {}\n  replay: ./dev sim --replay {}\n", seed,
             out.violations.size(), out.violations[0].promise, out.violations[0].what, seed);
  if (verbose)
    for (const sim::Violation& v : out.violations) fmt::print("  promise {}: {}\n", v.promise, v.what);
}

void print(const Totals& t) {
  fmt::print("seeds {}, commands {} (least in a seed {}), commits {}, starts at agents {}\n", t.seeds,
             t.commands, t.least_commands, t.commits, t.starts);
  auto frozen = [&](const char* what) { return t.frozen.contains(what) ? t.frozen.at(what) : 0; };
  fmt::print("hand-overs {}, while something was frozen {}, exempt {}; claims refused as frozen {}\n",
             frozen("handed over"), frozen("handed over while something was frozen"),
             frozen("  handed over, exempt by its version") + frozen("  handed over, exempt by a skip"),
             frozen("claims refused"));
  fmt::print("faults {} (least in a seed {}):\n", injected(t.faults), t.least_faults);
  for (const auto& [kind, count] : t.faults) fmt::print("  {:<34}{:>10}\n", kind, count);
  fmt::print("judged by the rules:\n");
  for (const auto& [what, count] : t.judged) fmt::print("  {:<34}{:>10}\n", what, count);
  fmt::print("under freezes:\n");
  for (const auto& [what, count] : t.frozen) fmt::print("  {:<46}{:>10}\n", what, count);
  fmt::print("in brackets and under limits:\n");
  for (const auto& [what, count] : t.bracketed) fmt::print("  {:<46}{:>10}\n", what, count);
  fmt::print("violations by promise (0: the rules):");
  for (int promise : {0, 1, 2, 3, 4, 5, 7}) {
    auto it = t.violations.find(promise);
    fmt::print("  {}: {}", promise, it == t.violations.end() ? 0 : it->second);
  }
  fmt::print("\n{} passed, {} failed\n", t.seeds - std::min(t.seeds, t.failed), t.failed);
}

// A check that looks at nothing finds nothing.
constexpr uint64_t kEnoughSeeds = 20;
const char* const kMustHappen[] = {
    "handed over while something was frozen",
    "  handed over, exempt by its version",
    "  handed over, exempt by a skip",
    "claims refused",
    "freezes acknowledged",
    "  jobs in flight listed",
    "freezes expired",
    "freezes extended",
    "freezes thawed",
    "jobs let go after a freeze",
    "jobs stopped",
};

// Brackets are in a third of the worlds.
constexpr uint64_t kEnoughForBrackets = 100;
const char* const kMustHappenInBrackets[] = {
    "groups opened",
    "  groups with hooks inferred",
    "  groups completed",
    "  groups stuck",
    "  groups failed",
    "  groups queued",
    "  members: redeploy",
    "  jobs of a pre_hook",
    "  jobs of a post_hook",
    "  jobs tried again",
    "  jobs going back",
    "slots granted",
    "  to a group",
    "  the last one",
    "slots freed",
    "  done by people: retry",
    "  done by people: skip_member",
    "  done by people: finish",
    "  done by people: abort",
    "  done by people: close_now",
    "  done by people: clear_quarantine",
};

template <size_t N>
void check_that_it_was_tried(const sim::FaultCounts& counts, const char* const (&must_happen)[N], Totals& t) {
  for (const char* what : must_happen)
    if (!counts.contains(what)) {
      fmt::print("nothing was {}: the worlds do not try it\n", what);
      ++t.failed;
    }
}

void check_that_all_was_tried(Totals& t) {
  if (t.seeds >= kEnoughSeeds) check_that_it_was_tried(t.frozen, kMustHappen, t);
  if (t.seeds >= kEnoughForBrackets) check_that_it_was_tried(t.bracketed, kMustHappenInBrackets, t);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t from = 1, to = 100;
  bool verbose = false, until_violation = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--seeds" && i + 1 < argc) {
      if (std::sscanf(argv[++i], "%lu..%lu", &from, &to) != 2 || from > to) {
        std::fprintf(stderr, "sim: --seeds takes A..B, e.g. 1..1000\n");
        return 2;
      }
    } else if (arg == "--replay" && i + 1 < argc) {
      from = to = std::strtoull(argv[++i], nullptr, 10);
      verbose = true;
    } else if (arg == "--until-violation") {
      until_violation = true;
    } else {
      std::fputs(kHelp, arg == "--help" ? stdout : stderr);
      return arg == "--help" ? 0 : 2;
    }
  }
  log::set_level(verbose ? log::Level::kError : log::Level::kOff);  // what is missed says what it was
  Totals totals;
  for (uint64_t seed = from; seed <= to; ++seed) {
    run_seed(seed, verbose, totals);
    if (seed % 100 == 0) std::fprintf(stderr, "  %lu of %lu seeds\r", seed - from + 1, to - from + 1);
    if (until_violation && totals.failed) break;
  }
  check_that_all_was_tried(totals);
  print(totals);
  return totals.failed ? 1 : 0;
}
