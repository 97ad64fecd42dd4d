// A store in one SQLite file, for one process. One connection writes; a few others read beside it, each
// in the snapshot of its transaction (WAL), and wait for nobody.
//
// Commits of several workspaces share one transaction and one sync. A fenced workspace is rolled back
// to its own savepoint and takes nobody with it; if the shared COMMIT fails, all are in doubt.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/sqlite/checkpointer.h"
#include "store/sqlite/db.h"
#include "store/sqlite/fair_mutex.h"
#include "store/sqlite/file_lock.h"
#include "store/store.h"

namespace ctrlplane::store {

struct SqliteOptions {
  size_t readers = 3;  // reads at once; more wait
  int busy_timeout_ms = 5000;
  std::string vfs = {};  // empty: SQLite's default
};

class SqliteStore final : public Store {
 public:
  // Opens or creates the file and holds `<path>.lock` until destroyed. kConflict: another process (or
  // another store of this one) has it. kInternal: no database, or damaged. Else kUnavailable.
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& path,
                                                   const SqliteOptions& options = {});

  Status migrate() override;
  Result<Owner> acquire(WorkspaceId workspace, ReplicaId replica, Token expected, Token token) override;
  Status release(WorkspaceId workspace, Token token) override;
  Result<Owner> load(WorkspaceId workspace, Token token, const EntitySink& sink) override;
  Result<Owner> snapshot(WorkspaceId workspace, const EntitySink& sink) override;
  std::vector<CommitOutcome> commit(std::span<const Commit> commits) override;
  // Nobody else can have the file open, so nobody could watch a beat: replicas are kept in memory, and
  // a beat waits for no disk.
  bool exclusive() const override { return true; }  // the file lock
  Status beat(const Replica& replica) override;
  Result<std::vector<Replica>> replicas() override;
  Status forget(ReplicaId replica) override;
  Result<std::string> cluster_secret(const std::string& candidate) override;
  Result<std::vector<Owner>> owners() override;
  Result<std::vector<Entity>> read(WorkspaceId workspace, const ColdQuery& query) override;
  Result<int64_t> count(WorkspaceId workspace, const ColdQuery& query) override;
  Result<int64_t> prune(WorkspaceId workspace, const Table& table, std::string_view column, int64_t before,
                        int64_t limit) override;
  Result<int64_t> prune_parts(WorkspaceId workspace, Duration age, int64_t limit) override;
  // Takes its turn between commits. Calls that wait at the same time are written together, so that however
  // many there are a commit waits for one transaction.
  Status append_output(WorkspaceId workspace, std::span<const OutputChunk> chunks) override;
  Result<std::vector<OutputChunk>> read_output(WorkspaceId workspace, JobId job, int64_t from,
                                               int64_t max_bytes) override;

 private:
  SqliteStore(std::string path, SqliteOptions options, FileLock lock, std::unique_ptr<Db> writer);

  // A reader connection for one call; waits while all are in use. Given back by its deleter.
  struct GiveBack {
    SqliteStore* store;
    void operator()(Db* db) const;
  };
  using Reader = std::unique_ptr<Db, GiveBack>;
  Result<Reader> reader();

  Status apply(const Commit& commit, bool& fenced);
  Status apply_rows(const Commit& commit);
  Result<Statement*> row_statement(std::vector<Statement*>& cache, size_t table, bool upsert);
  // BEGIN IMMEDIATE, `work`, COMMIT; rolled back if any of them fails.
  Status write(const std::function<Status()>& work);
  void roll_back();

  // A call of append_output that waits for its turn.
  struct WaitingOutput {
    WorkspaceId workspace;
    std::vector<OutputChunk> pieces;
    std::optional<Status> written = {};
  };
  void write_waiting_output();
  Status write_output(const WaitingOutput& output);

  const std::string path_;
  const SqliteOptions options_;
  const FileLock lock_;  // outlives the connections

  FairMutex writing_;  // guards everything down to the next blank line
  std::unique_ptr<Db> writer_;
  Checkpointer checkpointer_;
  std::vector<Statement*> upserts_, erases_;  // by table index; null until first used
  RowWriter rows_;

  std::mutex output_mutex_;
  std::deque<WaitingOutput*> waiting_output_;

  std::mutex readers_mutex_;
  std::condition_variable reader_free_;
  std::vector<std::unique_ptr<Db>> idle_readers_;
  size_t readers_in_use_ = 0;

  std::mutex replicas_mutex_;
  std::map<ReplicaId, Replica> replicas_;
};

}  // namespace ctrlplane::store
