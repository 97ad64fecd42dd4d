#include "store/sql.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"

namespace ctrlplane::store {
namespace {

std::string quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

std::string parameter(Dialect dialect, size_t n) {
  return fmt::format("{}{}", dialect == Dialect::kSqlite ? '?' : '$', n);
}

// "a", "b", "c" of columns [from, to).
std::string column_list(const Table& table, size_t from, size_t to) {
  std::string out;
  for (size_t i = from; i < to; ++i) {
    if (i > from) out += ", ";
    out += quoted(table.columns[i].name);
  }
  return out;
}

// Filter values are constants of ours, so they never contain a quote.
std::string literal(const CellView& cell) {
  if (const auto* i = std::get_if<int64_t>(&cell)) return std::to_string(*i);
  const auto* text = std::get_if<std::string_view>(&cell);
  CHECK(text && text->find('\'') == std::string_view::npos, "hot filter values are plain ints or words");
  return fmt::format("'{}'", *text);
}

// The condition, or its opposite. One value is compared with =, because SQLite does not see that
// IN (1) implies the `= 1` of a partial index.
std::string hot_condition(const HotFilter& hot, bool cold = false) {
  if (hot.values.size() == 1)
    return fmt::format("{} {} {}", quoted(hot.column), cold ? "<>" : "=", literal(hot.values[0]));
  std::string values;
  for (const CellView& v : hot.values) values += (values.empty() ? "" : ", ") + literal(v);
  return fmt::format("{} {} ({})", quoted(hot.column), cold ? "NOT IN" : "IN", values);
}

// Without statistics SQLite prefers the primary key, and would read every job there ever was.
std::string hot_index(Dialect dialect, std::string_view table) {
  return dialect == Dialect::kSqlite ? fmt::format(" INDEXED BY {}_hot", table) : "";
}

template <size_t... I>
Entity blank_entity(size_t index, std::index_sequence<I...>) {
  using Make = Entity (*)();
  constexpr Make make[] = {[] { return Entity(std::in_place_index<I>); }...};
  return make[index]();
}

}  // namespace

std::string with_parameters(Dialect dialect, std::string_view text) {
  std::string out(text);
  if (dialect == Dialect::kSqlite)
    for (char& c : out)
      if (c == '$') c = '?';
  return out;
}

std::string upsert_sql(Dialect dialect, const Table& table) {
  const size_t keys = table.key_count(), n = table.columns.size();
  std::string sql = fmt::format("INSERT INTO {} (workspace_id, {}) VALUES ({}", quoted(table.name),
                                column_list(table, 0, n), parameter(dialect, 1));
  for (size_t i = 0; i < n; ++i) sql += ", " + parameter(dialect, i + 2);
  sql += fmt::format(") ON CONFLICT (workspace_id, {}) DO ", column_list(table, 0, keys));
  if (keys == n) return sql + "NOTHING";
  if (table.write_once)
    return sql + fmt::format(
                     "UPDATE SET stored_at = excluded.stored_at WHERE {0}.stored_at IS NULL "
                     "OR {0}.stored_at < excluded.stored_at - {1}",
                     quoted(table.name), kPartFresh.us);
  sql += "UPDATE SET ";
  for (size_t i = keys; i < n; ++i) {
    std::string name = quoted(table.columns[i].name);
    sql += fmt::format("{}{} = excluded.{}", i > keys ? ", " : "", name, name);
  }
  return sql;
}

std::string erase_sql(Dialect dialect, const Table& table) {
  std::string sql =
      fmt::format("DELETE FROM {} WHERE workspace_id = {}", quoted(table.name), parameter(dialect, 1));
  for (size_t i = 0; i < table.key_count(); ++i)
    sql += fmt::format(" AND {} = {}", quoted(table.columns[i].name), parameter(dialect, i + 2));
  return sql;
}

std::string hot_sql(Dialect dialect, const Table& table, std::string_view workspace) {
  const HotFilter& hot = table.hot;
  if (hot.kind == HotFilter::Kind::kNone) return {};
  const bool filtered = hot.kind == HotFilter::Kind::kWhere;
  const std::string mine = "workspace_id = " + with_parameters(dialect, workspace);
  std::string condition = filtered ? " AND " + hot_condition(hot) : "";
  if (hot.kind == HotFilter::Kind::kOf)
    condition =
        fmt::format(" AND {} IN (SELECT id FROM {}{} WHERE {} AND {})", quoted(hot.column), quoted(hot.table),
                    hot_index(dialect, hot.table), mine, hot_condition(table_named(hot.table).hot));
  return fmt::format("SELECT {} FROM {}{} WHERE {}{}", column_list(table, 0, table.columns.size()),
                     quoted(table.name), filtered ? hot_index(dialect, table.name) : "", mine, condition);
}

size_t among_slots(const std::vector<CellView>& values) {
  const auto given = static_cast<size_t>(std::count_if(
      values.begin(), values.end(), [](const CellView& v) { return !std::holds_alternative<Null>(v); }));
  return given == 0 ? 0 : std::bit_ceil(given);
}

// " AND …" for each condition; `next` is the number of the next parameter.
static std::string cold_conditions(Dialect dialect, const ColdQuery& query, size_t& next) {
  const Table& table = *query.table;
  std::string sql;
  for (const auto& [name, value] : query.equals) {
    table.column(name);  // aborts on a name that is none: SQLite would read it as a string
    if (std::holds_alternative<Null>(value))
      sql += fmt::format(" AND {} IS NULL", quoted(name));
    else
      sql += fmt::format(" AND {} = {}", quoted(name), parameter(dialect, next++));
  }
  for (const auto& [name, values] : query.among) {
    table.column(name);
    const size_t slots = among_slots(values);
    std::string list;
    for (size_t i = 0; i < slots; ++i) list += (i ? ", " : "") + parameter(dialect, next++);
    const bool null = std::find(values.begin(), values.end(), CellView(Null{})) != values.end();
    std::string one_of = slots ? fmt::format("{} IN ({})", quoted(name), list) : "";
    if (null) one_of = fmt::format("({}{}{} IS NULL)", one_of, slots ? " OR " : "", quoted(name));
    sql += " AND " + (one_of.empty() ? std::string("1 = 0") : one_of);
  }
  for (std::string_view name : query.present) {
    table.column(name);
    sql += fmt::format(" AND {} IS NOT NULL", quoted(name));
  }
  return sql;
}

void each_condition_value(const ColdQuery& query,
                          const std::function<void(const CellView&, ColumnType)>& add) {
  const Table& table = *query.table;
  const auto given = [](const CellView& v) { return !std::holds_alternative<Null>(v); };
  for (const auto& [name, value] : query.equals)
    if (given(value)) add(value, table.columns[table.column(name)].type);
  for (const auto& [name, values] : query.among) {
    size_t left = among_slots(values);
    const CellView* last = nullptr;
    for (const CellView& v : values)
      if (given(v)) {
        last = &v;
        --left;
        add(v, table.columns[table.column(name)].type);
      }
    for (; left > 0; --left) add(*last, table.columns[table.column(name)].type);
  }
}

Status check_query(const ColdQuery& query) {
  for (const auto& [name, values] : query.among)
    if (values.size() > kMaxAmong)
      return fail(ErrorCode::kInvalid, fmt::format("more than {} values for {}", kMaxAmong, name));
  return {};
}

std::string cold_sql(Dialect dialect, const ColdQuery& query) {
  const Table& table = *query.table;
  size_t next = 2;
  std::string sql =
      fmt::format("SELECT {} FROM {} WHERE workspace_id = {}{}", column_list(table, 0, table.columns.size()),
                  quoted(table.name), parameter(dialect, 1), cold_conditions(dialect, query, next));
  sql += " ORDER BY ";
  const char* direction = query.descending ? " DESC" : "";
  if (!query.order_by.empty()) {
    sql += quoted(query.order_by) + direction;
    // Said only where it matters: it keeps PostgreSQL from using an index of the default order.
    if (dialect == Dialect::kPostgres && nullable_columns(table)[table.column(query.order_by)])
      sql += query.descending ? " NULLS LAST" : " NULLS FIRST";
    sql += ", ";
  }
  for (size_t i = 0; i < table.key_count(); ++i)
    sql += fmt::format("{}{}{}", i ? ", " : "", quoted(table.columns[i].name), direction);
  return sql + fmt::format(" LIMIT {} OFFSET {}", parameter(dialect, next), parameter(dialect, next + 1));
}

std::string count_sql(Dialect dialect, const ColdQuery& query) {
  size_t next = 2;
  return fmt::format("SELECT count(*) FROM {} WHERE workspace_id = {}{}", quoted(query.table->name),
                     parameter(dialect, 1), cold_conditions(dialect, query, next));
}

std::string prune_sql(Dialect dialect, const Table& table, std::string_view column) {
  CHECK(table.columns[table.column(column)].type == ColumnType::kInt, "rows are pruned by a time");
  const std::string keys = column_list(table, 0, table.key_count());
  std::string cold;
  if (table.hot.kind == HotFilter::Kind::kWhere) cold = " AND " + hot_condition(table.hot, true);
  const bool jobs = &table == &table_for<Job>();
  return with_parameters(
      dialect, fmt::format("DELETE FROM {0} WHERE workspace_id = $1 AND ({1}) IN (SELECT {1} FROM {0} "
                           "WHERE workspace_id = $1 AND {2} < $2{3} ORDER BY {2} LIMIT $3){4}",
                           quoted(table.name), keys, quoted(column), cold, jobs ? " RETURNING id" : ""));
}

std::string prune_parts_sql(Dialect dialect) {
  const std::string before = "(SELECT last_now - $2 FROM workspace_owner WHERE workspace_id = $1)";
  const std::string old_jobs =
      fmt::format("FROM job WHERE workspace_id = $1 AND created_at < {} + {}", before, 2 * kPartFresh.us);
  // The age stands outside too: PostgreSQL looks at it again if the row has been put meanwhile.
  return with_parameters(
      dialect,
      fmt::format("DELETE FROM context_part WHERE workspace_id = $1 AND stored_at < {0} AND digest IN "
                  "(SELECT digest FROM context_part WHERE workspace_id = $1 AND stored_at < {0} "
                  "AND digest NOT IN (SELECT shared_part {1} UNION SELECT resource_part {1}) "
                  "ORDER BY stored_at LIMIT $3)",
                  before, old_jobs));
}

std::vector<bool> nullable_columns(const Table& table) {
  const Entity blank =
      blank_entity(table_index(table), std::make_index_sequence<std::variant_size_v<Entity>>());
  RowWriter writer;
  std::vector<bool> out;
  for (const CellView& cell : writer.write(blank)) out.push_back(std::holds_alternative<Null>(cell));
  return out;
}

// An acquisition repeated with the token that is in place changes nothing, yet still takes the row's
// lock: its answer also waits for a commit that is still running under that token.
static constexpr std::string_view kSetOwner =
    "replica = CASE WHEN o.token = $3 THEN o.replica ELSE $2 END, "
    "epoch = CASE WHEN o.token = $3 THEN o.epoch ELSE o.epoch + 1 END, "
    "token = $3 ";

std::string acquire_first_sql(Dialect dialect) {
  return with_parameters(dialect, fmt::format("INSERT INTO workspace_owner AS o ({0}) "
                                              "VALUES ($1, $2, $3, 1, 0, 0, NULL) "
                                              "ON CONFLICT (workspace_id) DO UPDATE SET {1}"
                                              "WHERE o.token IN ($3, $4) RETURNING {0}",
                                              kOwnerColumns, kSetOwner));
}

std::string acquire_next_sql(Dialect dialect) {
  return with_parameters(dialect, fmt::format("UPDATE workspace_owner AS o SET {1}"
                                              "WHERE workspace_id = $1 AND token IN ($3, $4) RETURNING {0}",
                                              kOwnerColumns, kSetOwner));
}

std::string release_sql(Dialect dialect) {
  std::string_view nobody =
      dialect == Dialect::kSqlite ? "zeroblob(16)" : "'00000000-0000-0000-0000-000000000000'";
  return with_parameters(
      dialect,
      fmt::format("UPDATE workspace_owner SET replica = {} WHERE workspace_id = $1 AND token = $2", nobody));
}

std::string owner_sql(Dialect dialect) {
  return with_parameters(
      dialect, fmt::format("SELECT {} FROM workspace_owner WHERE workspace_id = $1", kOwnerColumns));
}

std::string all_owners_sql() {
  return fmt::format("SELECT {} FROM workspace_owner ORDER BY workspace_id", kOwnerColumns);
}

}  // namespace ctrlplane::store
