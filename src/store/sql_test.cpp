#include "store/sql.h"

#include <gtest/gtest.h>

namespace ctrlplane::store {
namespace {

TEST(Sql, upserts_name_their_columns_and_replace_all_but_the_key) {
  EXPECT_EQ(
      upsert_sql(Dialect::kPostgres, table_for<Provider>()),
      "INSERT INTO \"resource_provider\" (workspace_id, \"id\", \"name\", \"metadata\", \"created_at\") "
      "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workspace_id, \"id\") DO UPDATE SET "
      "\"name\" = excluded.\"name\", \"metadata\" = excluded.\"metadata\", "
      "\"created_at\" = excluded.\"created_at\"");
}

TEST(Sql, rows_that_cannot_change_are_left_alone_but_for_their_age) {
  EXPECT_EQ(upsert_sql(Dialect::kSqlite, table_for<ContextPart>()),
            "INSERT INTO \"context_part\" (workspace_id, \"digest\", \"body\", \"stored_at\") VALUES (?1, "
            "?2, ?3, ?4) "
            "ON CONFLICT (workspace_id, \"digest\") DO UPDATE SET stored_at = excluded.stored_at "
            "WHERE \"context_part\".stored_at IS NULL OR \"context_part\".stored_at < excluded.stored_at - "
            "86400000000");
  EXPECT_TRUE(upsert_sql(Dialect::kSqlite, table_for<SystemDeployment>()).ends_with("DO NOTHING"));
}

TEST(Sql, hot_filters_stand_in_the_text) {
  EXPECT_TRUE(hot_sql(Dialect::kPostgres, table_for<OutboxItem>())
                  .ends_with("WHERE workspace_id = $1 AND \"status\" IN ('pending', 'sending')"));
  EXPECT_TRUE(hot_sql(Dialect::kSqlite, table_for<Job>())
                  .ends_with("FROM \"job\" INDEXED BY job_hot WHERE workspace_id = ?1 AND \"live\" = 1"));
  EXPECT_EQ(hot_sql(Dialect::kSqlite, table_for<Release>()), "");
}

TEST(Sql, pruning_spares_hot_rows) {
  EXPECT_EQ(prune_sql(Dialect::kSqlite, table_for<Job>(), "ended_at"),
            "DELETE FROM \"job\" WHERE workspace_id = ?1 AND (\"id\") IN (SELECT \"id\" FROM \"job\" "
            "WHERE workspace_id = ?1 AND \"ended_at\" < ?2 AND \"live\" <> 1 ORDER BY \"ended_at\" LIMIT ?3) "
            "RETURNING id");
}

TEST(Sql, only_a_column_that_may_be_absent_says_where_its_nulls_go) {
  const Table* job = &table_for<Job>();
  const auto order = [&](std::string_view by, bool descending) {
    return cold_sql(Dialect::kPostgres, {.table = job, .order_by = by, .descending = descending});
  };
  EXPECT_TRUE(
      order("ended_at", true).ends_with("\"ended_at\" DESC NULLS LAST, \"id\" DESC LIMIT $2 OFFSET $3"));
  EXPECT_TRUE(order("created_at", true).ends_with("\"created_at\" DESC, \"id\" DESC LIMIT $2 OFFSET $3"));
}

}  // namespace
}  // namespace ctrlplane::store
