#include "store/postgres/pipeline.h"

#include <cstring>

#include <fmt/core.h>
#include <libpq-fe.h>

#include "base/log.h"
#include "store/sql.h"

namespace ctrlplane::store {
namespace {

// Takes the row's lock and raises if it does not fit. It must raise: an UPDATE of no row is no error,
// and what follows in the pipeline would be committed before the client has seen the count. And it
// must lock: a plain SELECT would let a deposed owner commit beside its successor.
constexpr const char* kFence =
    "WITH f AS (UPDATE workspace_owner SET seq = $3, last_now = $4, next_due_at = $5 "
    "WHERE workspace_id = $1 AND token = $2 AND seq = $3 - 1 RETURNING 1) SELECT 1 / count(*) FROM f";
constexpr const char* kDivisionByZero = "22012";

constexpr size_t kStatementsPerPump = 32;

}  // namespace

Result<std::unique_ptr<CommitPipeline>> CommitPipeline::start(std::unique_ptr<PgConnection> connection) {
  std::unique_ptr<CommitPipeline> p(new CommitPipeline(std::move(connection)));
  if (!PQenterPipelineMode(p->connection_->raw()))
    return std::unexpected(p->connection_->error("entering pipeline mode"));
  TRY(p->prepare_all());
  return p;
}

Status CommitPipeline::prepare_all() {
  auto prepare = [&](const std::string& name, const std::string& sql,
                     const std::vector<Oid>& types) -> Status {
    if (PQsendPrepare(connection_->raw(), name.c_str(), sql.c_str(), static_cast<int>(types.size()),
                      types.data()))
      return {};
    return std::unexpected(connection_->error("preparing"));
  };
  const Oid uuid = pg_type(ColumnType::kUuid), bigint = pg_type(ColumnType::kInt);
  groups_.assign(1, {});
  syncs_ = answered_ = 0;
  first_error_.clear();
  TRY(prepare("fence", kFence, {uuid, uuid, bigint, bigint, bigint}));
  for (size_t t = 0; t < tables().size(); ++t) {
    const Table& table = tables()[t];
    std::vector<Oid> types = {uuid};
    for (const Column& c : table.columns) types.push_back(pg_type(c.type));
    upserts_.push_back(fmt::format("put_{}", table.name));
    erases_.push_back(fmt::format("erase_{}", table.name));
    TRY(prepare(upserts_[t], upsert_sql(Dialect::kPostgres, table), types));
    types.resize(table.key_count() + 1);
    TRY(prepare(erases_[t], erase_sql(Dialect::kPostgres, table), types));
  }
  TRY(sync());
  TRY(pump(true));
  if (groups_[0].failed) return fail(ErrorCode::kUnavailable, "PostgreSQL: preparing: " + first_error_);
  return {};
}

Status CommitPipeline::send_statement(const char* name) {
  if (!PQsendQueryPrepared(connection_->raw(), name, params_.count(), params_.values(), params_.lengths(),
                           params_.formats(), 1)) {
    connection_->set_broken();
    return std::unexpected(connection_->error("sending"));
  }
  if (++unpumped_ < kStatementsPerPump) return {};
  unpumped_ = 0;
  return pump(false);
}

Status CommitPipeline::sync() {
  if (!PQpipelineSync(connection_->raw())) {
    connection_->set_broken();
    return std::unexpected(connection_->error("sending"));
  }
  ++syncs_;
  return {};
}

Status CommitPipeline::send(const Commit& commit) {
  params_.clear();
  params_.add(commit.workspace.uuid);
  params_.add(commit.token.uuid);
  params_.add(commit.seq);
  params_.add(commit.now.us);
  if (commit.next_due_at)
    params_.add(commit.next_due_at->us);
  else
    params_.add_null(ColumnType::kInt);
  TRY(send_statement("fence"));
  for (const Change& change : commit.changes) {
    const size_t index = change.entity.index();
    const Table& table = tables()[index];
    const bool put = change.op == Change::Op::kPut;
    const std::vector<CellView>& cells = rows_.write(change.entity);
    const size_t count = put ? cells.size() : table.key_count();
    params_.clear();
    params_.add(commit.workspace.uuid);
    for (size_t i = 0; i < count; ++i) params_.add(cells[i], table.columns[i].type);
    TRY(send_statement((put ? upserts_ : erases_)[index].c_str()));
  }
  return sync();
}

std::vector<CommitOutcome> CommitPipeline::commit(std::span<const Commit> commits) {
  groups_.assign(commits.size(), {});
  syncs_ = answered_ = unpumped_ = 0;
  first_error_.clear();
  const int64_t warnings = connection_->warnings();
  Status done;
  for (size_t i = 0; i < commits.size() && done; ++i) done = send(commits[i]);
  if (done) done = pump(true);
  if (done && connection_->warnings() != warnings) {
    for (Group& g : groups_) g.failed = true;
    done = fail(ErrorCode::kUnavailable, "PostgreSQL warned: " + connection_->last_warning());
  }
  // A group cut short in the middle must never see a Sync: closing the connection undoes it.
  if (!done) connection_->set_broken();
  if (!done || !first_error_.empty())
    log::error("a commit failed", {{"error", done ? first_error_ : done.error().message}});
  std::vector<CommitOutcome> outcomes;
  for (const Group& g : groups_) {
    if (g.fenced)
      outcomes.push_back(CommitOutcome::kFenced);
    else
      outcomes.push_back(g.finished && !g.failed ? CommitOutcome::kDurable : CommitOutcome::kInDoubt);
  }
  return outcomes;
}

Status CommitPipeline::pump(bool finish) {
  while (true) {
    const bool unsent = TRY(connection_->flush());
    take_answers();
    if (connection_->broken()) return std::unexpected(connection_->error("receiving"));
    // In the middle there is nothing to wait for but room: the server answers when it likes, at the
    // latest at the Sync. Waiting for room keeps the send buffer small.
    if (finish ? answered_ == syncs_ : !unsent) return {};
    TRY(connection_->wait(unsent));
  }
}

// All that has come. Each statement gives its result and then a null; a Sync gives one result.
void CommitPipeline::take_answers() {
  PGconn* conn = connection_->raw();
  int nulls = 0;  // several in a row: nothing more is queued
  while (answered_ < groups_.size() && nulls < 3 && PQstatus(conn) == CONNECTION_OK && !PQisBusy(conn)) {
    PgResult r(PQgetResult(conn));
    nulls = r.raw() ? 0 : nulls + 1;
    if (r.raw()) take_answer(r.raw());
  }
}

void CommitPipeline::take_answer(pg_result* r) {
  Group& group = groups_[answered_];
  switch (PQresultStatus(r)) {
    case PGRES_PIPELINE_SYNC:
      group.finished = true;
      ++answered_;
      return;
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK: break;
    case PGRES_PIPELINE_ABORTED: group.failed = true; break;
    default: {
      const char* state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
      group.failed = true;
      if (group.answers == 0 && state && std::strcmp(state, kDivisionByZero) == 0)
        group.fenced = true;
      else if (first_error_.empty())
        first_error_ = PQresultErrorMessage(r);
    }
  }
  ++group.answers;
}

}  // namespace ctrlplane::store
