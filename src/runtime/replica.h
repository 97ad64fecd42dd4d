// One process's part in owning workspaces: it beats, watches the beats of others, and runs a loop for each
// workspace it owns.
//
// An owner's lease is its beat: a counter in its own row, raised every few seconds. A challenger acts when
// it has itself seen the beat stand still for the lease, on its own boot clock; no wall clocks are compared.
// The fence makes a wrong guess harmless for writes. For reads, an owner whose last good beat was sent
// longer than lease - margin ago says nothing any more, and after such a gap acquires again first.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "runtime/workspace_loop.h"

namespace ctrlplane {

struct ReplicaConfig {
  store::ReplicaId id;
  std::string address;
  std::string version = "0.1.0";
  Duration lease = seconds(10);
  Duration margin = seconds(2);
  Duration beat_every = seconds(2);
  Duration audit_every = seconds(1);
  size_t audit_targets = 8;
  LoopLimits limits = {};
};

class Replica {
 public:
  Replica(Executor& executor, StorePort& store, ReplicaConfig config, std::function<Uuid()> new_uuid);
  ~Replica();

  // Call before start().
  void listen(FeedListener& listener) { listeners_.push_back(&listener); }
  void start();
  // Own this workspace whenever nobody else does.
  void want(WorkspaceId workspace);

  // `done` is called exactly once, later, on the executor.
  void submit(WorkspaceId workspace, Request request, ReplyFn done);
  // Null while this replica does not own it.
  WorkspaceLoop* loop(WorkspaceId workspace);
  // Takes no more workspaces, and lets every loop finish what it accepted.
  void drain(Task done);

  bool may_answer_reads() const;
  const ReplicaConfig& config() const { return config_; }

 private:
  struct Seen {
    int64_t beat = -1;  // -1: its row is not there
    Duration since;     // when the answer that first showed this came in
  };

  void beat();
  void beat_succeeded(Duration sent);
  void watch();
  void look();
  void on_ownerships(Duration asked, const Ownerships& rows);
  bool is_dead(store::ReplicaId id, Duration asked) const;
  void take(WorkspaceId workspace, store::Token expected);
  void audit();

  Executor& executor_;
  StorePort& store_;
  ReplicaConfig config_;
  std::function<Uuid()> new_uuid_;
  std::vector<FeedListener*> listeners_;
  std::set<WorkspaceId> wanted_;
  std::map<WorkspaceId, std::unique_ptr<WorkspaceLoop>> loops_;
  std::map<store::ReplicaId, Seen> seen_;
  int64_t beat_ = 0;
  std::optional<Duration> last_good_beat_;
  bool watching_ = false, look_again_ = false;
  bool draining_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ctrlplane
