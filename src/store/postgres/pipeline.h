// Commits over one connection in pipeline mode: everything is sent without waiting for answers, so a
// commit costs one round trip however many rows it has, and several workspaces share it.
//
// What stands between two Syncs is one transaction: the server commits it at the Sync, and answers the
// Sync only when it is durable. An error undoes it and skips the rest up to the Sync. (An explicit
// BEGIN would outlive the error and take the next workspace's transaction with it.)
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "store/postgres/connection.h"
#include "store/store.h"

namespace ctrlplane::store {

class CommitPipeline {
 public:
  // Takes over the connection and prepares every statement.
  static Result<std::unique_ptr<CommitPipeline>> start(std::unique_ptr<PgConnection> connection);

  // Outcomes as Store::commit has them. Afterwards see broken().
  std::vector<CommitOutcome> commit(std::span<const Commit> commits);
  bool broken() const { return connection_->broken(); }

 private:
  // One workspace's transaction on its way.
  struct Group {
    size_t answers = 0;  // statements answered; the fence is the first
    bool fenced = false;
    bool failed = false;
    bool finished = false;  // its Sync was answered
  };

  explicit CommitPipeline(std::unique_ptr<PgConnection> c) : connection_(std::move(c)) {}
  Status prepare_all();
  Status send(const Commit& commit);
  Status send_statement(const char* name);
  Status sync();
  // Sends what is queued and takes answers meanwhile; with `finish`, until every Sync is answered.
  Status pump(bool finish);
  void take_answers();
  void take_answer(pg_result* r);

  std::unique_ptr<PgConnection> connection_;
  std::vector<std::string> upserts_, erases_;  // statement names by table index
  std::vector<Group> groups_;
  size_t syncs_ = 0;     // sent
  size_t answered_ = 0;  // of them: index of the group whose answers come now
  size_t unpumped_ = 0;
  std::string first_error_;
  PgParams params_;
  RowWriter rows_;
};

}  // namespace ctrlplane::store
