#include "stores_under_test.h"

#include "base/check.h"
#include "store/postgres/postgres_store.h"
#include "store/sim/sim_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/temp_dir.h"
#include "support/temp_postgres.h"

namespace ctrlplane::store::test {
namespace {

template <class T>
T must(Result<T> r) {
  CHECK(r, r ? "" : r.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

class SqliteUnderTest : public StoreUnderTest {
 public:
  SqliteUnderTest() { reopen(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = must(SqliteStore::open(dir_.file("test.db")));
    must(store_->migrate());
  }

 private:
  ctrlplane::test::TempDir dir_;
  std::unique_ptr<SqliteStore> store_;
};

class PostgresUnderTest : public StoreUnderTest {
 public:
  PostgresUnderTest() : conninfo_(ctrlplane::test::TempPostgres::shared().fresh_database()) { reopen(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = must(PostgresStore::open(conninfo_));
    must(store_->migrate());
  }

 private:
  std::string conninfo_;
  std::unique_ptr<PostgresStore> store_;
};

class SimUnderTest : public StoreUnderTest {
 public:
  Store& store() override { return store_; }
  void reopen() override {}

 private:
  SimStore store_;
};

}  // namespace

std::unique_ptr<StoreUnderTest> make_store(const std::string& kind) {
  if (kind == "sqlite") return std::make_unique<SqliteUnderTest>();
  if (kind == "postgres") return std::make_unique<PostgresUnderTest>();
  CHECK(kind == "sim", "no such store");
  return std::make_unique<SimUnderTest>();
}

Held acquire_new(Store& store, Random& random) {
  Held held{.id = random.id<WorkspaceId>(), .token = random.id<Token>()};
  must(store.acquire(held.id, random.id<ReplicaId>(), {}, held.token));
  return held;
}

CommitOutcome commit_one(Store& store, const Commit& commit) { return store.commit({&commit, 1}).front(); }

void commit_now(Store& store, Held& held, Changes changes) {
  CHECK(commit_one(store, held.next(std::move(changes))) == CommitOutcome::kDurable, "commit");
  ++held.seq;
}

std::vector<Entity> snapshot_rows(Store& store, WorkspaceId workspace) {
  std::vector<Entity> out;
  must(store.snapshot(workspace, [&](Entity&& e) { out.push_back(std::move(e)); }));
  return out;
}

std::vector<Entity> load_rows(Store& store, const Held& held) {
  std::vector<Entity> out;
  must(store.load(held.id, held.token, [&](Entity&& e) { out.push_back(std::move(e)); }));
  return out;
}

std::vector<Entity> read_all(Store& store, WorkspaceId workspace, const Table& table) {
  return must(store.read(workspace, {.table = &table, .limit = 1000000}));
}

}  // namespace ctrlplane::store::test
