// Keeps the directory true on every replica. Where the instance is owned the directory follows its commits;
// elsewhere it is a copy that is loaded again whenever a look at the owners' table shows a later seq.
//
// Nobody may be let in by a copy that has not been checked lately: a revoked key is dead everywhere within
// kFresh.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "api/directory.h"
#include "runtime/replica.h"

namespace ctrlplane::api {

class AccountsFollower final : public FeedListener {
 public:
  static constexpr Duration kFresh = seconds(2);

  // Lives on the executor's thread. Register with the replica before it starts.
  AccountsFollower(Executor& executor, StorePort& port, Replica& replica, Directory& directory);
  ~AccountsFollower() override;

  // From any thread: what the directory says may be acted on.
  bool fresh() const;
  // From any thread: is it a copy, which may be a moment behind what was acknowledged elsewhere?
  bool is_copy() const { return is_copy_.load(); }
  // From any thread. `done` on the executor, when the directory holds everything that was acknowledged before
  // this call, or when that could not be found out in time.
  void refresh(Task done);

  // Called with the instance after each load of a copy.
  void on_copy(std::function<void(const State&)> fn) { copied_ = std::move(fn); }

  void see(const View& view);
  void loaded(WorkspaceLoop& loop) override;
  void committed(WorkspaceId workspace, int64_t seq, Time now, const Changes& changes) override;

 private:
  struct Waiter {
    Duration since;
    Task done;
  };
  void copy(Duration asked);
  void note_checked(Duration asked);

  Executor& executor_;
  StorePort& port_;
  Replica& replica_;
  Directory& directory_;
  std::function<void(const State&)> copied_;
  int64_t seq_ = -1;  // of what the directory holds
  bool copying_ = false;
  std::vector<Waiter> waiters_;
  std::atomic<int64_t> checked_us_ = INT64_MIN / 2;  // boot time of the last good look
  std::atomic<bool> exclusive_ = false;              // nobody else can change anything
  std::atomic<bool> is_copy_ = true;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ctrlplane::api
