// A store whose answers get lost. It stands before another store and lets a script decide the fate of
// each commit and acquisition. Which fault comes when is the driver's business, so that one seed gives
// one history; all faults here are ones the real stores can show.
#pragma once

#include <deque>
#include <functional>
#include <mutex>

#include "store/store.h"

namespace ctrlplane::store {

enum class Fault : uint8_t {
  kNone,
  kLost,        // never arrives: in doubt, not applied
  kUnanswered,  // applied, but the answer is lost: in doubt
  kLate,        // held back: in doubt; arrives at land(), where its fence decides
};

class FaultyStore final : public Store {
 public:
  explicit FaultyStore(Store& inner) : inner_(inner) {}

  // Asked once per commit, and per acquisition (where kLate is treated as kLost: its waiting is the
  // inner store's). Without a script nothing fails.
  void script_commits(std::function<Fault(const Commit&)> f) { commit_fault_ = std::move(f); }
  void script_acquires(std::function<Fault(WorkspaceId)> f) { acquire_fault_ = std::move(f); }
  // While down, every call fails as if nobody answered, beats included; nothing is applied.
  void set_down(bool down);

  // Commits held back, oldest first, and the arrival of one of them, in any order.
  size_t held() const;
  CommitOutcome land(size_t index);

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
  Status reach() const;  // kUnavailable while down

  Store& inner_;
  std::function<Fault(const Commit&)> commit_fault_;
  std::function<Fault(WorkspaceId)> acquire_fault_;
  mutable std::mutex mutex_;
  bool down_ = false;
  std::deque<Commit> held_;
};

}  // namespace ctrlplane::store
