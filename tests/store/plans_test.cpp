// Which index carries which read: a read of history must not grow with the history of everything else.
#include <functional>
#include <map>

#include <fmt/core.h>

#include "base/check.h"
#include "base/log.h"
#include "sql_rows.h"
#include "store/migrations.h"
#include "store/output.h"
#include "store/sqlite/sqlite_store.h"
#include "stores_under_test.h"
#include "support/temp_dir.h"
#include "support/temp_postgres.h"

namespace ctrlplane::store::test {
namespace {

class PlansTest : public testing::Test {
 protected:
  PlansTest() { log::set_level(log::Level::kOff); }
};

struct Wanted {
  ColdQuery query;
  std::string index;  // what the plan names
};

// The look-ups of the API. "newest first" is created_at and then id, both falling.
std::vector<Wanted> wanted_plans(const std::string& primary_key_of_release, const std::string& of_part,
                                 const std::string& primary_key_of_member) {
  const auto by = [](std::vector<std::pair<std::string_view, CellView>> equals) {
    ColdQuery q{.table = &table_for<Job>(), .equals = std::move(equals), .order_by = "created_at"};
    q.descending = true;
    return q;
  };
  ColdQuery outcome = by({{"agent_id", Uuid{}}, {"status", std::string_view("failure")}});
  outcome.present = {"ended_at"};
  ColdQuery versions{.table = &table_for<Version>(), .equals = {{"deployment_id", Uuid{}}}};
  versions.order_by = "created_at";
  versions.descending = true;
  ColdQuery groups{.table = &table_for<BracketGroup>(), .order_by = "created_at", .descending = true};
  ColdQuery groups_there = groups;
  groups_there.equals = {{"resource_id", Uuid{}}};
  ColdQuery audit{.table = &table_for<AuditEntry>(), .order_by = "at", .descending = true};
  return {
      {by({}), "job_by_age"},
      {by({{"agent_id", Uuid{}}}), "job_of_agent"},
      {outcome, "job_outcome"},
      {by({{"deployment_id", Uuid{}}}), "job_of_deployment"},
      {by({{"deployment_id", Uuid{}}, {"resource_id", Uuid{}}, {"environment_id", Uuid{}}}), "job_history"},
      {by({{"group_id", Uuid{}}}), "job_of_group"},
      {versions, "deployment_version_history"},
      {groups, "bracket_version_group_by_age"},
      {groups_there, "bracket_version_group_of_resource"},
      {{.table = &table_for<BracketMember>(), .equals = {{"group_id", Uuid{}}}}, primary_key_of_member},
      {audit, "audit_entry_age"},
      {{.table = &table_for<Release>(), .equals = {{"id", Uuid{}}}}, primary_key_of_release},
      {{.table = &table_for<ContextPart>(), .equals = {{"digest", Uuid{}}}}, of_part},
  };
}

// ---- SQLite --------------------------------------------------------------------------------------------

class SqlitePlans : public PlansTest {
 protected:
  SqlitePlans() { CHECK((*SqliteStore::open(path_))->migrate(), "migrate"); }
  std::string plan(const std::string& sql) {
    std::string out;
    for (auto& r : sqlite_rows(path_, "EXPLAIN QUERY PLAN " + sql)) out += r[3] + "\n";
    return out;
  }
  void uses(const std::string& sql, const std::string& index) {
    EXPECT_NE(plan(sql).find(index), std::string::npos) << sql << "\n" << plan(sql);
  }

  ctrlplane::test::TempDir dir_;
  const std::string path_ = dir_.file("test.db");
};

// Each hot filter has its partial index, and the planner takes it: the texts must match.
TEST_F(SqlitePlans, hot_loads_and_pruning_use_their_indexes) {
  uses(hot_sql(Dialect::kSqlite, table_for<Job>()), "job_hot");
  uses(hot_sql(Dialect::kSqlite, table_for<Version>()), "deployment_version_hot");
  uses(hot_sql(Dialect::kSqlite, table_for<OutboxItem>()), "outbox_hot");
  uses(hot_sql(Dialect::kSqlite, table_for<BracketGroup>()), "bracket_version_group_hot");
  uses(hot_sql(Dialect::kSqlite, table_for<BracketMember>()), "bracket_version_group_member_hot");
  uses(hot_sql(Dialect::kSqlite, table_for<Quarantine>()), "bracket_quarantine_hot");
  uses(hot_sql(Dialect::kSqlite, table_for<Approval>()), "deployment_version_hot");
  uses(hot_sql(Dialect::kSqlite, table_for<Approval>()), "approval_1 (workspace_id=? AND version_id=?)");
  uses(prune_sql(Dialect::kSqlite, table_for<Job>(), "ended_at"), "job_ended");
  uses(prune_sql(Dialect::kSqlite, table_for<OutboxItem>(), "ended_at"), "outbox_ended");
  uses(prune_sql(Dialect::kSqlite, table_for<AuditEntry>(), "at"), "audit_entry_age");
  uses(prune_sql(Dialect::kSqlite, table_for<IdempotencyRecord>(), "created_at"), "idempotency_age");
  uses(prune_parts_sql(Dialect::kSqlite), "USING INDEX context_part_age (workspace_id=? AND stored_at<?)");
  uses(prune_parts_sql(Dialect::kSqlite), "job_by_age (workspace_id=? AND created_at<?)");
}

TEST_F(SqlitePlans, reads_of_history_are_carried_and_sorted_by_an_index) {
  for (const Wanted& w : wanted_plans("PRIMARY KEY", "sqlite_autoindex_context_part",
                                      "sqlite_autoindex_bracket_version_group_member")) {
    const std::string sql = cold_sql(Dialect::kSqlite, w.query);
    uses(sql, w.index);
    // Ties may be put in order by themselves; the rest must come in order.
    EXPECT_EQ(plan(sql).find("TEMP B-TREE FOR ORDER BY"), std::string::npos) << plan(sql);
  }
}

TEST_F(SqlitePlans, output_is_found_by_its_key) {
  for (const std::string& sql : {trim_output_sql(Dialect::kSqlite), read_output_sql(Dialect::kSqlite)}) {
    uses(sql, "sqlite_autoindex_job_output_1 (workspace_id=? AND job_id=? AND at_offset>");
    EXPECT_EQ(plan(sql).find("TEMP B-TREE"), std::string::npos) << plan(sql);
  }
}

// ---- PostgreSQL ----------------------------------------------------------------------------------------

std::string literal_of(const CellView& cell) {
  if (const auto* i = std::get_if<int64_t>(&cell)) return std::to_string(*i);
  if (const auto* u = std::get_if<Uuid>(&cell)) return fmt::format("'{}'", u->str());
  return fmt::format("'{}'", std::get<std::string_view>(cell));
}

// A workspace with enough of everything that the planner takes it seriously.
constexpr const char* kHistory = R"sql(
INSERT INTO job SELECT '00000000-0000-0000-0000-000000000000', gen_random_uuid(), t.r, t.e, t.d, gen_random_uuid(),
  gen_random_uuid(), t.a, 'policy', CASE WHEN n % 50 = 0 THEN 'failure' ELSE 'successful' END, '', '', 0, 0, 0, '',
  gen_random_uuid(), gen_random_uuid(), n, NULL, NULL, NULL, NULL, n, n
  FROM generate_series(1, 20000) n, LATERAL (SELECT
    lpad(to_hex(n % 100), 32, '0')::uuid r, lpad(to_hex(n % 2), 32, '0')::uuid e,
    lpad(to_hex(n % 20), 32, '0')::uuid d, lpad(to_hex(n % 10), 32, '0')::uuid a) t;
INSERT INTO deployment_version SELECT '00000000-0000-0000-0000-000000000000', gen_random_uuid(),
  lpad(to_hex(n % 20), 32, '0')::uuid, n::text, '', 'ready', '', '{}', '{}', '{}', n, 1
  FROM generate_series(1, 20000) n;
INSERT INTO audit_entry SELECT '00000000-0000-0000-0000-000000000000', gen_random_uuid(), n, '', '', '', '{}'
  FROM generate_series(1, 20000) n;
INSERT INTO release SELECT '00000000-0000-0000-0000-000000000000', gen_random_uuid(), gen_random_uuid(),
  gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), n FROM generate_series(1, 20000) n;
INSERT INTO context_part SELECT '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'x'
  FROM generate_series(1, 20000) n;
UPDATE job SET group_id = lpad(to_hex(created_at / 5), 32, '0')::uuid;
INSERT INTO bracket_version_group SELECT '00000000-0000-0000-0000-000000000000', gen_random_uuid(),
  gen_random_uuid(), lpad(to_hex(n % 100), 32, '0')::uuid, gen_random_uuid(), n, n, 'completed', n, n, n, n,
  '{}', 'forward', NULL, NULL, '', '', '', NULL, 1 FROM generate_series(1, 20000) n;
INSERT INTO bracket_version_group_member SELECT '00000000-0000-0000-0000-000000000000',
  lpad(to_hex(n / 5), 32, '0')::uuid, gen_random_uuid(), 'work', 'changed', 'succeeded', NULL, NULL, NULL,
  NULL, 1, NULL, NULL, NULL, '[]', 1 FROM generate_series(1, 20000) n;
ANALYZE)sql";

TEST_F(PlansTest, postgres_reads_history_by_an_index_and_sorts_ties_at_most) {
  const std::string conninfo = ctrlplane::test::TempPostgres::shared().fresh_database();
  postgres_rows(conninfo, kHistory);
  for (const Wanted& w :
       wanted_plans("release_pkey", "context_part_pkey", "bracket_version_group_member_pkey")) {
    std::string values = literal_of(Uuid{});
    each_condition_value(w.query, [&](const CellView& v, ColumnType) { values += ", " + literal_of(v); });
    const std::string sql = cold_sql(Dialect::kPostgres, w.query);
    std::string plan;
    for (auto& r :
         postgres_rows(conninfo, fmt::format("PREPARE q AS {}; EXPLAIN EXECUTE q({}, 50, 0)", sql, values)))
      plan += r[0] + "\n";
    EXPECT_NE(plan.find(w.index), std::string::npos) << sql << "\n" << plan;
    EXPECT_EQ(plan.find("Seq Scan"), std::string::npos) << plan;
    const size_t sort = plan.find("Sort  (");
    EXPECT_TRUE(sort == std::string::npos || plan.substr(0, sort).ends_with("Incremental ")) << plan;
  }
}

}  // namespace
}  // namespace ctrlplane::store::test
