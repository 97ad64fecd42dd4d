#include "store/sqlite/read_only_store.h"

#include "store/output.h"
#include "store/sql.h"

namespace ctrlplane::store {
namespace {

constexpr Dialect kDialect = Dialect::kSqlite;

Uuid uuid_at(const Statement& s, int at) {
  const CellView cell = s.column(at, ColumnType::kUuid);
  const auto* u = std::get_if<Uuid>(&cell);
  return u ? *u : Uuid{};
}

Owner owner_at(const Statement& s) {
  Owner o{{uuid_at(s, 0)}, {uuid_at(s, 1)}, {uuid_at(s, 2)}, s.integer(3), s.integer(4), {s.integer(5)}, {}};
  if (!std::holds_alternative<Null>(s.column(6, ColumnType::kInt))) o.next_due_at = Time{s.integer(6)};
  return o;
}

Status each_row(Statement& s, const Table& table, const EntitySink& sink) {
  const size_t index = table_index(table);
  std::vector<CellView> cells(table.columns.size());
  while (TRY(s.step())) {
    for (size_t i = 0; i < cells.size(); ++i) cells[i] = s.column(static_cast<int>(i), table.columns[i].type);
    sink(TRY(read_row(index, cells)));
  }
  return {};
}

int bind_conditions(Statement& s, const WorkspaceId& workspace, const ColdQuery& query) {
  int at = 1;
  s.bind(at++, workspace.uuid);
  each_condition_value(query, [&](const CellView& value, ColumnType type) { s.bind(at++, value, type); });
  return at;
}

struct ReadTransaction {
  ReadOnlyDb& db;
  ~ReadTransaction() { (void)db.exec("ROLLBACK"); }
};

}  // namespace

Result<Owner> ReadOnlySqliteStore::load_rows(WorkspaceId workspace, const Token* token,
                                             const EntitySink& sink) {
  std::lock_guard hold(mutex_);
  TRY(db_->exec("BEGIN"));
  ReadTransaction snapshot{*db_};
  StatementUse s(*TRY(db_->prepare(owner_sql(kDialect))));
  s->bind(1, workspace.uuid);
  if (!TRY(s->step()))
    return fail(token ? ErrorCode::kConflict : ErrorCode::kNotFound, "the workspace has no owner");
  const Owner owner = owner_at(*s.operator->());
  if (token && owner.token != *token)
    return fail(ErrorCode::kConflict, "the workspace has been acquired by another owner");
  for (const Table& table : tables()) {
    const std::string sql = hot_sql(kDialect, table);
    if (sql.empty()) continue;
    Statement& rows = *TRY(db_->prepare(sql));
    StatementUse use(rows);
    use->bind(1, workspace.uuid);
    TRY(each_row(rows, table, sink));
  }
  return owner;
}

Result<Owner> ReadOnlySqliteStore::load(WorkspaceId workspace, Token token, const EntitySink& sink) {
  return load_rows(workspace, &token, sink);
}

Result<Owner> ReadOnlySqliteStore::snapshot(WorkspaceId workspace, const EntitySink& sink) {
  return load_rows(workspace, nullptr, sink);
}

Result<std::vector<Owner>> ReadOnlySqliteStore::owners() {
  std::lock_guard hold(mutex_);
  StatementUse s(*TRY(db_->prepare(all_owners_sql())));
  std::vector<Owner> out;
  while (TRY(s->step())) out.push_back(owner_at(*s.operator->()));
  return out;
}

Result<std::vector<Entity>> ReadOnlySqliteStore::read(WorkspaceId workspace, const ColdQuery& query) {
  TRY(check_query(query));
  std::lock_guard hold(mutex_);
  Statement& s = *TRY(db_->prepare(cold_sql(kDialect, query)));
  StatementUse use(s);
  int at = bind_conditions(s, workspace, query);
  s.bind(at++, query.limit);
  s.bind(at++, query.offset);
  std::vector<Entity> out;
  TRY(each_row(s, *query.table, [&](Entity&& e) { out.push_back(std::move(e)); }));
  return out;
}

Result<int64_t> ReadOnlySqliteStore::count(WorkspaceId workspace, const ColdQuery& query) {
  TRY(check_query(query));
  std::lock_guard hold(mutex_);
  Statement& s = *TRY(db_->prepare(count_sql(kDialect, query)));
  StatementUse use(s);
  bind_conditions(s, workspace, query);
  TRY(s.step());
  return s.integer(0);
}

Result<std::vector<OutputChunk>> ReadOnlySqliteStore::read_output(WorkspaceId workspace, JobId job,
                                                                  int64_t from, int64_t max_bytes) {
  std::lock_guard hold(mutex_);
  Statement& s = *TRY(db_->prepare(read_output_sql(kDialect)));
  return collect_output(from, max_bytes,
                        [&](int64_t after, int64_t rows) -> Result<std::vector<OutputChunk>> {
                          StatementUse use(s);
                          use->bind(1, workspace.uuid);
                          use->bind(2, job.uuid);
                          use->bind(3, after);
                          use->bind(4, rows);
                          std::vector<OutputChunk> page;
                          while (TRY(use->step())) {
                            const CellView text = use->column(1, ColumnType::kBytes);
                            const auto* bytes = std::get_if<std::string_view>(&text);
                            page.push_back({job, use->integer(0), std::string(bytes ? *bytes : "")});
                          }
                          return page;
                        });
}

}  // namespace ctrlplane::store
