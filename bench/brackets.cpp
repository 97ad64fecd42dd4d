// What do brackets and slots cost? Nodes with five members each, of which three have a new version: a group
// on each node, so many nodes at a time. Agents on virtual time claim each job, say that they have begun, and
// that they have ended, after as long as chance has it: three events a job, each with all it causes.
//
// First the engine alone, in memory, and beside it the same jobs without any rule. Then the runtime with a
// store of its own; and beside it a bare loop that commits the very same rows in the same batches. Each in a
// process that has done nothing else.
//
// Aims: within twice the bare loop, 40 us of the engine an event, linear in the nodes. Times do not make it
// fail. It does fail if a node was not drained exactly once, or if more were out at a time than the limit
// has it.
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "bench/bracket_runners.h"

namespace ctrlplane::bench {
namespace {

constexpr WorkspaceId kWorkspace{Uuid{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}};
constexpr double kUs = 1e6;

// ---- In a process of its own ---------------------------------------------------------------------------

std::string of_stage(std::string_view what, size_t stage) { return fmt::format("{}_{}", what, stage); }

void tell(const Tally& t, const Runner& runner) {
  figure("jobs", static_cast<double>(t.jobs));
  figure("drains", static_cast<double>(t.drains));
  figure("events", static_cast<double>(t.events()));
  figure("most_holders", static_cast<double>(t.most_holders));
  figure("most_out", static_cast<double>(t.most_out));
  for (size_t s = 0; s < kStages; ++s) {
    figure(of_stage("wall", s), runner.spent[s].wall);
    figure(of_stage("cpu", s), runner.spent[s].cpu);
    figure(of_stage("resident", s), static_cast<double>(runner.spent[s].resident));
  }
}

void run_engine(const Sizes& sizes) {
  figure("resident_before", static_cast<double>(memory().resident));
  EngineRunner runner;
  upgrade(runner, sizes);
  tell(runner.crew.tally, runner);
  figure("rows", static_cast<double>(runner.rows));
  figure("units", static_cast<double>(runner.units));
  for (size_t a = 0; a < kActs; ++a) {
    figure(of_stage("command", a), runner.costs[a].command);
    figure(of_stage("caused", a), runner.costs[a].caused);
    figure(of_stage("acts", a), static_cast<double>(runner.crew.tally.acts[a]));
  }
}

void run_store(const Sizes& sizes) {
  Databases databases;
  std::vector<store::Commit> commits;
  std::array<size_t, kStages> first{};
  {
    auto store = open_store(Kind::kSqlite, databases.fresh(Kind::kSqlite));
    StoreRunner runner(*store, kWorkspace);
    upgrade(runner, sizes);
    tell(runner.crew.tally, runner);
    figure("turn_p99_us", static_cast<double>(runner.stats().slice.quantile(0.99).us));
    figure("turn_max_us", static_cast<double>(runner.stats().slice.max().us));
    commits = std::move(runner.commits);
    first = runner.first;
  }
  for (size_t s = 0; s < kStages; ++s) {
    const size_t end = s + 1 < kStages ? first[s + 1] : commits.size();
    size_t rows = 0;
    for (size_t i = first[s]; i < end; ++i) rows += commits[i].changes.size();
    figure(of_stage("rows", s), static_cast<double>(rows));
    figure(of_stage("commits", s), static_cast<double>(end - first[s]));
  }
  progress("{} nodes: the same rows, bare", sizes.nodes);
  auto store = open_store(Kind::kSqlite, databases.fresh(Kind::kSqlite));
  const auto bare = commit_bare(*store, kWorkspace, std::move(commits), first);
  for (size_t s = 0; s < kStages; ++s) figure(of_stage("bare", s), bare[s]);
}

// ---- The report ----------------------------------------------------------------------------------------

struct Measured {
  Sizes sizes;
  Figures engine, store;  // store is empty if there was none
};

double at(const Figures& f, std::string_view what, Stage s) {
  return f.at(of_stage(what, static_cast<size_t>(s)));
}
double per_event(const Measured& m) {
  return at(m.engine, "cpu", Stage::kUpgrade) * kUs / m.engine.at("events");
}
// From the first new version to the end of the last job.
double in_all(const Figures& f, std::string_view what) {
  return at(f, what, Stage::kCollect) + at(f, what, Stage::kLock) + at(f, what, Stage::kUpgrade);
}
std::string two(double x) { return fmt::format("{:.2f}", x); }

// What must be so whatever the times are; says what is not.
bool is_right(const Sizes& sizes, const Figures& f, std::string_view where) {
  bool right = true;
  auto demand = [&](bool so, const std::string& what) {
    if (!so) fmt::print("WRONG, {}, {} nodes: {}\n", where, sizes.nodes, what);
    right = right && so;
  };
  const auto nodes = static_cast<double>(sizes.nodes), slots = static_cast<double>(sizes.slots());
  demand(f.at("drains") == nodes, fmt::format("{} drains", f.at("drains")));
  demand(f.at("jobs") == nodes * kMembers, fmt::format("{} jobs", f.at("jobs")));
  demand(f.at("most_holders") <= slots, fmt::format("{} held slots of {}", f.at("most_holders"), slots));
  demand(f.at("most_out") <= slots, fmt::format("{} nodes were out, of {}", f.at("most_out"), slots));
  return right;
}

void print_counts(const std::vector<Measured>& all) {
  TablePrinter table({"counts", "nodes", "jobs", "drains", "events", "slots", "most holders", "most out"});
  auto row = [&](std::string_view where, const Sizes& sizes, const Figures& f) {
    auto n = [&](std::string_view name) { return count(f.at(std::string(name))); };
    table.row({std::string(where), count(static_cast<double>(sizes.nodes)), n("jobs"), n("drains"),
               n("events"), count(static_cast<double>(sizes.slots())), n("most_holders"), n("most_out")});
  };
  for (const Measured& m : all) {
    row("engine alone", m.sizes, m.engine);
    if (!m.store.empty()) row("with a store", m.sizes, m.store);
  }
  fmt::print("\n");
  table.print();
}

void print_engine(const std::vector<Measured>& all) {
  TablePrinter table({"engine alone, s", "nodes", "first, no rules", "policy", "collect", "lock", "upgrade",
                      "us/event", "of it, no rules", "rows/event", "units/event"});
  TablePrinter acts({"us an event: command + caused", "nodes", "claim", "in_progress", "successful"});
  TablePrinter space({"bytes a node", "nodes", "at rest", "groups collecting", "locked", "at the end"});
  for (const Measured& m : all) {
    const Figures& f = m.engine;
    const double events = f.at("events"), nodes = static_cast<double>(m.sizes.nodes);
    const std::string n = count(nodes);
    table.row({"", n, two(at(f, "cpu", Stage::kFirst)), two(at(f, "cpu", Stage::kPolicy)),
               two(at(f, "cpu", Stage::kCollect)), two(at(f, "cpu", Stage::kLock)),
               two(at(f, "cpu", Stage::kUpgrade)), two(per_event(m)),
               two(at(f, "cpu", Stage::kFirst) * kUs / events), two(f.at("rows") / events),
               two(f.at("units") / events)});
    std::vector<std::string> cells{"", n};
    for (size_t a = 0; a < kActs; ++a) {
      auto us = [&](std::string_view what) {
        return f.at(of_stage(what, a)) * kUs / f.at(of_stage("acts", a));
      };
      cells.push_back(fmt::format("{:.2f} + {:.2f}", us("command"), us("caused")));
    }
    acts.row(std::move(cells));
    auto bytes = [&](Stage s) { return count((at(f, "resident", s) - f.at("resident_before")) / nodes); };
    space.row(
        {"", n, bytes(Stage::kPolicy), bytes(Stage::kCollect), bytes(Stage::kLock), bytes(Stage::kUpgrade)});
  }
  table.print();
  acts.print();
  space.print();
  fmt::print(
      "Seconds and us/event: of the processor, with the agents' own bookkeeping in it. no rules: the first\n"
      "versions of the five, the same number of jobs, before there is a policy. us an event by kind: by the\n"
      "wall's clock, with what each causes. units: targets and groups that were looked at. bytes: "
      "resident.\n\n");
}

void print_store(const std::vector<Measured>& all) {
  TablePrinter table(
      {"with a store, s", "nodes", "", "wall", "bare loop", "ratio", "rows", "commits", "rows/event"});
  for (const Measured& m : all) {
    if (m.store.empty()) continue;
    const Figures& f = m.store;
    const std::string n = count(static_cast<double>(m.sizes.nodes));
    auto row = [&](std::string_view what, double wall, double bare, double rows, double commits) {
      table.row({"SQLite", n, std::string(what), two(wall), two(bare), bare > 0 ? two(wall / bare) : "",
                 count(rows), count(commits), two(rows / f.at("events"))});
    };
    for (Stage s : {Stage::kFirst, Stage::kCollect, Stage::kLock, Stage::kUpgrade})
      row(name_of(s), at(f, "wall", s), at(f, "bare", s), at(f, "rows", s), at(f, "commits", s));
    row("new versions to the end", in_all(f, "wall"), in_all(f, "bare"), in_all(f, "rows"),
        in_all(f, "commits"));
  }
  table.print();
  for (const Measured& m : all)
    if (!m.store.empty())
      fmt::print("turns of the loop in the upgrade of {} nodes: p99 {:.2f} ms, longest {:.2f} ms\n",
                 m.sizes.nodes, m.store.at("turn_p99_us") / 1000, m.store.at("turn_max_us") / 1000);
}

void print_aims(const std::vector<Measured>& all) {
  for (const Measured& m : all) {
    fmt::print("aim, {} nodes: 40 us of the engine an event: {} ({:.1f})\n", m.sizes.nodes,
               met(per_event(m) <= 40), per_event(m));
    if (m.store.empty()) continue;
    const double ratio = in_all(m.store, "wall") / in_all(m.store, "bare");
    fmt::print("aim, {} nodes: within twice the bare loop: {} ({:.2f})\n", m.sizes.nodes, met(ratio <= 2),
               ratio);
  }
  if (all.size() < 2) return;
  const Measured &few = all.front(), &many = all.back();
  const double more = static_cast<double>(many.sizes.nodes) / static_cast<double>(few.sizes.nodes);
  const double engine = in_all(many.engine, "cpu") / in_all(few.engine, "cpu") / more;
  fmt::print("aim, linear: a node of {} costs the engine at most 1.25 times one of {}: {} ({:.2f})\n",
             many.sizes.nodes, few.sizes.nodes, met(engine <= 1.25), engine);
  if (!many.store.empty())
    fmt::print("with a store {:.2f} times, bare {:.2f} times\n",
               in_all(many.store, "wall") / in_all(few.store, "wall") / more,
               in_all(many.store, "bare") / in_all(few.store, "bare") / more);
}

// ---- The program ---------------------------------------------------------------------------------------

[[noreturn]] void usage() {
  fmt::print(stderr,
             "usage: [--nodes N] [--limit PERCENT] [--store sqlite|none]\n"
             "  --nodes N   only so many; else 1,000 and 10,000\n"
             "  --limit P   percent of the nodes that may be out at a time (5)\n"
             "  --store     none: the engine alone (sqlite: that and a store)\n");
  std::exit(2);
}

int64_t number(const char* text, int64_t most) {
  char* end = nullptr;
  const int64_t n = std::strtoll(text, &end, 10);
  if (end == text || *end || n < 1 || n > most) usage();
  return n;
}

int run(const std::vector<size_t>& nodes, int64_t percent, bool with_store) {
  std::vector<Measured> all;
  bool right = true;
  for (size_t n : nodes) {
    Measured m{.sizes = {n, percent}, .engine = {}, .store = {}};
    m.engine = run_child({"engine", std::to_string(n), std::to_string(percent)});
    if (with_store) m.store = run_child({"store", std::to_string(n), std::to_string(percent)});
    all.push_back(std::move(m));
  }
  print_counts(all);
  print_engine(all);
  if (with_store) print_store(all);
  print_aims(all);
  for (const Measured& m : all) {
    right = is_right(m.sizes, m.engine, "engine alone") && right;
    if (with_store) right = is_right(m.sizes, m.store, "with a store") && right;
  }
  return right ? 0 : 1;
}

int run_as_child(char** args) {
  const Sizes sizes{static_cast<size_t>(number(args[1], INT64_MAX)), number(args[2], 100)};
  std::strcmp(args[0], "engine") == 0 ? run_engine(sizes) : run_store(sizes);
  return 0;
}

int main(int argc, char** argv) {
  log::set_level(log::Level::kError);
  if (argc == 5 && std::strcmp(argv[1], "--child") == 0) return run_as_child(argv + 2);
  std::vector<size_t> nodes{1'000, 10'000};
  int64_t percent = 5;
  bool with_store = true;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) usage();
    const std::string_view option = argv[i], value = argv[i + 1];
    if (option == "--nodes")
      nodes = {static_cast<size_t>(number(argv[i + 1], 1'000'000))};
    else if (option == "--limit")
      percent = number(argv[i + 1], 100);
    else if (option == "--store" && (value == "sqlite" || value == "none"))
      with_store = value == "sqlite";
    else
      usage();
  }
  return run(nodes, percent, with_store);
}

}  // namespace
}  // namespace ctrlplane::bench

int main(int argc, char** argv) { return ctrlplane::bench::main(argc, argv); }
