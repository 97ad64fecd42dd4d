// What both SQLite stores read, on whichever connection they have: anything with exec() and prepare().
#pragma once

#include "base/log.h"
#include "store/output.h"
#include "store/sql.h"
#include "store/sqlite/db.h"

namespace ctrlplane::store::reading {

inline constexpr Dialect kDialect = Dialect::kSqlite;

Uuid uuid_at(const Statement& s, int at);
Owner owner_at(const Statement& s);
// Reads the remaining rows of a statement over `table`.
Status each_row(Statement& s, const Table& table, const EntitySink& sink);
// Returns the number of the next parameter.
int bind_conditions(Statement& s, const WorkspaceId& workspace, const ColdQuery& query);
Result<std::vector<OutputChunk>> output_of(Statement& s, WorkspaceId workspace, JobId job, int64_t from,
                                           int64_t max_bytes);

// Ends the read transaction, and with it the snapshot, on every path.
template <class Connection>
struct Transaction {
  Connection& db;
  ~Transaction() {
    if (auto ended = db.exec("ROLLBACK"); !ended)
      log::warn("cannot end a read", {{"error", ended.error().message}});
  }
};

// Every hot row in one snapshot; with a token only if it is still in place.
template <class Connection>
Result<Owner> load(Connection& db, WorkspaceId workspace, const Token* token, const EntitySink& sink) {
  TRY(db.exec("BEGIN"));
  Transaction<Connection> snapshot{db};
  StatementUse s(*TRY(db.prepare(owner_sql(kDialect))));
  s->bind(1, workspace.uuid);
  if (!TRY(s->step()))
    return fail(token ? ErrorCode::kConflict : ErrorCode::kNotFound, "the workspace has no owner");
  const Owner owner = owner_at(*s.operator->());
  if (token && owner.token != *token)
    return fail(ErrorCode::kConflict, "the workspace has been acquired by another owner");
  for (const Table& table : tables()) {
    const std::string sql = hot_sql(kDialect, table);
    if (sql.empty()) continue;
    Statement& rows = *TRY(db.prepare(sql));
    StatementUse use(rows);
    use->bind(1, workspace.uuid);
    TRY(each_row(rows, table, sink));
  }
  return owner;
}

template <class Connection>
Result<std::vector<Owner>> owners(Connection& db) {
  StatementUse s(*TRY(db.prepare(all_owners_sql())));
  std::vector<Owner> out;
  while (TRY(s->step())) out.push_back(owner_at(*s.operator->()));
  return out;
}

// `query` has passed check_query.
template <class Connection>
Result<std::vector<Entity>> rows(Connection& db, WorkspaceId workspace, const ColdQuery& query) {
  Statement& s = *TRY(db.prepare(cold_sql(kDialect, query)));
  StatementUse use(s);
  int at = bind_conditions(s, workspace, query);
  s.bind(at++, query.limit);
  s.bind(at++, query.offset);
  std::vector<Entity> out;
  TRY(each_row(s, *query.table, [&](Entity&& e) { out.push_back(std::move(e)); }));
  return out;
}

template <class Connection>
Result<int64_t> count(Connection& db, WorkspaceId workspace, const ColdQuery& query) {
  Statement& s = *TRY(db.prepare(count_sql(kDialect, query)));
  StatementUse use(s);
  bind_conditions(s, workspace, query);
  TRY(s.step());
  return s.integer(0);
}

}  // namespace ctrlplane::store::reading
