// One version published over N release targets: how fast do its jobs become durable, and what does a job
// cost? Beside it, in the same process and right after, the same rows in commits of the same sizes without
// any engine: what the disk and the database alone would allow.
//
// Aim: at least half of the bare loop, and time linear in targets.
#include "bench/databases.h"
#include "bench/fleet.h"
#include "bench/harness.h"
#include "engine/execute.h"
#include "engine/reconcile.h"

namespace ctrlplane::bench {
namespace {

CreateVersion version_of(const Fleet& fleet) {
  CreateVersion c{.deployment = fleet.deployments.front(), .tag = "v2.0.0", .name = "v2.0.0"};
  c.config = Json::trusted(R"({"image":"registry.example.test/app:v2.0.0"})");
  return c;
}

// ---- With the engine -----------------------------------------------------------------------------------

std::vector<size_t> run_engine(Kind kind, const std::string& address, const Fleet& fleet) {
  auto store = open_store(kind, address);
  const int64_t memory_before = memory().resident;
  const size_t targets = fleet.targets();
  Engine engine(*store, fleet.workspace);
  engine.start(fleet.token);
  engine.wait_until_idle();
  figure("memory_idle", static_cast<double>(memory().resident - memory_before));

  engine.counter.reset();
  engine.reset_stats();
  const int64_t written = written_bytes(kind, address), occupied = occupied_bytes(kind, address);
  Stopwatch watch;
  engine.call(version_of(fleet));
  engine.counter.wait_for_jobs(targets);
  figure("jobs_s", watch.seconds());
  engine.wait_until_idle();
  figure("decided_s", watch.seconds());
  figure("written", static_cast<double>(written_bytes(kind, address) - written));
  figure("occupied", static_cast<double>(occupied_bytes(kind, address) - occupied));
  figure("memory_busy", static_cast<double>(memory().resident - memory_before));

  const LoopStats stats = engine.stats();
  figure("decisions", static_cast<double>(stats.decisions));
  figure("commits", static_cast<double>(stats.commits));
  figure("rows", static_cast<double>(stats.rows));
  figure("commit_p99_us", static_cast<double>(stats.commit.quantile(0.99).us));
  return engine.counter.commit_sizes();
}

// ---- Without -------------------------------------------------------------------------------------------

// The rows of the fan-out, decided in memory without a store or a loop around it.
Changes decide_alone(store::Store& store, const Fleet& fleet) {
  Loaded loaded = must(load_state(store, fleet.workspace, std::nullopt));
  State& state = *loaded.state;
  Changes changes;
  uint64_t nonce = 0;
  // Ids begin with the time, and where a row goes in its table follows from that: the clock goes on about
  // as it did for the engine.
  auto begin = [&] {
    const Time now = fleet.created_at + hours(1) + microseconds(static_cast<int64_t>(++nonce) * 50);
    return Tx(state, now, Duration{}, IdSource(now, mix64(nonce)), changes);
  };
  auto rest = [&] {
    size_t units = 0;
    for (; has_work(state); ++units) {
      Tx tx = begin();
      work(tx);
    }
    return units;
  };
  rest();
  CHECK(changes.empty(), "the fleet was not at rest");
  changes.reserve(fleet.targets() * 5);
  Stopwatch watch;
  Tx tx = begin();
  must(execute(tx, Request{version_of(fleet)}));
  const size_t units = rest();
  figure("alone_decisions", static_cast<double>(units));
  figure("alone_s", watch.seconds());
  return changes;
}

// Owns the workspace and commits `changes` in pieces of these sizes, one after the other.
double commit_bare(store::Store& store, const Fleet& fleet, const Changes& changes,
                   const std::vector<size_t>& sizes) {
  store::Token token{Uuid::from_halves(7, 7)};
  store::Owner owner = must(store.acquire(fleet.workspace, {}, fleet.token, token));
  std::vector<store::Commit> commits;
  size_t at = 0;
  for (size_t size : sizes) {
    store::Commit c{.workspace = fleet.workspace, .token = token, .now = fleet.created_at};
    c.seq = owner.seq + 1 + static_cast<int64_t>(commits.size());
    const size_t to = std::min(at + size, changes.size());
    c.changes.assign(changes.begin() + static_cast<ptrdiff_t>(at),
                     changes.begin() + static_cast<ptrdiff_t>(to));
    at = to;
    commits.push_back(std::move(c));
  }
  CHECK(at == changes.size(), "the engine wrote other rows than the bare loop");
  Stopwatch watch;
  for (const store::Commit& c : commits)
    CHECK(store.commit({&c, 1}).front() == store::CommitOutcome::kDurable, "bare commit");
  return watch.seconds();
}

int child(const std::vector<std::string>& args) {
  const Kind kind = kind_named(args[0]);
  const std::string &with = args[1], &bare = args[2], &bulk = args[3];
  Fleet fleet = make_fleet(std::stoul(args[4]), 1);
  fleet.rows = {};  // they are in the databases; here they would count as memory
  std::vector<size_t> sizes = run_engine(kind, with, fleet);
  {
    auto store = open_store(kind, bare);
    Changes changes = decide_alone(*store, fleet);
    figure("bare_s", commit_bare(*store, fleet, changes, sizes));
    if (kind == Kind::kSqlite)
      figure("bulk_s", commit_bare(*open_store(kind, bulk), fleet, changes, {changes.size()}));
  }
  if (kind == Kind::kPostgres)
    figure("bulk_s", copy_tables(bare, bulk, {"release", "release_target", "job", "context_part"}));
  return 0;
}

int run(const Options& options) {
  const bool quick = options.quick;
  const std::vector<size_t> sizes =
      quick ? std::vector<size_t>{100, 1'000} : std::vector<size_t>{1'000, 10'000, 100'000};
  TablePrinter speed({"store", "targets", "seconds", "jobs/s", "bare jobs/s", "ratio", "bulk jobs/s",
                      "decisions/s", "engine alone/s", "us/target"});
  TablePrinter cost({"store", "targets", "rows/job", "disk bytes/job", "written bytes/job", "commits",
                     "rows/commit", "commit p99 ms", "memory/target", "with its job"});
  double worst = 1e9;
  for (Kind kind : kinds(options.store)) {
    for (size_t targets : sizes) {
      progress("{}: {} targets", name_of(kind), targets);
      // Each size has its own server and folder: what one run leaves to the disk must not slow the next.
      Databases databases;
      Fleet fleet = make_fleet(targets, 1);
      std::vector<std::string> args = {name_of(kind)};
      for (int i = 0; i < 3; ++i) {
        args.push_back(databases.fresh(kind));
        auto store = open_store(kind, args.back());
        Seeder(*store, fleet).write(fleet.rows);
      }
      args.push_back(std::to_string(targets));
      Figures f = run_child(args);
      const auto n = static_cast<double>(targets);
      const double ratio = f["bare_s"] / f["jobs_s"];
      worst = std::min(worst, ratio);
      speed.row({name_of(kind), count(n), fmt::format("{:.3f}", f["jobs_s"]), count(n / f["jobs_s"]),
                 count(n / f["bare_s"]), fmt::format("{:.2f}", ratio), count(n / f["bulk_s"]),
                 count(f["decisions"] / f["decided_s"]), count(f["alone_decisions"] / f["alone_s"]),
                 fmt::format("{:.1f}", f["jobs_s"] / n * 1e6)});
      cost.row({name_of(kind), count(n), fmt::format("{:.2f}", f["rows"] / n), count(f["occupied"] / n),
                count(f["written"] / n), count(f["commits"]), count(f["rows"] / f["commits"]),
                fmt::format("{:.1f}", f["commit_p99_us"] / 1000), count(f["memory_idle"] / n),
                count(f["memory_busy"] / n)});
    }
  }
  fmt::print("\nOne version over N release targets, until its last job is durable\n\n");
  speed.print();
  fmt::print(
      "bare: the same rows, statements and commit sizes without the engine, in the same process.\n"
      "bulk: all rows in one transaction (SQLite) or by COPY (PostgreSQL). engine alone: no store, no "
      "loop.\n\n");
  cost.print();
  fmt::print(
      "disk: growth of the database (SQLite with its log, so small runs show the log). written: bytes sent\n"
      "to the disk (SQLite, checkpoints included) or to the server's log. memory: growth of the process\n"
      "since the store was opened, after loading and after the fan-out, in bytes.\n\n");
  fmt::print("aim, at least half of the bare loop: {} (lowest ratio {:.2f})\n", met(worst >= 0.5), worst);
  return 0;
}

}  // namespace
}  // namespace ctrlplane::bench

int main(int argc, char** argv) {
  auto options = ctrlplane::bench::parse_options(argc, argv);
  if (!options.child.empty()) return ctrlplane::bench::child(options.child);
  return ctrlplane::bench::run(options);
}
