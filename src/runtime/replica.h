// One process's part in owning workspaces: it beats, watches the beats of others, and runs a loop for each
// workspace it owns.
//
// An owner's lease is its beat: a counter in its own row, raised every few seconds. A challenger acts when
// it has itself seen the beat stand still for the lease, on its own boot clock; no wall clocks are compared.
// The fence makes a wrong guess harmless for writes. For reads, an owner whose last good beat was sent
// longer than lease - margin ago says nothing any more, and after such a gap acquires again first.
//
// Who should own what is for place() to say; see docs/replicas.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "runtime/placement.h"
#include "runtime/workspace_loop.h"

namespace ctrlplane {

struct ReplicaConfig {
  store::ReplicaId id;
  std::string address;  // where other replicas reach this one
  std::string version = "0.1.0";
  Duration lease = seconds(10);
  Duration margin = seconds(2);
  Duration beat_every = seconds(2);
  Duration look_every = milliseconds(500);
  Duration overdue = seconds(3);  // without an owner: then anybody takes it; several looks
  Duration audit_every = seconds(1);
  size_t audit_targets = 8;
  LoopLimits limits = {};
};

// Another replica, as a place to send a request to.
struct Peer {
  store::ReplicaId id;
  std::string address;
  bool operator==(const Peer&) const = default;
};

// A look at the tables of replicas and owners.
struct View {
  Duration asked{INT64_MIN};  // boot time; what is true in it was true then or later
  Ownerships rows;
};

class Replica {
 public:
  Replica(Executor& executor, StorePort& store, ReplicaConfig config, std::function<Uuid()> new_uuid);
  ~Replica();

  // ---- Before start ------------------------------------------------------------------------------------
  void listen(FeedListener& listener) { listeners_.push_back(&listener); }
  // Called with every new view.
  void on_view(std::function<void(const View&)> fn) { viewers_.push_back(std::move(fn)); }
  void set_address(std::string address) { config_.address = std::move(address); }

  void start();
  // Own this workspace when it is this replica's turn.
  void want(WorkspaceId workspace);
  // These and no others; what is owned beside them is given up.
  void want_only(std::set<WorkspaceId> workspaces);
  void want_no_more(WorkspaceId workspace) { wanted_.erase(workspace); }

  // `done` is called exactly once, later, on the executor.
  void submit(WorkspaceId workspace, Request request, ReplyFn done);
  // Null while this replica does not own it.
  WorkspaceLoop* loop(WorkspaceId workspace);
  // Takes commands for it here and now.
  bool serves(WorkspaceId workspace) const;
  // Another replica that owns it, as far as is known.
  std::optional<Peer> owner_of(WorkspaceId workspace) const;
  // Looks now instead of at the next turn: somebody waits for an owner.
  void look();

  // Gives everything away to others, while commands for it can be sent on to them. `done` when all of it has
  // a new owner, when there is nobody to take it, or after `patience`.
  void leave(Duration patience, Task done);
  // Takes no more workspaces, lets every loop finish what it accepted, and clears this replica's rows.
  void drain(Task done);

  bool may_answer_reads() const;
  const ReplicaConfig& config() const { return config_; }
  const View& view() const { return view_; }
  // As this replica has seen it: lives, and is not known to be leaving.
  bool has_seat(store::ReplicaId id) const;
  bool has_company() const;  // another with a seat
  bool lives(store::ReplicaId id) const;

 private:
  struct Seen {
    int64_t beat = -1;   // -1: its row is not there
    Duration since;      // when the answer that first showed this came in
    bool moved = false;  // has beaten since it was first seen: not a row that a dead process left behind
    bool leaving = false;
  };

  void beat();
  void send_beat();
  void beat_succeeded(Duration sent);
  void watch();
  void on_ownerships(Duration asked, Ownerships rows);
  void note_beats();
  void note_orphans(Duration asked);
  bool is_dead(store::ReplicaId id, Duration asked) const;
  void follow_plan();
  void take(WorkspaceId workspace, store::Token expected);
  void give(WorkspaceId workspace);
  void give_drained(WorkspaceId workspace, std::function<void()> then);
  void forget_the_dead();
  bool has_left() const;
  void audit();

  Executor& executor_;
  StorePort& store_;
  ReplicaConfig config_;
  std::function<Uuid()> new_uuid_;
  std::vector<FeedListener*> listeners_;
  std::vector<std::function<void(const View&)>> viewers_;
  std::set<WorkspaceId> wanted_;
  std::map<WorkspaceId, std::unique_ptr<WorkspaceLoop>> loops_;
  std::set<WorkspaceId> giving_;  // from the decision until the row is cleared
  std::map<WorkspaceId, Duration> orphan_since_;
  std::map<store::ReplicaId, Seen> seen_;
  View view_;
  int64_t beat_ = 0;
  std::optional<Duration> last_good_beat_;
  bool looking_ = false, look_again_ = false;
  bool started_ = false, draining_ = false, beating_ = true;
  Task left_;  // set while leaving
  bool leaving_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ctrlplane
