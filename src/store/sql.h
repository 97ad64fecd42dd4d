// SQL text from table descriptions, for both dialects. Statements name their columns, so a column that
// a newer binary added is left alone. Parameters are numbered: 1 is always the workspace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/row.h"
#include "store/store.h"

namespace ctrlplane::store {

enum class Dialect : uint8_t { kSqlite, kPostgres };

// Text with $1, $2, … in the dialect's own spelling of parameters.
std::string with_parameters(Dialect dialect, std::string_view text);

// Parameters: workspace, then every column.
std::string upsert_sql(Dialect dialect, const Table& table);

// Parameters: workspace, then the key columns.
std::string erase_sql(Dialect dialect, const Table& table);

// The hot rows of a workspace, cells in column order; empty if the table has none. Filter values stand
// in the text, because a partial index is only used for constants. `workspace` is the expression to
// compare with: "$1", or a literal where no parameters are possible (COPY).
std::string hot_sql(Dialect dialect, const Table& table, std::string_view workspace = "$1");

// Parameters: workspace, the values of each_condition_value, limit, offset. NULLs sort as the smallest
// value and ties go by key in the same direction, in both dialects.
std::string cold_sql(Dialect dialect, const ColdQuery& query);
// Parameters: workspace, the values of each_condition_value.
std::string count_sql(Dialect dialect, const ColdQuery& query);
// The values that stand as parameters, in order. A list is filled up to a power of two with its last
// value, so that lists of all lengths share a few statements.
void each_condition_value(const ColdQuery& query,
                          const std::function<void(const CellView&, ColumnType)>& add);
// kInvalid: more values than a statement takes.
Status check_query(const ColdQuery& query);

// Parameters: workspace, before, limit. Spares hot rows of tables that have both kinds; a table that is
// hot as a whole is pruned by the column alone. For jobs it returns their ids: their output goes too.
std::string prune_sql(Dialect dialect, const Table& table, std::string_view column);

// Parameters: workspace, age, limit.
std::string prune_parts_sql(Dialect dialect);

// Columns whose member is an optional; all others are never NULL.
std::vector<bool> nullable_columns(const Table& table);

// ---- workspace_owner: the same statements in both dialects ------------------------------------------

// Column order of every result that returns an owner row.
inline constexpr std::string_view kOwnerColumns =
    "workspace_id, replica, token, epoch, seq, last_now, next_due_at";

// Parameters: workspace, replica, new token, expected token. One row = acquired (or had been already,
// with this token); none = somebody else did. The first creates the row if there is none.
std::string acquire_first_sql(Dialect dialect);
std::string acquire_next_sql(Dialect dialect);
// Parameters: workspace, token.
std::string release_sql(Dialect dialect);

// Parameters: workspace.
std::string owner_sql(Dialect dialect);
std::string all_owners_sql();

}  // namespace ctrlplane::store
