// The store of the simulator: in memory, every call atomic, everything iterated in key order so that
// one seed gives one history. Same fence, acquisition, hot filters and write-once as the real ones.
// It never fails by itself: faults are FaultyStore's business.
//
// Safe to use from several threads. The raw access for checkers is not locked: use it from inside the
// observer, or while nobody else calls the store.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "store/store.h"

namespace ctrlplane::store {

class SimStore final : public Store {
 public:
  using Row = std::vector<Cell>;    // every column of the table
  using Rows = std::map<Row, Row>;  // by the key columns
  using Observer = std::function<void(const Commit&, const Owner&)>;

  Status migrate() override { return {}; }
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

  // What is committed, hot and cold.
  const Rows& rows(WorkspaceId workspace, const Table& table) const;
  // Called after each commit that was applied, before the next one is looked at.
  void observe(Observer observer) { observer_ = std::move(observer); }

 private:
  CommitOutcome apply(const Commit& commit);
  Result<std::vector<const Row*>> matching(WorkspaceId workspace, const ColdQuery& query) const;
  void apply_row(std::vector<Rows>& of, const Change& change);
  Result<Owner> load_rows(WorkspaceId workspace, const Token* token, const EntitySink& sink) const;

  mutable std::recursive_mutex mutex_;  // recursive: an observer may read through the Store interface
  std::map<WorkspaceId, Owner> owners_;
  std::map<WorkspaceId, std::vector<Rows>> rows_;  // by table index
  std::map<ReplicaId, Replica> replicas_;
  std::map<WorkspaceId, std::map<JobId, std::map<int64_t, std::string>>> output_;  // by offset
  std::string cluster_secret_;
  Observer observer_;
  RowWriter writer_;
};

}  // namespace ctrlplane::store
