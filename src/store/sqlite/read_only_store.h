// An SQLite store for looking at, beside a server that has it open or without one. It takes no lock and
// changes nothing: whatever would write is refused with kForbidden. Reads are as SqliteStore's; replicas are
// not in the file, so there are none.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "store/sqlite/read_only_db.h"
#include "store/store.h"

namespace ctrlplane::store {

class ReadOnlySqliteStore final : public Store {
 public:
  explicit ReadOnlySqliteStore(std::unique_ptr<ReadOnlyDb> db) : db_(std::move(db)) {}

  Result<Owner> load(WorkspaceId workspace, Token token, const EntitySink& sink) override;
  Result<Owner> snapshot(WorkspaceId workspace, const EntitySink& sink) override;
  Result<std::vector<Owner>> owners() override;
  Result<std::vector<Replica>> replicas() override { return std::vector<Replica>(); }
  Result<std::vector<Entity>> read(WorkspaceId workspace, const ColdQuery& query) override;
  Result<int64_t> count(WorkspaceId workspace, const ColdQuery& query) override;
  Result<std::vector<OutputChunk>> read_output(WorkspaceId workspace, JobId job, int64_t from,
                                               int64_t max_bytes) override;

  Status migrate() override { return refused(); }
  Result<Owner> acquire(WorkspaceId, ReplicaId, Token, Token) override { return refused(); }
  Status release(WorkspaceId, Token) override { return refused(); }
  std::vector<CommitOutcome> commit(std::span<const Commit> commits) override {
    return std::vector<CommitOutcome>(commits.size(), CommitOutcome::kFenced);
  }
  Status beat(const Replica&) override { return refused(); }
  Status forget(ReplicaId) override { return refused(); }
  Result<std::string> cluster_secret(const std::string&) override { return refused(); }
  Result<int64_t> prune(WorkspaceId, const Table&, std::string_view, int64_t, int64_t) override {
    return refused();
  }
  Result<int64_t> prune_parts(WorkspaceId, Duration, int64_t) override { return refused(); }
  Status append_output(WorkspaceId, std::span<const OutputChunk>) override { return refused(); }

 private:
  static std::unexpected<Error> refused() {
    return fail(ErrorCode::kForbidden, "the database is open for reading only");
  }

  std::mutex mutex_;
  std::unique_ptr<ReadOnlyDb> db_;
};

}  // namespace ctrlplane::store
