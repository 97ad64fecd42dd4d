#include "store/postgres/postgres_store.h"

#include <fmt/core.h>

#include "base/log.h"
#include "store/migrations.h"
#include "store/postgres/copy_reader.h"
#include "store/sql.h"

namespace ctrlplane::store {
namespace {

constexpr Dialect kDialect = Dialect::kPostgres;

// First start and migrations of all replicas queue up behind this lock. Any number will do.
constexpr int64_t kMigrationLock = 0x6374726c706c616e;

constexpr const char* kBeat =
    "INSERT INTO replica AS r (id, address, version, leaving, beat) VALUES ($1, $2, $3, $4, 1) "
    "ON CONFLICT (id) DO UPDATE SET address = excluded.address, version = excluded.version, "
    "leaving = excluded.leaving, beat = r.beat + 1";

// The row that is there already is touched, because only a row that was written is returned.
constexpr const char* kClusterSecret =
    "INSERT INTO cluster AS c (one, secret) VALUES (1, $1) "
    "ON CONFLICT (one) DO UPDATE SET secret = c.secret RETURNING secret";

Owner owner_at(const PgResult& r, int row) {
  Owner o{{r.uuid(row, 0)},
          {r.uuid(row, 1)},
          {r.uuid(row, 2)},
          r.integer(row, 3),
          r.integer(row, 4),
          {r.integer(row, 5)},
          {}};
  if (!std::holds_alternative<Null>(r.cell(row, 6, ColumnType::kInt)))
    o.next_due_at = Time{r.integer(row, 6)};
  return o;
}

PgParams workspace_params(const WorkspaceId& workspace) {
  PgParams p;
  p.add(workspace.uuid);
  return p;
}

PgParams condition_params(const WorkspaceId& workspace, const ColdQuery& query) {
  PgParams p = workspace_params(workspace);
  each_condition_value(query, [&](const CellView& value, ColumnType type) { p.add(value, type); });
  return p;
}

// Everything reported durable rests on these.
Status check_settings(PgConnection& c) {
  PgResult r =
      TRY(c.exec("SELECT current_setting('fsync'), current_setting('synchronous_commit'), "
                 "current_setting('server_encoding')"));
  const std::string fsync = r.text(0, 0), synchronous = r.text(0, 1), encoding = r.text(0, 2);
  if (fsync != "on")
    return fail(ErrorCode::kConflict,
                "PostgreSQL runs with fsync=off: a power cut would lose commits that were "
                "reported durable. Set fsync=on.");
  if (synchronous == "off" || synchronous == "local")
    return fail(
        ErrorCode::kConflict,
        fmt::format("PostgreSQL runs with synchronous_commit={}: commits would be reported durable before "
                    "they are. Set it to on, remote_write or remote_apply.",
                    synchronous));
  if (encoding != "UTF8")
    return fail(ErrorCode::kConflict, fmt::format("the database has encoding {}, not UTF8", encoding));
  return {};
}

// Keeps the connection only if the transaction could be ended.
void end_transaction(PgConnection& c) {
  if (!c.broken() && !c.script("ROLLBACK")) c.set_broken();
}

Status migrate_in_transaction(PgConnection& c) {
  TRY(c.script(
      fmt::format("BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({})", kMigrationLock),
      true));
  TRY(c.script(std::string(kCreateSchemaInfo)));
  SchemaInfo present;
  PgResult info = TRY(c.exec(std::string(kReadSchemaInfo)));
  if (info.rows() > 0) present = {info.integer(0, 0), info.integer(0, 1)};
  const std::string script = TRY(upgrade_script(kDialect, present, migrations()));
  if (!script.empty()) TRY(c.script(script, true));
  return c.script("COMMIT");
}

Result<Owner> load_in_transaction(PgConnection& c, WorkspaceId workspace, const Token* token,
                                  const EntitySink& sink) {
  // A big workspace may take longer than any other statement is allowed to.
  TRY(c.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0"));
  PgResult r = TRY(c.exec(owner_sql(kDialect), workspace_params(workspace)));
  if (r.rows() == 0)
    return fail(token ? ErrorCode::kConflict : ErrorCode::kNotFound, "the workspace has no owner");
  const Owner owner = owner_at(r, 0);
  if (token && owner.token != *token)
    return fail(ErrorCode::kConflict, "the workspace has been acquired by another owner");
  // COPY has the least work per row on both sides and streams; it takes no parameters.
  const std::string id = fmt::format("'{}'::uuid", workspace.str());
  for (const Table& table : tables()) {
    const std::string rows = hot_sql(kDialect, table, id);
    if (rows.empty()) continue;
    CopyReader reader(table, sink);
    TRY(c.copy_out(fmt::format("COPY ({}) TO STDOUT (FORMAT binary)", rows),
                   [&](std::string_view message) { return reader.take(message); }));
  }
  return owner;
}

}  // namespace

Result<std::unique_ptr<PostgresStore>> PostgresStore::open(const std::string& conninfo,
                                                           const PostgresOptions& options) {
  std::unique_ptr<PostgresStore> store(new PostgresStore(conninfo, options));
  auto c = TRY(store->pool_.lease());
  TRY(check_settings(*c));
  return store;
}

Status PostgresStore::migrate() {
  auto c = TRY(pool_.lease());
  TRY(check_settings(*c));
  PgResult standby = TRY(c->exec("SELECT current_setting('synchronous_standby_names')"));
  if (standby.text(0, 0).empty())
    log::warn("PostgreSQL has no synchronous standby: losing the server's disk loses commits");
  Status done = migrate_in_transaction(*c);
  if (!done) end_transaction(*c);
  return done;
}

Result<Owner> PostgresStore::acquire(WorkspaceId workspace, ReplicaId replica, Token expected, Token token) {
  auto c = TRY(pool_.lease());
  PgParams params;
  params.add(workspace.uuid);
  params.add(replica.uuid);
  params.add(token.uuid);
  params.add(expected.uuid);
  const int64_t warnings = c->warnings();
  // One statement is one transaction. It waits for the row lock that a running commit holds.
  PgResult r =
      TRY(c->exec(expected.is_nil() ? acquire_first_sql(kDialect) : acquire_next_sql(kDialect), params));
  if (c->warnings() != warnings)
    return fail(ErrorCode::kUnavailable, "PostgreSQL warned: " + c->last_warning());
  if (r.rows() == 0) return fail(ErrorCode::kConflict, "the workspace has been acquired by another owner");
  return owner_at(r, 0);
}

Status PostgresStore::release(WorkspaceId workspace, Token token) {
  auto c = TRY(pool_.lease());
  PgParams params = workspace_params(workspace);
  params.add(token.uuid);
  TRY(c->exec(release_sql(kDialect), params));
  return {};
}

Result<Owner> PostgresStore::load_rows(WorkspaceId workspace, const Token* token, const EntitySink& sink) {
  auto c = TRY(pool_.lease());
  auto owner = load_in_transaction(*c, workspace, token, sink);
  end_transaction(*c);
  return owner;
}

Result<Owner> PostgresStore::load(WorkspaceId workspace, Token token, const EntitySink& sink) {
  return load_rows(workspace, &token, sink);
}

Result<Owner> PostgresStore::snapshot(WorkspaceId workspace, const EntitySink& sink) {
  return load_rows(workspace, nullptr, sink);
}

Status PostgresStore::ensure_pipeline() {
  if (pipeline_ && !pipeline_->broken()) return {};
  pipeline_.reset();
  auto c = TRY(PgConnection::connect(conninfo_, options_));
  TRY(check_settings(*c));
  pipeline_ = TRY(CommitPipeline::start(std::move(c)));
  return {};
}

std::vector<CommitOutcome> PostgresStore::commit(std::span<const Commit> commits) {
  std::lock_guard hold(committing_);
  if (auto ready = ensure_pipeline(); !ready) {
    log::error("cannot commit", {{"error", ready.error().message}});
    return std::vector<CommitOutcome>(commits.size(), CommitOutcome::kInDoubt);
  }
  auto outcomes = pipeline_->commit(commits);
  // Closed at once, so that the server undoes a transaction whose Sync was not sent and frees its locks.
  if (pipeline_->broken()) pipeline_.reset();
  return outcomes;
}

Status PostgresStore::ensure_beats() {
  if (beats_ && !beats_->broken()) return {};
  beats_.reset();
  beats_ = TRY(PgConnection::connect(conninfo_, options_));
  return {};
}

Status PostgresStore::beat(const Replica& replica) {
  std::lock_guard hold(beating_);
  TRY(ensure_beats());
  PgParams params;
  params.add(replica.id.uuid);
  const CellView address = std::string_view(replica.address), version = std::string_view(replica.version);
  params.add(address, ColumnType::kText);
  params.add(version, ColumnType::kText);
  params.add(int64_t{replica.leaving});
  TRY(beats_->exec(kBeat, params));
  return {};
}

Status PostgresStore::forget(ReplicaId replica) {
  std::lock_guard hold(beating_);
  TRY(ensure_beats());
  PgParams params;
  params.add(replica.uuid);
  TRY(beats_->exec("DELETE FROM replica WHERE id = $1", params));
  return {};
}

Result<std::string> PostgresStore::cluster_secret(const std::string& candidate) {
  auto c = TRY(pool_.lease());
  PgParams params;
  const CellView secret = std::string_view(candidate);
  params.add(secret, ColumnType::kText);
  return TRY(c->exec(kClusterSecret, params)).text(0, 0);
}

Result<std::vector<Replica>> PostgresStore::replicas() {
  auto c = TRY(pool_.lease());
  PgResult r = TRY(c->exec("SELECT id, address, version, beat, leaving FROM replica ORDER BY id"));
  std::vector<Replica> out;
  for (int i = 0; i < r.rows(); ++i)
    out.push_back({{r.uuid(i, 0)}, r.text(i, 1), r.text(i, 2), r.integer(i, 3), r.integer(i, 4) != 0});
  return out;
}

Result<std::vector<Owner>> PostgresStore::owners() {
  auto c = TRY(pool_.lease());
  PgResult r = TRY(c->exec(all_owners_sql()));
  std::vector<Owner> out;
  for (int i = 0; i < r.rows(); ++i) out.push_back(owner_at(r, i));
  return out;
}

Result<std::vector<Entity>> PostgresStore::read(WorkspaceId workspace, const ColdQuery& query) {
  TRY(check_query(query));
  auto c = TRY(pool_.lease());
  const Table& table = *query.table;
  PgParams params = condition_params(workspace, query);
  params.add(query.limit);
  params.add(query.offset);
  PgResult r = TRY(c->exec(cold_sql(kDialect, query), params));
  std::vector<Entity> out;
  std::vector<CellView> cells(table.columns.size());
  for (int row = 0; row < r.rows(); ++row) {
    for (size_t i = 0; i < cells.size(); ++i)
      cells[i] = r.cell(row, static_cast<int>(i), table.columns[i].type);
    out.push_back(TRY(read_row(table_index(table), cells)));
  }
  return out;
}

Result<int64_t> PostgresStore::count(WorkspaceId workspace, const ColdQuery& query) {
  TRY(check_query(query));
  auto c = TRY(pool_.lease());
  return TRY(c->exec(count_sql(kDialect, query), condition_params(workspace, query))).integer(0, 0);
}

Result<int64_t> PostgresStore::prune(WorkspaceId workspace, const Table& table, std::string_view column,
                                     int64_t before, int64_t limit) {
  auto c = TRY(pool_.lease());
  PgParams params = workspace_params(workspace);
  params.add(before);
  params.add(limit);
  std::string sql = prune_sql(kDialect, table, column);
  if (&table != &table_for<Job>()) return TRY(c->exec(sql, params)).affected();
  sql = fmt::format(
      "WITH gone AS ({}), output AS (DELETE FROM job_output WHERE workspace_id = $1 "
      "AND job_id IN (SELECT id FROM gone)) SELECT count(*) FROM gone",
      sql);
  return TRY(c->exec(sql, params)).integer(0, 0);
}

Result<int64_t> PostgresStore::prune_parts(WorkspaceId workspace, Duration age, int64_t limit) {
  auto c = TRY(pool_.lease());
  PgParams params = workspace_params(workspace);
  params.add(age.us);
  params.add(limit);
  return TRY(c->exec(prune_parts_sql(kDialect), params)).affected();
}

}  // namespace ctrlplane::store
