// How soon does a freeze hold, and what does it cost? A million release targets behind a real loop and a real
// store, under a load that starts jobs as fast as it can: versions are published as soon as nothing is left
// to decide, and agents claim jobs and report success as fast as they are answered. Meanwhile somebody
// freezes something, every few milliseconds: planned to answered, with the list of jobs in flight in the
// answer. Beside it, in the same run, one-row commits on another connection: what the disk allows at that
// moment.
//
// Aims: p50 within 3 one-row commits when nothing else happens, p99 within 3 times their p99 under load; the
// check within 200 ns a target, whatever freezes there are elsewhere, and one evaluation for each selector in
// scope; a freeze over a million targets writes a handful of rows; claims do not become slow when there are a
// hundred thousand held jobs.
#include <algorithm>
#include <cstring>

#include "bench/freeze_check.h"
#include "bench/freeze_world.h"

namespace ctrlplane::bench {
namespace {

// Often enough for a p99, and seldom enough to leave the load its way: nothing is added to a batch that
// somebody who stops something waits for.
constexpr Duration kEvery = milliseconds(25);
constexpr size_t kAgents = 16, kClaimsAtOnce = 64, kHandful = 8;

struct Sizes {
  size_t resources, deployments;
  size_t edited;  // deployments of the policy that is edited
  size_t held;    // deployments whose jobs are all held
  size_t in_flight;
  size_t claims;
  int seconds;  // of each kind of load, at least
  int rounds;   // of freezing the whole workspace under load
};
constexpr Sizes kFull{10'000, 100, 10, 10, 10'000, 50'000, 12, 20};
constexpr Sizes kQuick{1'000, 20, 2, 2, 200, 2'000, 2, 5};

std::string three(const Histogram& h) {
  return fmt::format("{} / {} / {}", ms(h.quantile(0.5)), ms(h.quantile(0.99)), ms(h.max()));
}
double ratio(Duration a, Duration b) { return static_cast<double>(a.us) / static_cast<double>(b.us); }
std::string number(uint64_t n) { return count(static_cast<double>(n)); }
std::string times(double x) { return fmt::format("{:.2f}", x); }

class FreezeBench {
 public:
  FreezeBench(FreezeWorld& world, OneRowCommits& neighbour, const Sizes& sizes)
      : world_(world), neighbour_(neighbour), sizes_(sizes) {}

  void run() {
    while_nothing_happens();
    one_freeze("nothing to do");
    hold_jobs();
    put_in_flight();
    under_load();
    print();
  }

 private:
  Engine& engine() { return world_.engine; }

  // ---- Latency -----------------------------------------------------------------------------------------

  struct Measured {
    Histogram created, one_row;
    double idle_ratio() const { return ratio(created.quantile(0.5), one_row.quantile(0.5)); }
    double load_ratio() const { return ratio(created.quantile(0.99), one_row.quantile(0.99)); }
  };

  // Freezes the bystander again and again while `work` runs, and thaws it afterwards.
  Measured freeze_during(const std::string& meanwhile, const std::function<void()>& work) {
    progress("creating freezes, meanwhile: {}", meanwhile);
    Measured m;
    std::vector<FreezeId> made;  // on the loop's thread
    std::atomic<int> open = 0;
    engine().reset_stats();
    const uint64_t handed_over = load_ ? load_->handed_over() : 0;
    Stopwatch watch;
    {
      Metronome freezes(kEvery, [&](Duration planned) {
        ++open;
        world_.freeze(of_bystander(), [&, planned](Reply reply) {
          made.push_back(FreezeId{must(std::move(reply)).id});
          m.created.add(clock_.boot() - planned);
          --open;
        });
      });
      std::this_thread::sleep_for(std::chrono::microseconds(kEvery.us / 2));  // not at the same instants
      const auto commits = commit_rows(m.one_row);
      work();
    }
    while (open > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    add_row(meanwhile, m, watch.seconds(), handed_over);
    thaw_all(made);
    return m;
  }

  // Of the neighbour, until what it returns is destroyed; counted like the freezes beside them.
  std::unique_ptr<Metronome> commit_rows(Histogram& into) {
    return std::make_unique<Metronome>(kEvery, [&](Duration planned) {
      neighbour_.commit();
      into.add(clock_.boot() - planned);
    });
  }

  void thaw_all(const std::vector<FreezeId>& freezes) {
    constexpr size_t kAtOnce = 100;
    std::atomic<size_t> open = 0;
    for (FreezeId id : freezes) {
      while (open >= kAtOnce) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++open;
      engine().submit(ThawFreeze{.id = id, .reason = "over", .rights = {.extend = true, .thaw = true}},
                      [&](Reply reply) {
                        must(std::move(reply));
                        --open;
                      });
    }
    while (open > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void add_row(const std::string& meanwhile, const Measured& m, double seconds, uint64_t handed_over) {
    const LoopStats s = engine().stats();
    latency_.row({meanwhile, number(m.created.count()), three(m.created), three(m.one_row),
                  times(m.idle_ratio()), times(m.load_ratio()),
                  three(s.wait[static_cast<size_t>(Lane::kStop)]), three(s.commit),
                  fmt::format("{} / {}", ms(s.slice.quantile(0.99)), ms(s.slice.max())),
                  count(static_cast<double>(s.rows) / seconds),
                  load_ ? count(static_cast<double>(load_->handed_over() - handed_over) / seconds) : "0"});
  }

  CreateFreeze of_bystander() const {
    return {.scope = FreezeScope::kDeployment, .entity = world_.bystander.uuid, .reason = "bench"};
  }
  static CreateFreeze of_workspace() { return {.reason = "everything stops"}; }

  void while_nothing_happens() {
    const Measured m = freeze_during("nothing else", [&] { sleep(3); });
    idle_ratio_ = m.idle_ratio();
  }

  void under_load() {
    JobLoad load(world_, kAgents, sizes_.held);
    load_ = &load;
    auto row = [&](const std::string& meanwhile, const std::function<void()>& work) {
      const Measured m = freeze_during(meanwhile, work);
      load_ratio_ = std::max(load_ratio_, m.load_ratio());
    };
    row("load", [&] { sleep(sizes_.seconds); });
    // One after the other: a single one is over before there are freezes enough for a p99.
    row(fmt::format("load, sets of {} resources", sizes_.resources), [&] {
      for (Stopwatch watch; watch.seconds() < sizes_.seconds;) {
        std::promise<void> done;
        world_.set_resources(sizes_.resources, [&](Reply reply) {
          must(std::move(reply));
          done.set_value();
        });
        done.get_future().get();
      }
    });
    row(fmt::format("load, policy of {} targets edited", number(targets(sizes_.edited))), [&] {
      const uint64_t before = decisions();
      world_.edit_policy(sizes_.edited);
      sleep(sizes_.seconds);
      wait_for_decisions(before + world_.fleet.targets());
    });
    load.publish(false);
    // What was held is out of date by the end.
    const FreezeId all = world_.freeze(of_workspace());
    for (size_t d = 0; d < sizes_.held; ++d) world_.publish(world_.fleet.deployments[d]);
    sleep(1);
    row(fmt::format("load, thaw of {} targets", number(targets(sizes_.deployments))), [&] {
      const uint64_t before = decisions();
      world_.thaw(all);
      load.publish(true);
      sleep(sizes_.seconds);
      wait_for_decisions(before + world_.fleet.targets());
    });
    freeze_everything(load);
    passed_through_ = load.handed_over_though_forbidden();
    load_ = nullptr;
  }

  // The whole workspace, in the midst of the load; after each answer no agent gets a job.
  void freeze_everything(JobLoad& load) {
    progress("freezing the whole workspace {} times under load", sizes_.rounds);
    Measured m;
    engine().reset_stats();
    const uint64_t before = load.handed_over();
    Stopwatch watch;
    const auto commits = commit_rows(m.one_row);
    for (int i = 0; i < sizes_.rounds; ++i) {
      const uint64_t handed_over = load.handed_over() + kAgents;
      while (load.handed_over() < handed_over) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const Duration planned = clock_.boot();
      std::promise<FreezeId> made;
      world_.freeze(of_workspace(), [&](Reply reply) {
        m.created.add(clock_.boot() - planned);
        load.forbid(true);
        load.publish(false);
        made.set_value(FreezeId{must(std::move(reply)).id});
      });
      const FreezeId id = made.get_future().get();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      load.forbid(false);
      world_.thaw(id);
      load.publish(true);
    }
    add_row(fmt::format("load, of the workspace, {} in flight", number(sizes_.in_flight)), m, watch.seconds(),
            before);
  }

  // ---- One freeze and its end --------------------------------------------------------------------------

  struct Spent {
    double seconds;
    uint64_t rows, decisions;
  };
  Spent until_idle(const std::function<void()>& what) {
    engine().wait_until_idle();
    engine().reset_stats();
    Stopwatch watch;
    what();
    engine().wait_until_idle();
    const LoopStats s = engine().stats();
    return {watch.seconds(), s.rows, s.decisions};
  }
  void cost_row(std::string what, const Spent& s) {
    costs_.row({std::move(what), number(s.rows), number(s.decisions), fmt::format("{:.3f}", s.seconds)});
  }

  void one_freeze(const std::string& held) {
    progress("freezing {} targets, {}", world_.fleet.targets(), held);
    FreezeId id;
    const Spent made = until_idle([&] { id = world_.freeze(of_workspace()); });
    cost_row(fmt::format("freeze of the workspace, {}", held), made);
    rows_of_one_ = std::max(rows_of_one_, made.rows + made.decisions);
    if (held_back_) claims_under_freeze();
    const Spent thawed = until_idle([&] { world_.thaw(id); });
    cost_row(fmt::format("its thaw, {}", held), thawed);
    progress("idle {:.2f} s after the thaw", thawed.seconds);
  }

  // ---- Claims ------------------------------------------------------------------------------------------

  void hold_jobs() {
    free_claims_ = claims_per_second("no jobs at all");
    const size_t jobs = targets(sizes_.held);
    progress("making {} jobs nobody claims", jobs);
    for (size_t d = 0; d < sizes_.held; ++d) world_.publish(world_.fleet.deployments[d]);
    engine().wait_until_idle();
    held_back_ = true;
    one_freeze(fmt::format("{} held jobs", number(jobs)));
    held_back_ = false;
  }

  void claims_under_freeze() {
    const std::string held = number(targets(sizes_.held));
    claims_per_second(fmt::format("{} held jobs, first looks", held), 1);
    held_claims_ = claims_per_second(fmt::format("{} held jobs", held));
    found_behind("all set aside");
    // Nothing to do with any of them, but it might have.
    const FreezeId other = world_.freeze({.scope = FreezeScope::kDeployment,
                                          .entity = world_.fleet.deployments.back().uuid,
                                          .reason = "elsewhere"});
    found_behind("another freeze was just made");
    world_.thaw(other);
  }

  // So many claims at a time, each of another agent, none of which gets anything.
  double claims_per_second(const std::string& what, size_t share = 0) {
    progress("claims: {}", what);
    const size_t most = share ? targets(sizes_.held) / 512 + 1 : sizes_.claims;
    std::atomic<size_t> asked = 0, answered = 0;
    std::promise<void> done;
    std::function<void()> next = [&] {
      const size_t n = asked++;
      if (n >= most) return;
      engine().submit(ClaimJob{.agent = world_.fleet.agent, .job = {}, .instance = fmt::format("idle-{}", n)},
                      [&](Reply reply) {
                        CHECK(!must(std::move(reply)).job, "a held job was handed over");
                        if (++answered == most) return done.set_value();
                        next();
                      });
    };
    engine().wait_until_idle();
    engine().reset_stats();
    Stopwatch watch;
    for (size_t i = 0; i < kClaimsAtOnce; ++i) next();
    done.get_future().get();
    const double rate = static_cast<double>(most) / watch.seconds();
    const LoopStats s = engine().stats();
    claims_.row({what, number(most), count(rate), "",
                 fmt::format("{} / {}", ms(s.slice.quantile(0.99)), ms(s.slice.max()))});
    return rate;
  }

  // One job that may go, younger than all that are held: how many claims does it take to get it?
  void found_behind(const std::string& after) {
    world_.publish(world_.bystander, true);
    engine().wait_until_idle();
    engine().reset_stats();
    Stopwatch watch;
    size_t claims = 0;
    Answer answer;
    for (const size_t most = targets(sizes_.held); !answer.job && claims < most; ++claims)
      answer = engine().call(ClaimJob{.agent = world_.fleet.agent, .job = {}, .instance = "finder"});
    const double seconds = watch.seconds();
    CHECK(answer.job, "the job that may go is not found");
    const LoopStats s = engine().stats();
    claims_.row({fmt::format("one that may go behind them, {}", after), number(claims),
                 count(static_cast<double>(claims) / seconds), fmt::format("{:.2f}", seconds * 1000),
                 fmt::format("{} / {}", ms(s.slice.quantile(0.99)), ms(s.slice.max()))});
    most_claims_ = std::max(most_claims_, claims);
    engine().call(ReportJob{.job = answer.job->id, .instance = "finder", .status = JobStatus::kSuccessful});
  }

  // ---- In flight ---------------------------------------------------------------------------------------

  // Jobs that go on for longer than this benchmark.
  void put_in_flight() {
    progress("handing over {} jobs that go on", sizes_.in_flight);
    std::atomic<size_t> left = sizes_.in_flight;
    std::promise<void> done;
    for (size_t i = 0; i < sizes_.in_flight; ++i) {
      const std::string instance = fmt::format("slow-{}", i);
      engine().submit(ClaimJob{.agent = world_.fleet.agent, .job = {}, .instance = instance},
                      [&](Reply reply) {
                        CHECK(must(std::move(reply)).job, "there are too few jobs");
                        if (--left == 0) done.set_value();
                      });
    }
    done.get_future().get();
    engine().wait_until_idle();
  }

  // ---- The report --------------------------------------------------------------------------------------

  void print() {
    fmt::print("\nCreating a freeze, in ms: p50 / p99 / max\n\n");
    latency_.print();
    fmt::print(
        "A freeze every {0} ms, from its planned time until it is answered with the jobs in flight under "
        "it;\n"
        "those of the workspace one after the other. one-row commit: every {0} ms and counted alike, on\n"
        "another connection to the same PostgreSQL; for SQLite, whose file has one owner, in a second file\n"
        "in the same folder with the same settings. queue: submitted to executed. commit: of the loop.\n\n",
        kEvery.us / 1000);
    costs_.print();
    fmt::print("Claims by {} agents at a time; what one may go: one after the other\n\n", kClaimsAtOnce);
    claims_.print();
    fmt::print("aim, p50 within 3 one-row commits when idle: {} ({:.2f})\n", met(idle_ratio_ <= 3),
               idle_ratio_);
    fmt::print("aim, p99 within 3 times that of one-row commits under load: {} ({:.2f})\n",
               met(load_ratio_ <= 3), load_ratio_);
    fmt::print("aim, no job handed over after the answer to a freeze: {} ({})\n", met(passed_through_ == 0),
               passed_through_);
    fmt::print("aim, a freeze of {} targets writes and decides at most {}: {} ({})\n",
               number(world_.fleet.targets()), kHandful, met(rows_of_one_ <= kHandful), rows_of_one_);
    fmt::print("aim, claims with held jobs at least half as fast as without jobs: {} ({:.2f})\n",
               met(held_claims_ * 2 >= free_claims_), held_claims_ / free_claims_);
    fmt::print("aim, the job behind them is found by the first claim: {} ({})\n", met(most_claims_ == 1),
               most_claims_);
  }

  static void sleep(int seconds) { std::this_thread::sleep_for(std::chrono::seconds(seconds)); }
  size_t targets(size_t deployments) const { return deployments * sizes_.resources; }
  uint64_t decisions() { return engine().stats().decisions; }
  // On a slow disk not to the last of them.
  void wait_for_decisions(uint64_t n) {
    const Stopwatch watch;
    while (decisions() < n && watch.seconds() < sizes_.seconds)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  FreezeWorld& world_;
  JobLoad* load_ = nullptr;
  OneRowCommits& neighbour_;
  const Sizes sizes_;
  SystemClock clock_;
  TablePrinter latency_{{"meanwhile", "freezes", "created", "one-row commit", "ratio p50", "ratio p99",
                         "queue", "commit", "turn p99 / max", "rows/s", "handed over/s"}};
  TablePrinter costs_{{"", "rows written", "targets looked at", "seconds until idle"}};
  TablePrinter claims_{{"claims", "number", "per second", "ms until found", "turn p99 / max"}};
  double idle_ratio_ = 0, load_ratio_ = 0, free_claims_ = 0, held_claims_ = 0;
  uint64_t passed_through_ = 0, rows_of_one_ = 0;
  size_t most_claims_ = 0;
  bool held_back_ = false;
};

int run(const Options& options, const std::string& url) {
  const Sizes& sizes = options.quick ? kQuick : kFull;
  const Kind kind = url.empty() && options.store.empty() ? Kind::kSqlite
                    : url.empty()                        ? kind_named(options.store)
                                                         : Kind::kPostgres;
  Databases databases;
  const std::string address = url.empty() ? databases.fresh(kind) : url;
  auto store = open_store(kind, address);
  must(store->migrate());
  Fleet fleet = make_fleet(sizes.resources, sizes.deployments);
  progress("{}: writing {} targets", name_of(kind), fleet.targets());
  seed_at_rest(*store, fleet);
  fleet.rows = {};
  progress("the check, in memory");
  const CheckAims check = measure_check(*store, fleet);
  OneRowCommits neighbour(kind, kind == Kind::kSqlite ? databases.fresh(kind) : address);
  progress("starting the loop");
  FreezeWorld world(*store, std::move(fleet));
  FreezeBench(world, neighbour, sizes).run();
  fmt::print("aim, the check within 200 ns a target without selectors: {} ({:.0f} ns)\n",
             met(check.slowest_ns <= 200), check.slowest_ns);
  fmt::print("aim, the check with 1,000 freezes elsewhere within 1.2 times that with one: {} ({:.2f})\n",
             met(check.growth <= 1.2), check.growth);
  fmt::print("aim, the check with selectors within 1.5 evaluations of each in scope: {} ({:.2f})\n",
             met(check.evaluations <= 1.5), check.evaluations);
  fmt::print("aim, publishing an exempt version within a turn of 2 ms: {} ({:.2f} ms)\n",
             met(check.exempt_turn_ms <= 2), check.exempt_turn_ms);
  return 0;
}

}  // namespace
}  // namespace ctrlplane::bench

// --postgres URL: an empty database somewhere, instead of one of our own.
int main(int argc, char** argv) {
  std::string url;
  std::vector<char*> rest(argv, argv + argc);
  for (size_t i = 1; i + 1 < rest.size(); ++i)
    if (std::strcmp(rest[i], "--postgres") == 0) {
      url = rest[i + 1];
      rest.erase(rest.begin() + static_cast<ptrdiff_t>(i), rest.begin() + static_cast<ptrdiff_t>(i) + 2);
      break;
    }
  const auto options = ctrlplane::bench::parse_options(static_cast<int>(rest.size()), rest.data());
  return ctrlplane::bench::run(options, url);
}
