// The migrated schema against the table descriptions, and databases of other ages.
#include <libpq-fe.h>
#include <sqlite3.h>

#include <map>

#include "base/check.h"
#include "base/log.h"
#include "store/migrations.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "stores_under_test.h"
#include "support/temp_dir.h"
#include "support/temp_postgres.h"

namespace ctrlplane::store::test {
namespace {

using ctrlplane::test::TempPostgres;
using TextRows = std::vector<std::vector<std::string>>;

TextRows sqlite_rows(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  TextRows out;
  CHECK(sqlite3_open(path.c_str(), &db) == SQLITE_OK, "open");
  auto collect = [](void* to, int n, char** values, char**) {
    auto& row = static_cast<TextRows*>(to)->emplace_back();
    for (int i = 0; i < n; ++i) row.push_back(values[i] ? values[i] : "");
    return 0;
  };
  CHECK(sqlite3_exec(db, sql.c_str(), collect, &out, nullptr) == SQLITE_OK, sqlite3_errmsg(db));
  sqlite3_close(db);
  return out;
}

TextRows postgres_rows(const std::string& conninfo, const std::string& sql) {
  PGconn* c = PQconnectdb(conninfo.c_str());
  PGresult* r = PQexec(c, sql.c_str());
  CHECK(PQresultStatus(r) == PGRES_TUPLES_OK || PQresultStatus(r) == PGRES_COMMAND_OK, PQerrorMessage(c));
  TextRows out;
  for (int i = 0; i < PQntuples(r); ++i) {
    auto& row = out.emplace_back();
    for (int j = 0; j < PQnfields(r); ++j) row.push_back(PQgetvalue(r, i, j));
  }
  PQclear(r);
  PQfinish(c);
  return out;
}

// name, type, "not null" or "null" of each column, in order; the key's names after them.
TextRows described(const Table& table, const std::map<ColumnType, std::string>& types) {
  const std::vector<bool> nullable = nullable_columns(table);
  TextRows out = {{"workspace_id", types.at(ColumnType::kUuid), "not null"}};
  for (size_t i = 0; i < table.columns.size(); ++i)
    out.push_back({std::string(table.columns[i].name), types.at(table.columns[i].type),
                   nullable[i] ? "null" : "not null"});
  out.push_back({"workspace_id"});
  for (size_t i = 0; i < table.key_count(); ++i) out.back().push_back(std::string(table.columns[i].name));
  return out;
}

class SchemaTest : public testing::Test {
 protected:
  SchemaTest() { log::set_level(log::Level::kOff); }
};

TEST_F(SchemaTest, sqlite_has_exactly_the_columns_described) {
  ctrlplane::test::TempDir dir;
  const std::string path = dir.file("test.db");
  ASSERT_TRUE((*SqliteStore::open(path))->migrate());
  for (const Table& table : tables()) {
    TextRows found;
    std::map<int, std::string> key;
    for (auto& r : sqlite_rows(
             path,
             fmt::format("SELECT name, type, \"notnull\", pk FROM pragma_table_info('{}')", table.name))) {
      found.push_back({r[0], r[1], r[2] == "1" ? "not null" : "null"});
      if (r[3] != "0") key[std::stoi(r[3])] = r[0];
    }
    found.emplace_back();
    for (auto& [at, name] : key) found.back().push_back(name);
    EXPECT_EQ(found, described(table, {{ColumnType::kUuid, "BLOB"},
                                       {ColumnType::kInt, "INTEGER"},
                                       {ColumnType::kText, "TEXT"},
                                       {ColumnType::kBytes, "BLOB"}}))
        << table.name;
  }
  const auto count = sqlite_rows(
      path, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  EXPECT_EQ(count[0][0], std::to_string(tables().size() + 2)) << "and the two of the store itself";
}

TEST_F(SchemaTest, postgres_has_exactly_the_columns_described) {
  const std::string conninfo = TempPostgres::shared().fresh_database();
  for (const Table& table : tables()) {
    TextRows found = postgres_rows(
        conninfo, fmt::format("SELECT attname, format_type(atttypid, NULL), "
                              "CASE WHEN attnotnull THEN 'not null' ELSE 'null' END FROM pg_attribute "
                              "WHERE attrelid = '{}'::regclass AND attnum > 0 ORDER BY attnum",
                              table.name));
    found.emplace_back();
    for (auto& r : postgres_rows(conninfo, fmt::format("SELECT attname FROM pg_attribute WHERE attrelid = "
                                                       "'{}_pkey'::regclass ORDER BY attnum",
                                                       table.name)))
      found.back().push_back(r[0]);
    EXPECT_EQ(found, described(table, {{ColumnType::kUuid, "uuid"},
                                       {ColumnType::kInt, "bigint"},
                                       {ColumnType::kText, "text"},
                                       {ColumnType::kBytes, "bytea"}}))
        << table.name;
  }
}

// Each hot filter has its partial index, and the planner takes it: the texts must match.
TEST_F(SchemaTest, hot_loads_and_pruning_use_their_indexes) {
  ctrlplane::test::TempDir dir;
  const std::string path = dir.file("test.db");
  ASSERT_TRUE((*SqliteStore::open(path))->migrate());
  const auto plan = [&](const std::string& sql) {
    std::string out;
    for (auto& r : sqlite_rows(path, "EXPLAIN QUERY PLAN " + sql)) out += r[3] + "\n";
    return out;
  };
  const auto uses = [&](const std::string& sql, const std::string& index) {
    EXPECT_NE(plan(sql).find(index), std::string::npos) << sql << "\n" << plan(sql);
  };
  uses(hot_sql(Dialect::kSqlite, table_for<Job>()), "job_hot");
  uses(hot_sql(Dialect::kSqlite, table_for<Version>()), "deployment_version_hot");
  uses(hot_sql(Dialect::kSqlite, table_for<OutboxItem>()), "outbox_hot");
  uses(prune_sql(Dialect::kSqlite, table_for<Job>(), "ended_at"), "job_ended");
  uses(prune_sql(Dialect::kSqlite, table_for<OutboxItem>(), "ended_at"), "outbox_ended");
  uses(prune_sql(Dialect::kSqlite, table_for<AuditEntry>(), "at"), "audit_entry_age");
  uses(prune_sql(Dialect::kSqlite, table_for<IdempotencyRecord>(), "created_at"), "idempotency_age");
  ColdQuery history{.table = &table_for<Job>(), .order_by = "created_at", .descending = true};
  for (const char* c : {"deployment_id", "resource_id", "environment_id"})
    history.equals.emplace_back(c, Uuid{});
  uses(cold_sql(Dialect::kSqlite, history), "job_history");
  EXPECT_EQ(plan(cold_sql(Dialect::kSqlite, history)).find("TEMP B-TREE"), std::string::npos)
      << "sorted by the index";
}

// ---- Databases of other ages -----------------------------------------------------------------------

// A newer binary has been here: one more column, and schema_info says so.
void age(const std::function<void(const std::string&)>& run, int min_binary) {
  run("ALTER TABLE resource ADD COLUMN future text");
  run("UPDATE resource SET future = 'kept'");
  run(fmt::format("UPDATE schema_info SET version = 99, min_binary = {}", min_binary));
}

void check_newer_schema(Store& store, const std::function<void(const std::string&)>& run,
                        const std::function<std::string()>& future) {
  Random random(1);
  Held held = acquire_new(store, random);
  Resource r{.id = random.id<ResourceId>()};
  commit_now(store, held, {Change::put(r)});
  age(run, 1);
  ASSERT_TRUE(store.migrate());
  r.name = "new name";
  commit_now(store, held, {Change::put(r)});
  EXPECT_EQ(load_rows(store, held), std::vector<Entity>{r});
  EXPECT_EQ(future(), "kept");

  run("UPDATE schema_info SET min_binary = 42");
  const Status refused = store.migrate();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_NE(refused.error().message.find("needs a binary that knows schema 42"), std::string::npos);
  EXPECT_EQ(load_rows(store, held), std::vector<Entity>{r}) << "refusing changes nothing";
}

TEST_F(SchemaTest, sqlite_works_with_a_newer_schema_down_to_its_min_binary) {
  ctrlplane::test::TempDir dir;
  const std::string path = dir.file("test.db");
  auto store = SqliteStore::open(path);
  ASSERT_TRUE((*store)->migrate());
  check_newer_schema(
      **store, [&](const std::string& sql) { sqlite_rows(path, sql); },
      [&] { return sqlite_rows(path, "SELECT future FROM resource")[0][0]; });
}

TEST_F(SchemaTest, postgres_works_with_a_newer_schema_down_to_its_min_binary) {
  const std::string conninfo = TempPostgres::shared().empty_database();
  auto store = PostgresStore::open(conninfo);
  ASSERT_TRUE((*store)->migrate());
  check_newer_schema(
      **store, [&](const std::string& sql) { postgres_rows(conninfo, sql); },
      [&] { return postgres_rows(conninfo, "SELECT future FROM resource")[0][0]; });
}

TEST_F(SchemaTest, steps_run_in_order_from_where_the_database_is) {
  const Migration known[] = {{1, 1, "a;", "A;"}, {2, 1, "b;", "B;"}, {3, 2, "c;", "C;"}};
  auto script = upgrade_script(Dialect::kSqlite, {1, 1}, known);
  ASSERT_TRUE(script);
  EXPECT_TRUE(script->starts_with("b;c;DELETE FROM schema_info;")) << *script;
  EXPECT_NE(script->find("VALUES (3, 2)"), std::string::npos);
  EXPECT_TRUE(upgrade_script(Dialect::kPostgres, {}, known)->starts_with("A;B;C;"));
  EXPECT_EQ(upgrade_script(Dialect::kPostgres, {3, 2}, known), "");
  EXPECT_EQ(upgrade_script(Dialect::kPostgres, {7, 3}, known), "") << "newer, but made for us too";
  EXPECT_FALSE(upgrade_script(Dialect::kPostgres, {7, 4}, known));
}

}  // namespace
}  // namespace ctrlplane::store::test
