// A store in PostgreSQL 15 or later, shared by any number of processes. Connections: one for commits,
// one for beats (so that a beat never waits behind a commit), one for output, a small pool for the rest. A
// broken one is replaced at the next call. Needs direct connections or a pooler in session mode.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "store/postgres/connection.h"
#include "store/postgres/pipeline.h"
#include "store/postgres/pool.h"
#include "store/store.h"

namespace ctrlplane::store {

class PostgresStore final : public Store {
 public:
  // `conninfo` as libpq reads it. kConflict: the server's settings could lose what it reported durable
  // (fsync off, synchronous_commit off or local) or its encoding is not UTF8. kUnavailable: out of
  // reach. The settings are looked at again with every new commit connection.
  static Result<std::unique_ptr<PostgresStore>> open(const std::string& conninfo,
                                                     const PostgresOptions& options = {});

  Status migrate() override;
  Result<Owner> acquire(WorkspaceId workspace, ReplicaId replica, Token expected, Token token) override;
  Status release(WorkspaceId workspace, Token token) override;
  Result<Owner> load(WorkspaceId workspace, Token token, const EntitySink& sink) override;
  Result<Owner> snapshot(WorkspaceId workspace, const EntitySink& sink) override;
  std::vector<CommitOutcome> commit(std::span<const Commit> commits) override;
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
  Status append_output(WorkspaceId workspace, std::span<const OutputChunk> chunks) override;
  Result<std::vector<OutputChunk>> read_output(WorkspaceId workspace, JobId job, int64_t from,
                                               int64_t max_bytes) override;

 private:
  PostgresStore(const std::string& conninfo, const PostgresOptions& options)
      : conninfo_(conninfo),
        options_(options),
        pool_(conninfo, options),
        output_(conninfo, one_of(options)) {}
  static PostgresOptions one_of(PostgresOptions options) {
    options.pool = 1;
    return options;
  }

  // A live connection in the slot, made if need be. Under the slot's mutex.
  Status ensure_pipeline();
  Status ensure_beats();
  Result<Owner> load_rows(WorkspaceId workspace, const Token* token, const EntitySink& sink);

  const std::string conninfo_;
  const PostgresOptions options_;
  PgPool pool_;
  PgPool output_;  // one connection: jobs that print much must not keep anybody from the others

  std::mutex committing_;
  std::unique_ptr<CommitPipeline> pipeline_;

  std::mutex beating_;
  std::unique_ptr<PgConnection> beats_;
};

}  // namespace ctrlplane::store
