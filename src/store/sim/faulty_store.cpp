#include "store/sim/faulty_store.h"

#include "base/check.h"

namespace ctrlplane::store {

Status FaultyStore::reach() const {
  std::lock_guard hold(mutex_);
  if (down_) return fail(ErrorCode::kUnavailable, "the store is out of reach");
  return {};
}

void FaultyStore::set_down(bool down) {
  std::lock_guard hold(mutex_);
  down_ = down;
}

size_t FaultyStore::held() const {
  std::lock_guard hold(mutex_);
  return held_.size();
}

CommitOutcome FaultyStore::land(size_t index) {
  Commit late;
  {
    std::lock_guard hold(mutex_);
    CHECK(index < held_.size(), "no such commit is held back");
    late = std::move(held_[index]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  return inner_.commit({&late, 1}).front();
}

std::vector<CommitOutcome> FaultyStore::commit(std::span<const Commit> commits) {
  std::vector<CommitOutcome> outcomes;
  for (const Commit& c : commits) {
    const Fault fault = !reach() ? Fault::kLost : commit_fault_ ? commit_fault_(c) : Fault::kNone;
    CommitOutcome outcome = CommitOutcome::kInDoubt;
    if (fault == Fault::kNone) outcome = inner_.commit({&c, 1}).front();
    if (fault == Fault::kUnanswered) inner_.commit({&c, 1});
    if (fault == Fault::kLate) {
      std::lock_guard hold(mutex_);
      held_.push_back(c);
    }
    outcomes.push_back(outcome);
  }
  return outcomes;
}

Result<Owner> FaultyStore::acquire(WorkspaceId workspace, ReplicaId replica, Token expected, Token token) {
  TRY(reach());
  const Fault fault = acquire_fault_ ? acquire_fault_(workspace) : Fault::kNone;
  if (fault == Fault::kNone) return inner_.acquire(workspace, replica, expected, token);
  if (fault == Fault::kUnanswered) (void)inner_.acquire(workspace, replica, expected, token);
  return fail(ErrorCode::kUnavailable, "the answer was lost");
}

Status FaultyStore::migrate() {
  TRY(reach());
  return inner_.migrate();
}

Result<Owner> FaultyStore::load(WorkspaceId workspace, Token token, const EntitySink& sink) {
  TRY(reach());
  return inner_.load(workspace, token, sink);
}

Result<Owner> FaultyStore::snapshot(WorkspaceId workspace, const EntitySink& sink) {
  TRY(reach());
  return inner_.snapshot(workspace, sink);
}

Status FaultyStore::release(WorkspaceId workspace, Token token) {
  TRY(reach());
  return inner_.release(workspace, token);
}

Status FaultyStore::forget(ReplicaId replica) {
  TRY(reach());
  return inner_.forget(replica);
}

Result<std::string> FaultyStore::cluster_secret(const std::string& candidate) {
  TRY(reach());
  return inner_.cluster_secret(candidate);
}

Status FaultyStore::beat(const Replica& replica) {
  TRY(reach());
  return inner_.beat(replica);
}

Result<std::vector<Replica>> FaultyStore::replicas() {
  TRY(reach());
  return inner_.replicas();
}

Result<std::vector<Owner>> FaultyStore::owners() {
  TRY(reach());
  return inner_.owners();
}

Result<std::vector<Entity>> FaultyStore::read(WorkspaceId workspace, const ColdQuery& query) {
  TRY(reach());
  return inner_.read(workspace, query);
}

Result<int64_t> FaultyStore::count(WorkspaceId workspace, const ColdQuery& query) {
  TRY(reach());
  return inner_.count(workspace, query);
}

Result<int64_t> FaultyStore::prune_parts(WorkspaceId workspace, Duration age, int64_t limit) {
  TRY(reach());
  return inner_.prune_parts(workspace, age, limit);
}

Status FaultyStore::append_output(WorkspaceId workspace, std::span<const OutputChunk> chunks) {
  TRY(reach());
  return inner_.append_output(workspace, chunks);
}

Result<std::vector<OutputChunk>> FaultyStore::read_output(WorkspaceId workspace, JobId job, int64_t from,
                                                          int64_t max_bytes) {
  TRY(reach());
  return inner_.read_output(workspace, job, from, max_bytes);
}

Result<int64_t> FaultyStore::prune(WorkspaceId workspace, const Table& table, std::string_view column,
                                   int64_t before, int64_t limit) {
  TRY(reach());
  return inner_.prune(workspace, table, column, before, limit);
}

}  // namespace ctrlplane::store
