// What only a real server can show: commits stalled in the middle, restarts, settings.
#include <libpq-fe.h>

#include <atomic>
#include <thread>

#include "base/check.h"
#include "base/log.h"
#include "store/postgres/postgres_store.h"
#include "stores_under_test.h"
#include "support/temp_postgres.h"

namespace ctrlplane::store::test {
namespace {

using ctrlplane::test::TempPostgres;

// A session beside the stores.
class Session {
 public:
  explicit Session(const std::string& conninfo) : conn_(PQconnectdb(conninfo.c_str())) {}
  ~Session() { PQfinish(conn_); }
  std::string run(const std::string& sql) {
    PGresult* r = PQexec(conn_, sql.c_str());
    const ExecStatusType status = PQresultStatus(r);
    CHECK(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, PQerrorMessage(conn_));
    std::string value = PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "";
    PQclear(r);
    return value;
  }

 private:
  PGconn* conn_;
};

class PostgresStoreTest : public testing::Test {
 protected:
  PostgresStoreTest() { log::set_level(log::Level::kOff); }
  std::unique_ptr<PostgresStore> open(const PostgresOptions& options = {}) {
    auto store = PostgresStore::open(conninfo_, options);
    CHECK(store, store ? "" : store.error().message);
    return std::move(*store);
  }
  // Sessions of this database that wait for a lock.
  int waiting(Session& s) {
    return std::stoi(
        s.run("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
              "AND wait_event_type = 'Lock'"));
  }

  // Until so many wait, or `finished`: a store that does not wait where it should must fail, not hang.
  void until_waiting(Session& s, int sessions, const std::atomic<bool>& finished) {
    while (!finished && waiting(s) < sessions) std::this_thread::yield();
  }

  TempPostgres& server_ = TempPostgres::shared();
  std::string conninfo_ = server_.fresh_database();
  Random random_{1};
};

// The owner's commit is past its fence and stalls on a row that another session holds. A challenger
// acquires meanwhile. Either the challenger sees the commit, or the commit never happens.
TEST_F(PostgresStoreTest, a_commit_stalled_in_the_middle_is_seen_by_the_challenger_or_fails) {
  auto owner_store = open(), challenger_store = open();
  Held held = acquire_new(*owner_store, random_);
  Resource contested{.id = random_.id<ResourceId>(), .identifier = "contested"};
  commit_now(*owner_store, held, {Change::put(contested)});

  Session blocker(conninfo_), watcher(conninfo_);
  blocker.run("BEGIN");
  blocker.run("SELECT 1 FROM resource FOR UPDATE");

  contested.name = "changed by the stalled commit";
  const Commit stalled = held.next(
      {Change::put(contested), Change::put(Resource{.id = random_.id<ResourceId>(), .identifier = "new"})});
  CommitOutcome outcome{};
  std::atomic<bool> answered = false;
  std::thread owner([&] {
    outcome = commit_one(*owner_store, stalled);
    answered = true;
  });
  until_waiting(watcher, 1, answered);

  Held next{.id = held.id, .token = random_.id<Token>()};
  std::atomic<bool> finished = false;
  std::vector<Entity> loaded;
  Result<Owner> acquired;
  const ReplicaId challenger_id = random_.id<ReplicaId>();
  std::thread challenger([&] {
    acquired = challenger_store->acquire(held.id, challenger_id, held.token, next.token);
    loaded = load_rows(*challenger_store, next);
    finished = true;
  });
  until_waiting(watcher, 2, finished);
  blocker.run("COMMIT");
  owner.join();
  challenger.join();

  ASSERT_TRUE(acquired) << acquired.error().message;
  EXPECT_EQ(acquired->epoch, 2);
  EXPECT_EQ(acquired->seq, outcome == CommitOutcome::kDurable ? 2 : 1);
  EXPECT_EQ(loaded.size(), outcome == CommitOutcome::kDurable ? 2u : 1u);
  EXPECT_EQ(texts_of(snapshot_rows(*challenger_store, held.id)), texts_of(loaded))
      << "something landed later";
}

// The other order: the challenger holds the owner row when the commit's fence arrives.
TEST_F(PostgresStoreTest, a_commit_that_waits_for_an_acquisition_is_fenced) {
  auto store = open();
  Held held = acquire_new(*store, random_);
  Session challenger(conninfo_), watcher(conninfo_);
  challenger.run("BEGIN");
  challenger.run("UPDATE workspace_owner SET token = gen_random_uuid(), epoch = epoch + 1");
  CommitOutcome outcome{};
  std::atomic<bool> answered = false;
  std::thread owner([&] {
    outcome = commit_one(*store, held.next({Change::put(Resource{.id = random_.id<ResourceId>()})}));
    answered = true;
  });
  until_waiting(watcher, 1, answered);
  challenger.run("COMMIT");
  owner.join();
  EXPECT_EQ(outcome, CommitOutcome::kFenced);
  EXPECT_TRUE(snapshot_rows(*store, held.id).empty());
}

TEST_F(PostgresStoreTest, a_statement_that_hangs_is_given_up_and_leaves_nothing) {
  auto store = open({.statement_timeout_ms = 100});
  Held held = acquire_new(*store, random_), other = acquire_new(*store, random_);
  Resource contested{.id = random_.id<ResourceId>()};
  commit_now(*store, held, {Change::put(contested)});
  Session blocker(conninfo_);
  blocker.run("BEGIN");
  blocker.run("SELECT 1 FROM resource FOR UPDATE");
  const std::vector<Commit> commits = {
      held.next({Change::put(Resource{.id = random_.id<ResourceId>()}), Change::put(contested)}),
      other.next({})};
  EXPECT_EQ(store->commit(commits), (std::vector{CommitOutcome::kInDoubt, CommitOutcome::kDurable}));
  EXPECT_EQ(snapshot_rows(*store, held.id).size(), 1u);
  EXPECT_TRUE(store->beat({.id = random_.id<ReplicaId>()}));
}

TEST_F(PostgresStoreTest, a_beat_does_not_wait_behind_a_commit) {
  auto store = open();
  Held held = acquire_new(*store, random_);
  Session blocker(conninfo_), watcher(conninfo_);
  blocker.run("BEGIN");
  blocker.run("SELECT 1 FROM workspace_owner FOR UPDATE");
  CommitOutcome outcome{};
  std::atomic<bool> answered = false;
  std::thread owner([&] {
    outcome = commit_one(*store, held.next({}));
    answered = true;
  });
  until_waiting(watcher, 1, answered);
  EXPECT_TRUE(store->beat({.id = random_.id<ReplicaId>()}));
  EXPECT_EQ(waiting(watcher), 1) << "the commit still waits";
  blocker.run("COMMIT");
  owner.join();
  EXPECT_EQ(outcome, CommitOutcome::kDurable);
}

// A commit puts a part again while it is being pruned. Jobs of that commit refer to it.
TEST_F(PostgresStoreTest, a_part_that_is_put_meanwhile_is_not_pruned) {
  auto store = open();
  Held held = acquire_new(*store, random_);
  const ContextPart part{digest_of("x"), "x", Time{1}};
  ASSERT_EQ(commit_one(*store, held.next({Change::put(part)}, Time{} + kPartFresh * 100)),
            CommitOutcome::kDurable);
  Session blocker(conninfo_), watcher(conninfo_);
  blocker.run("BEGIN");
  blocker.run("UPDATE context_part SET stored_at = " + std::to_string((kPartFresh * 100).us));
  Result<int64_t> gone;
  std::atomic<bool> answered = false;
  std::thread pruner([&] {
    gone = store->prune_parts(held.id, kPartFresh * 3, 100);
    answered = true;
  });
  until_waiting(watcher, 1, answered);
  blocker.run("COMMIT");
  pruner.join();
  EXPECT_EQ(gone, 0);
  EXPECT_EQ(read_all(*store, held.id, table_for<ContextPart>()).size(), 1u);
}

// Far more than the socket buffers of either side hold.
TEST_F(PostgresStoreTest, a_big_batch_does_not_jam_the_pipeline) {
  auto store = open();
  Held held = acquire_new(*store, random_), small = acquire_new(*store, random_);
  Changes big;
  for (int i = 0; i < 5000; ++i) {
    std::string body(10000, static_cast<char>('a' + i % 26));
    body += std::to_string(i);
    big.push_back(Change::put(ContextPart{digest_of(body), body}));
  }
  const std::vector<Commit> commits = {held.next(std::move(big)), small.next({Change::put(Resource{})})};
  EXPECT_EQ(store->commit(commits), (std::vector{CommitOutcome::kDurable, CommitOutcome::kDurable}));
  Changes narrow;
  for (int i = 0; i < 20000; ++i) narrow.push_back(Change::erase(Resource{.id = random_.id<ResourceId>()}));
  ++small.seq;
  EXPECT_EQ(commit_one(*store, small.next(std::move(narrow))), CommitOutcome::kDurable);
  EXPECT_EQ(store->prune(held.id, table_for<Job>(), "ended_at", 1, 1), 0);
  Session s(conninfo_);
  EXPECT_EQ(s.run("SELECT count(*) || ' ' || sum(length(body)) FROM context_part"), "5000 50018890");
}

TEST_F(PostgresStoreTest, several_threads_share_one_store) {
  auto store = open({.pool = 2});
  std::vector<Held> held;
  for (int i = 0; i < 4; ++i) held.push_back(acquire_new(*store, random_));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < held.size(); ++i)
    threads.emplace_back([&, i] {
      Random random(i);
      for (int n = 0; n < 20; ++n) {
        commit_now(*store, held[i], {Change::put(Resource{.id = random.id<ResourceId>()})});
        CHECK(load_rows(*store, held[i]).size() == static_cast<size_t>(n) + 1, "reads what was committed");
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(store->owners()->size(), 4u);
}

// ---- Restarts --------------------------------------------------------------------------------------

TEST_F(PostgresStoreTest, a_restart_of_the_server_costs_one_failed_call_of_each_kind) {
  auto store = open();
  Held held = acquire_new(*store, random_);
  commit_now(*store, held, {Change::put(Resource{.id = random_.id<ResourceId>()})});
  const Replica replica{.id = random_.id<ReplicaId>()};
  ASSERT_TRUE(store->beat(replica));
  ASSERT_TRUE(store->owners());
  server_.restart_immediately();
  EXPECT_EQ(commit_one(*store, held.next({})), CommitOutcome::kInDoubt);
  EXPECT_EQ(store->owners().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store->beat(replica).error().code, ErrorCode::kUnavailable);

  EXPECT_TRUE(store->beat(replica));
  const Token token = random_.id<Token>();
  auto owner = store->acquire(held.id, replica.id, held.token, token);
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_EQ(owner->seq, 1);
  held.token = token;
  commit_now(*store, held, {});
  EXPECT_EQ(load_rows(*store, held).size(), 1u);
}

TEST_F(PostgresStoreTest, a_server_that_is_gone_is_unavailable) {
  auto store = open();
  Held held = acquire_new(*store, random_);
  server_.stop_immediately();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(commit_one(*store, held.next({})), CommitOutcome::kInDoubt);
    EXPECT_EQ(store->acquire(held.id, {}, held.token, random_.id<Token>()).error().code,
              ErrorCode::kUnavailable);
    EXPECT_EQ(store->load(held.id, held.token, [](Entity&&) {}).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(store->beat({}).error().code, ErrorCode::kUnavailable);
  }
  EXPECT_EQ(PostgresStore::open(conninfo_).error().code, ErrorCode::kUnavailable);
  server_.start();
  commit_now(*store, held, {});
}

// ---- Settings --------------------------------------------------------------------------------------

TEST_F(PostgresStoreTest, settings_that_lose_commits_are_refused) {
  const std::string database = Session(conninfo_).run("SELECT current_database()");
  for (const char* value : {"off", "local"}) {
    server_.run(conninfo_, "ALTER DATABASE " + database + " SET synchronous_commit = " + value);
    auto store = PostgresStore::open(conninfo_);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::kConflict);
    EXPECT_NE(store.error().message.find(std::string("synchronous_commit=") + value), std::string::npos);
  }
  server_.run(conninfo_, "ALTER DATABASE " + database + " RESET synchronous_commit");
  auto store = open();
  Held held = acquire_new(*store, random_);
  commit_now(*store, held, {});

  server_.restart_immediately("-c fsync=off");
  auto refused = PostgresStore::open(conninfo_);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_NE(refused.error().message.find("fsync=off"), std::string::npos);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(commit_one(*store, held.next({})), CommitOutcome::kInDoubt)
        << "a store opened earlier stops too";
  server_.restart_immediately();
  commit_now(*store, held, {});
}

}  // namespace
}  // namespace ctrlplane::store::test
