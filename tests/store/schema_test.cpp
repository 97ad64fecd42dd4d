// The migrated schema against the table descriptions, and databases of other ages.
#include <map>

#include "base/check.h"
#include "base/log.h"
#include "sql_rows.h"
#include "store/migrations.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "stores_under_test.h"
#include "support/temp_dir.h"
#include "support/temp_postgres.h"

namespace ctrlplane::store::test {
namespace {

using ctrlplane::test::TempPostgres;

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
  EXPECT_EQ(count[0][0], std::to_string(tables().size() + 3))
      << "and those of the store itself: schema_info, workspace_owner, job_output";
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

TextRows last_schema() {
  const Migration& last = migrations().back();
  return {{std::to_string(last.number), std::to_string(last.min_binary)}};
}

// ---- A database made by the first release -----------------------------------------------------------

// What a binary that knows schema 1 leaves behind: an owner and a few rows. The texts fit both dialects;
// `id` spells an id in one of them.
std::vector<std::string> rows_of_schema_1(const std::function<std::string(const Uuid&)>& id, const Held& held,
                                          const Resource& r, const Version& v, const Job& job) {
  const std::string w = id(held.id.uuid), nil = id(Uuid{});
  const std::string empty = nil.starts_with("x") ? "x''" : "''";
  return {
      fmt::format("INSERT INTO workspace_owner VALUES ({}, {}, {}, 1, 7, 1000, NULL)", w, nil,
                  id(held.token.uuid)),
      fmt::format(
          "INSERT INTO resource VALUES ({}, {}, 'r', 'r', 'Host', 'v1', '{{}}', '{{}}', NULL, 5, NULL)", w,
          id(r.id.uuid)),
      fmt::format(
          "INSERT INTO job VALUES ({0}, {1}, {2}, {2}, {2}, {2}, {2}, {2}, 'policy', 'successful', '', '', "
          "0, 0, 0, '', {2}, {2}, 5, NULL, NULL, NULL, NULL, 6, 6)",
          w, id(job.id.uuid), nil),
      fmt::format("INSERT INTO deployment_version VALUES ({}, {}, {}, 't', 't', 'ready', '', '{{}}', '{{}}', "
                  "'{{}}', 5, 0)",
                  w, id(v.id.uuid), nil),
      fmt::format(
          "INSERT INTO release_target VALUES ({0}, {1}, {2}, {2}, NULL, NULL, NULL, NULL, NULL, NULL, 2, "
          "NULL, NULL, NULL, {3})",
          w, id(r.id.uuid), nil, empty),
      fmt::format("INSERT INTO context_part VALUES ({}, {}, 'body')", w, nil),
      "INSERT INTO schema_info VALUES (1, 1)",
  };
}

void check_upgrade(Store& store, const std::function<void(const std::string&)>& run,
                   const std::function<std::string(const Uuid&)>& id) {
  Random random(3);
  Held held{.id = random.id<WorkspaceId>(), .token = random.id<Token>(), .seq = 7};
  Resource r{.id = random.id<ResourceId>(), .identifier = "r", .name = "r", .kind = "Host", .version = "v1"};
  r.created_at = Time{5};
  Job job{.id = random.id<JobId>(), .status = JobStatus::kSuccessful, .live = false};
  job.created_at = Time{5};
  job.ended_at = job.updated_at = Time{6};
  Version v{.id = random.id<VersionId>(), .tag = "t", .name = "t"};
  v.created_at = Time{5};
  const TargetState target{.key = {.resource = r.id}, .attempts = 2};
  for (const std::string& sql : rows_of_schema_1(id, held, r, v, job)) run(sql);

  for (int i = 0; i < 2; ++i) {  // the second changes nothing
    const Status done = store.migrate();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(load_rows(store, held), (std::vector<Entity>{v, r, target}));
    EXPECT_EQ(read_all(store, held.id, table_for<Job>()), std::vector<Entity>{job});
    EXPECT_EQ(read_all(store, held.id, table_for<ContextPart>()).size(), 1u);
  }
  User user{.id = random.id<UserId>(), .email = "a@b"};
  Policy policy{.id = random.id<PolicyId>(), .name = "p", .selector = "true"};
  policy.rules = {{.id = random.id<RuleId>(), .type = "retry"}};
  commit_now(store, held, {Change::put(user), Change::put(policy)});
  EXPECT_EQ(load_rows(store, held), (std::vector<Entity>{user, policy, v, r, target}));
  ASSERT_TRUE(store.append_output(held.id, std::vector<OutputChunk>{{job.id, 0, "printed"}}));
  EXPECT_EQ(store.read_output(held.id, job.id, 0, 100)->size(), 1u);
}

TEST_F(SchemaTest, sqlite_is_brought_from_the_first_schema_to_the_last) {
  ctrlplane::test::TempDir dir;
  const std::string path = dir.file("test.db");
  sqlite_rows(path, std::string(kCreateSchemaInfo) + ";" + std::string(kSqliteSchema1));
  auto store = SqliteStore::open(path);
  ASSERT_TRUE(store);
  check_upgrade(
      **store, [&](const std::string& sql) { sqlite_rows(path, sql); },
      [](const Uuid& u) {
        std::string hex;
        for (uint8_t byte : u.bytes) hex += fmt::format("{:02x}", byte);
        return "x'" + hex + "'";
      });
  EXPECT_EQ(sqlite_rows(path, "SELECT version, min_binary FROM schema_info"), last_schema());
}

TEST_F(SchemaTest, postgres_is_brought_from_the_first_schema_to_the_last) {
  const std::string conninfo = TempPostgres::shared().empty_database();
  postgres_rows(conninfo, std::string(kCreateSchemaInfo) + ";" + std::string(kPostgresSchema1));
  auto store = PostgresStore::open(conninfo);
  ASSERT_TRUE(store);
  check_upgrade(
      **store, [&](const std::string& sql) { postgres_rows(conninfo, sql); },
      [](const Uuid& u) { return fmt::format("'{}'::uuid", u.str()); });
  EXPECT_EQ(postgres_rows(conninfo, "SELECT version, min_binary FROM schema_info"), last_schema());
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
