#include "runtime/threaded.h"

#include <future>
#include <latch>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "runtime/replica.h"
#include "store/sqlite/sqlite_store.h"
#include "support/temp_dir.h"

namespace ctrlplane {
namespace {

// ---- Executor ------------------------------------------------------------------------------------------

// Runs `task` on the executor and waits for it.
void on(Executor& executor, std::move_only_function<void()> task) {
  std::promise<void> done;
  executor.post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

TEST(ThreadExecutor, runs_what_each_thread_posts_in_order_and_one_at_a_time) {
  SystemClock clock;
  ThreadExecutor executor(clock);
  constexpr int kThreads = 4, kEach = 500;
  std::vector<std::vector<int>> ran(kThreads);  // touched by tasks only: a second one at a time is a race
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i)
        executor.post([&ran, t, i] { ran[static_cast<size_t>(t)].push_back(i); });
    });
  for (std::thread& t : threads) t.join();
  on(executor, [&] {
    for (const auto& of_one : ran) {
      EXPECT_EQ(of_one.size(), static_cast<size_t>(kEach));
      EXPECT_TRUE(std::is_sorted(of_one.begin(), of_one.end()));
    }
  });
}

TEST(ThreadExecutor, runs_later_what_is_to_run_later_and_in_the_order_it_is_due) {
  SystemClock clock;
  ThreadExecutor executor(clock);
  std::promise<void> done;
  std::string log;
  Duration start = clock.boot();
  Duration ran{};
  executor.post_after(milliseconds(30), [&] {
    ran = clock.boot();
    log += "c";
    done.set_value();
  });
  executor.post_after(milliseconds(10), [&] { log += "b"; });
  executor.post_after({0}, [&] { log += "a"; });
  done.get_future().wait();
  EXPECT_EQ(log, "abc");
  EXPECT_GE(ran - start, milliseconds(30));
}

TEST(ThreadExecutor, going_away_runs_nothing_more_and_lets_go_of_what_it_held) {
  SystemClock clock;
  auto held = std::make_shared<int>();
  {
    ThreadExecutor executor(clock);
    executor.post_after(hours(1), [held] { FAIL(); });
    on(executor, [] {});
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ThreadExecutor, a_task_may_post_to_it_while_it_goes_away) {
  SystemClock clock;
  for (int i = 0; i < 50; ++i) {
    ThreadExecutor executor(clock);
    std::function<void()> again = [&] { executor.post(again); };
    executor.post(again);
  }
}

// ---- A whole process on a file -------------------------------------------------------------------------

class Loads final : public FeedListener {
 public:
  explicit Loads(std::ptrdiff_t n) : left(n) {}
  void loaded(WorkspaceLoop&) override { left.count_down(); }
  void committed(WorkspaceId, int64_t, Time, const Changes&) override {}
  std::latch left;
};

constexpr size_t kWorkspaces = 3;
WorkspaceId workspace(size_t i) { return {Uuid::from_halves(0xabc, i + 1)}; }

// Destroyed as `serve` must: the replica on its own thread, then the port, then the executor.
struct Server {
  explicit Server(const std::string& file) : loads(kWorkspaces) {
    store = store::SqliteStore::open(file).value();
    CHECK(store->migrate().has_value());
    executor = std::make_unique<ThreadExecutor>(clock);
    port = std::make_unique<ThreadStorePort>(*store, *executor);
    on(*executor, [this] {
      ReplicaConfig config{.id = {Uuid::from_halves(1, 1)}, .address = "here"};
      auto new_uuid = [n = uint64_t{0}]() mutable { return Uuid::from_halves(7, ++n); };
      replica = std::make_unique<Replica>(*executor, *port, config, new_uuid);
      replica->listen(loads);
      for (size_t i = 0; i < kWorkspaces; ++i) replica->want(workspace(i));
      replica->start();
    });
    loads.left.wait();
  }
  ~Server() {
    on(*executor, [this] { replica.reset(); });
    port.reset();
    executor.reset();
  }
  void submit(WorkspaceId w, Command command, ReplyFn done) {
    executor->post([this, w, command = std::move(command), done = std::move(done)]() mutable {
      if (replica) replica->submit(w, {std::move(command)}, std::move(done));
    });
  }
  Loads loads;
  SystemClock clock;
  std::unique_ptr<store::SqliteStore> store;
  std::unique_ptr<ThreadExecutor> executor;
  std::unique_ptr<ThreadStorePort> port;
  std::unique_ptr<Replica> replica;
};

std::set<std::string> names_in(const std::string& file, WorkspaceId w) {
  auto store = store::SqliteStore::open(file).value();
  std::set<std::string> names;
  auto owner = store->snapshot(w, [&](Entity&& e) {
    if (auto* s = std::get_if<System>(&e)) names.insert(s->name);
  });
  CHECK(owner.has_value());
  return names;
}

TEST(Threaded, everything_acknowledged_is_in_the_file) {
  test::TempDir folder;
  constexpr size_t kThreads = 4, kEach = 500;
  std::vector<std::set<std::string>> acknowledged(kWorkspaces);  // touched on the executor only
  {
    Server server(folder.file("ctrlplane.db"));
    std::latch left(kThreads * kEach);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (size_t i = 0; i < kEach; ++i) {
          size_t w = (t + i) % kWorkspaces;
          std::string name = std::to_string(t) + "-" + std::to_string(i);
          server.submit(workspace(w), UpsertSystem{.name = name}, [&, w, name](Reply r) {
            if (r) acknowledged[w].insert(name);
            left.count_down();
          });
        }
      });
    for (std::thread& t : threads) t.join();
    left.wait();
  }
  size_t total = 0;
  for (size_t w = 0; w < kWorkspaces; ++w) {
    EXPECT_EQ(names_in(folder.file("ctrlplane.db"), workspace(w)), acknowledged[w]);
    total += acknowledged[w].size();
  }
  EXPECT_EQ(total, kThreads * kEach) << "nothing was refused";
}

TEST(Threaded, each_commit_gets_its_own_outcome) {
  test::TempDir folder;
  auto store = store::SqliteStore::open(folder.file("ctrlplane.db")).value();
  ASSERT_TRUE(store->migrate());
  SystemClock clock;
  ThreadExecutor executor(clock);
  ThreadStorePort port(*store, executor);
  constexpr size_t kMany = 40;
  std::vector<store::CommitOutcome> outcomes(kMany);
  std::latch left(kMany);
  for (size_t i = 0; i < kMany; ++i) {
    store::Token token{Uuid::from_halves(9, i + 1)};
    ASSERT_TRUE(store->acquire(workspace(i), {}, {}, token));
    store::Commit commit{.workspace = workspace(i), .token = token, .seq = i % 3 == 0 ? 7 : 1};
    commit.changes = {Change::put(System{.id = {Uuid::from_halves(5, i)}, .name = "one"})};
    port.commit(std::move(commit), [&, i](store::CommitOutcome outcome) {
      outcomes[i] = outcome;
      left.count_down();
    });
  }
  left.wait();
  for (size_t i = 0; i < kMany; ++i)
    EXPECT_EQ(outcomes[i], i % 3 == 0 ? store::CommitOutcome::kFenced : store::CommitOutcome::kDurable) << i;
}

TEST(Threaded, going_away_in_the_midst_of_work_loses_nothing_acknowledged) {
  test::TempDir folder;
  for (int round = 0; round < 5; ++round) {
    std::string file = folder.file("ctrlplane.db") + std::to_string(round);
    std::vector<std::set<std::string>> acknowledged(kWorkspaces);
    {
      Server server(file);
      std::latch some(20);
      for (size_t i = 0; i < 600; ++i) {
        std::string name = std::to_string(i);
        server.submit(workspace(i % kWorkspaces), UpsertSystem{.name = name}, [&, i, name](Reply r) {
          if (r) acknowledged[i % kWorkspaces].insert(name);
          if (!some.try_wait()) some.count_down();
        });
      }
      some.wait();
    }
    for (size_t w = 0; w < kWorkspaces; ++w) {
      std::set<std::string> there = names_in(file, workspace(w));
      for (const std::string& name : acknowledged[w]) EXPECT_TRUE(there.contains(name)) << name;
    }
  }
}

TEST(Threaded, drain_answers_everything_that_was_accepted) {
  test::TempDir folder;
  Server server(folder.file("ctrlplane.db"));
  size_t answered = 0;
  std::promise<size_t> drained;
  on(*server.executor, [&] {
    for (size_t i = 0; i < 300; ++i)
      server.replica->submit(workspace(i % kWorkspaces), {UpsertSystem{.name = std::to_string(i)}},
                             [&](Reply r) { answered += r.has_value(); });
    server.replica->drain([&] { drained.set_value(answered); });
  });
  EXPECT_EQ(drained.get_future().get(), 300u);
}

}  // namespace
}  // namespace ctrlplane
