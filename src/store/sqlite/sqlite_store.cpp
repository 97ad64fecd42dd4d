#include "store/sqlite/sqlite_store.h"

#include <fmt/core.h>

#include "base/check.h"
#include "base/log.h"
#include "store/migrations.h"
#include "store/sql.h"
#include "store/sqlite/reading.h"

namespace ctrlplane::store {
namespace {

constexpr Dialect kDialect = Dialect::kSqlite;

constexpr const char* kFence =
    "UPDATE workspace_owner SET seq = ?3, last_now = ?4, next_due_at = ?5 "
    "WHERE workspace_id = ?1 AND token = ?2 AND seq = ?3 - 1";

}  // namespace

SqliteStore::SqliteStore(std::string path, SqliteOptions options, FileLock lock, std::unique_ptr<Db> writer)
    : path_(std::move(path)),
      options_(std::move(options)),
      lock_(std::move(lock)),
      writer_(std::move(writer)),
      checkpointer_(path_, options_.vfs),
      upserts_(tables().size()),
      erases_(tables().size()) {
  writer_->watch_log();
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path,
                                                       const SqliteOptions& options) {
  CHECK(options.readers > 0, "a store needs a reader");
  FileLock lock = TRY(FileLock::take(path + ".lock"));
  auto writer = TRY(Db::open(path, options.vfs, options.busy_timeout_ms));
  return std::unique_ptr<SqliteStore>(new SqliteStore(path, options, std::move(lock), std::move(writer)));
}

// ---- Writing ---------------------------------------------------------------------------------------

void SqliteStore::roll_back() {
  if (!writer_->in_transaction()) return;
  if (auto done = writer_->exec("ROLLBACK"); !done)
    log::error("cannot roll back", {{"error", done.error().message}});
}

Status SqliteStore::write(const std::function<Status()>& work) {
  if (checkpointer_.rest_is_due())
    if (auto done = writer_->exec("PRAGMA wal_checkpoint(PASSIVE)"); !done)
      log::warn("cannot checkpoint", {{"error", done.error().message}});
  Status done = writer_->exec("BEGIN IMMEDIATE");
  if (done) done = work();
  if (done) done = writer_->exec("COMMIT");
  if (done) checkpointer_.log_has(writer_->log_pages());
  if (!done) roll_back();
  return done;
}

Status SqliteStore::migrate() {
  std::lock_guard hold(writing_);
  return write([&]() -> Status {
    TRY(writer_->exec(std::string(kCreateSchemaInfo)));
    SchemaInfo present;
    StatementUse info(*TRY(writer_->prepare(std::string(kReadSchemaInfo))));
    if (TRY(info->step())) present = {info->integer(0), info->integer(1)};
    info->reset();
    return writer_->exec(TRY(upgrade_script(kDialect, present, migrations())));
  });
}

Result<Owner> SqliteStore::acquire(WorkspaceId workspace, ReplicaId replica, Token expected, Token token) {
  std::lock_guard hold(writing_);
  std::optional<Owner> owner;
  TRY(write([&]() -> Status {
    const std::string sql = expected.is_nil() ? acquire_first_sql(kDialect) : acquire_next_sql(kDialect);
    StatementUse s(*TRY(writer_->prepare(sql)));
    s->bind(1, workspace.uuid);
    s->bind(2, replica.uuid);
    s->bind(3, token.uuid);
    s->bind(4, expected.uuid);
    if (!TRY(s->step()))
      return fail(ErrorCode::kConflict, "the workspace has been acquired by another owner");
    owner = reading::owner_at(*s.operator->());
    return {};
  }));
  return *owner;
}

Status SqliteStore::release(WorkspaceId workspace, Token token) {
  std::lock_guard hold(writing_);
  return write([&]() -> Status {
    StatementUse s(*TRY(writer_->prepare(release_sql(kDialect))));
    s->bind(1, workspace.uuid);
    s->bind(2, token.uuid);
    TRY(s->step());
    return {};
  });
}

Result<Statement*> SqliteStore::row_statement(std::vector<Statement*>& cache, size_t table, bool upsert) {
  Statement*& s = cache[table];
  if (!s) s = TRY(writer_->prepare((upsert ? upsert_sql : erase_sql)(kDialect, tables()[table])));
  return s;
}

Status SqliteStore::apply_rows(const Commit& commit) {
  for (const Change& change : commit.changes) {
    const size_t index = change.entity.index();
    const Table& table = tables()[index];
    const bool put = change.op == Change::Op::kPut;
    Statement& s = *TRY(row_statement(put ? upserts_ : erases_, index, put));
    const std::vector<CellView>& cells = rows_.write(change.entity);
    const size_t count = put ? cells.size() : table.key_count();
    s.bind(1, commit.workspace.uuid);
    for (size_t i = 0; i < count; ++i) s.bind(static_cast<int>(i) + 2, cells[i], table.columns[i].type);
    TRY(s.run());
  }
  return {};
}

Status SqliteStore::apply(const Commit& commit, bool& fenced) {
  Statement& fence = *TRY(writer_->prepare(kFence));
  fence.bind(1, commit.workspace.uuid);
  fence.bind(2, commit.token.uuid);
  fence.bind(3, commit.seq);
  fence.bind(4, commit.now.us);
  if (commit.next_due_at)
    fence.bind(5, commit.next_due_at->us);
  else
    fence.bind_null(5);
  TRY(fence.run());
  fenced = writer_->changes() == 0;
  return fenced ? Status{} : apply_rows(commit);
}

std::vector<CommitOutcome> SqliteStore::commit(std::span<const Commit> commits) {
  std::lock_guard hold(writing_);
  std::vector<CommitOutcome> outcomes(commits.size(), CommitOutcome::kInDoubt);
  Status done = write([&]() -> Status {
    for (size_t i = 0; i < commits.size(); ++i) {
      TRY(writer_->exec("SAVEPOINT one_workspace"));
      bool fenced = false;
      Status applied = apply(commits[i], fenced);
      if (applied && !fenced) {
        outcomes[i] = CommitOutcome::kDurable;
      } else {
        // Some errors (disk full, I/O) end the transaction as a whole; then there is nothing to save.
        if (!writer_->in_transaction()) return applied;
        if (fenced) outcomes[i] = CommitOutcome::kFenced;
        if (!applied) log::error("a commit failed", {{"error", applied.error().message}});
        TRY(writer_->exec("ROLLBACK TO one_workspace"));
      }
      TRY(writer_->exec("RELEASE one_workspace"));
    }
    return {};
  });
  if (!done) {
    log::error("a transaction failed", {{"error", done.error().message}});
    for (CommitOutcome& o : outcomes)
      if (o == CommitOutcome::kDurable) o = CommitOutcome::kInDoubt;
  }
  return outcomes;
}

Result<int64_t> SqliteStore::prune(WorkspaceId workspace, const Table& table, std::string_view column,
                                   int64_t before, int64_t limit) {
  std::lock_guard hold(writing_);
  int64_t gone = 0;
  TRY(write([&]() -> Status {
    StatementUse s(*TRY(writer_->prepare(prune_sql(kDialect, table, column))));
    s->bind(1, workspace.uuid);
    s->bind(2, before);
    s->bind(3, limit);
    if (&table != &table_for<Job>()) {
      TRY(s->step());
      gone = writer_->changes();
      return {};
    }
    std::vector<Uuid> jobs;
    while (TRY(s->step())) jobs.push_back(reading::uuid_at(*s.operator->(), 0));
    Statement& output =
        *TRY(writer_->prepare("DELETE FROM job_output WHERE workspace_id = ?1 AND job_id = ?2"));
    for (const Uuid& job : jobs) {
      output.bind(1, workspace.uuid);
      output.bind(2, job);
      TRY(output.run());
    }
    gone = std::ssize(jobs);
    return {};
  }));
  return gone;
}

Result<int64_t> SqliteStore::prune_parts(WorkspaceId workspace, Duration age, int64_t limit) {
  std::lock_guard hold(writing_);
  int64_t gone = 0;
  TRY(write([&]() -> Status {
    Statement& s = *TRY(writer_->prepare(prune_parts_sql(kDialect)));
    s.bind(1, workspace.uuid);
    s.bind(2, age.us);
    s.bind(3, limit);
    TRY(s.run());
    gone = writer_->changes();
    return {};
  }));
  return gone;
}

// ---- Reading ---------------------------------------------------------------------------------------

void SqliteStore::GiveBack::operator()(Db* db) const {
  std::lock_guard hold(store->readers_mutex_);
  store->idle_readers_.emplace_back(db);
  --store->readers_in_use_;
  store->reader_free_.notify_one();
}

Result<SqliteStore::Reader> SqliteStore::reader() {
  std::unique_lock hold(readers_mutex_);
  reader_free_.wait(hold, [&] { return readers_in_use_ < options_.readers; });
  if (idle_readers_.empty()) {
    auto db = TRY(Db::open(path_, options_.vfs, options_.busy_timeout_ms));
    TRY(db->exec("PRAGMA query_only = ON"));
    idle_readers_.push_back(std::move(db));
  }
  Db* db = idle_readers_.back().release();
  idle_readers_.pop_back();
  ++readers_in_use_;
  return Reader(db, GiveBack{this});
}

Result<Owner> SqliteStore::load(WorkspaceId workspace, Token token, const EntitySink& sink) {
  Reader db = TRY(reader());
  return reading::load(*db, workspace, &token, sink);
}

Result<Owner> SqliteStore::snapshot(WorkspaceId workspace, const EntitySink& sink) {
  Reader db = TRY(reader());
  return reading::load(*db, workspace, nullptr, sink);
}

Result<std::vector<Entity>> SqliteStore::read(WorkspaceId workspace, const ColdQuery& query) {
  TRY(check_query(query));
  Reader db = TRY(reader());
  return reading::rows(*db, workspace, query);
}

Result<int64_t> SqliteStore::count(WorkspaceId workspace, const ColdQuery& query) {
  TRY(check_query(query));
  Reader db = TRY(reader());
  return reading::count(*db, workspace, query);
}

Result<std::vector<Owner>> SqliteStore::owners() {
  Reader db = TRY(reader());
  return reading::owners(*db);
}

// ---- Beats -----------------------------------------------------------------------------------------

Status SqliteStore::forget(ReplicaId replica) {
  std::lock_guard hold(replicas_mutex_);
  replicas_.erase(replica);
  return {};
}

// Nobody to speak to: only one process can have the file open.
Result<std::string> SqliteStore::cluster_secret(const std::string& candidate) { return candidate; }

Status SqliteStore::beat(const Replica& replica) {
  std::lock_guard hold(replicas_mutex_);
  Replica& row = replicas_[replica.id];
  const int64_t beat = row.beat + 1;
  row = replica;
  row.beat = beat;
  return {};
}

Result<std::vector<Replica>> SqliteStore::replicas() {
  std::lock_guard hold(replicas_mutex_);
  std::vector<Replica> out;
  for (const auto& [id, row] : replicas_) out.push_back(row);
  return out;
}

}  // namespace ctrlplane::store
