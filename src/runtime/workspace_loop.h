// The one writer of a workspace: a queue of commands, a state in memory, a batch that gathers while the
// one before it is being made durable.
//
//   submit ─▶ lanes ─▶ execute ─▶ gathering ─▶ in flight (at the store) ─▶ durable ─▶ replies, feed
//
// Every reply that was computed from state waits until all the state it saw is durable. There is no undo:
// after a commit that failed or was not answered the state is thrown away and acquired again.
//
// All members are called on the executor's thread.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/histogram.h"
#include "engine/execute.h"
#include "engine/resources.h"
#include "runtime/executor.h"
#include "runtime/feed.h"
#include "runtime/store_port.h"

namespace ctrlplane {

using ReplyFn = std::move_only_function<void(Reply)>;

enum class Lane : uint8_t { kStop, kAgents, kApi, kBackground };
inline constexpr size_t kLanes = 4;
Lane lane_of(const Command& command);

struct LoopLimits {
  Duration slice = milliseconds(1);           // background work per turn
  size_t units_per_slice = 256;               // and not more than this many units of it
  Duration planned_commit = milliseconds(5);  // the row cap adapts to this
  size_t min_rows = 64;
  size_t max_rows = 4000;
  std::array<size_t, kLanes> queue = {1000, 20000, 5000, 16};
};

struct LoopStats {
  std::array<Histogram, kLanes> wait;  // submitted to executed
  Histogram slice;                     // one turn of the loop
  Histogram commit;
  uint64_t commits = 0, rows = 0;
  uint64_t decisions = 0;  // units of background work: targets looked at, steps of membership
  uint64_t missed_wakeups = 0;
};

class WorkspaceLoop {
 public:
  // What the loop needs from the replica it runs in.
  struct Host {
    Executor& executor;
    StorePort& store;
    store::ReplicaId replica;
    // Answers computed from state alone may leave only while this holds (the lease).
    std::function<bool()> may_answer_reads;
    // A token nobody has ever used.
    std::function<store::Token()> new_token;
    // The workspace is no longer ours; called once, last. The loop may be destroyed in it.
    std::function<void()> lost;
    std::vector<FeedListener*> listeners = {};
    LoopLimits limits = {};
  };

  WorkspaceLoop(Host host, WorkspaceId workspace);
  ~WorkspaceLoop();

  // Takes ownership from `expected` and starts.
  void start(store::Token expected);

  // The lease had lapsed: what is in memory may be somebody else's by now. Acquires and loads again.
  void reacquire();

  // `done` is called exactly once, later, on the executor.
  void submit(Request request, ReplyFn done);

  // Stops taking commands, lets what was accepted commit, then calls `done`. What the engine would do by
  // itself is left to the next owner.
  void drain(Task done);
  // After drain: the workspace is no longer this loop's. Like losing it, but nobody has taken it yet.
  void resign();

  // Looks at `count` targets that nothing has marked; see audit_target.
  void audit(size_t count);

  bool active() const { return phase_ == Phase::kActive; }
  bool draining() const { return draining_; }
  bool lost() const { return phase_ == Phase::kLost; }
  // Something accepted takes its time: not a moment to give the workspace away.
  bool has_long_work() const;
  bool idle() const;
  bool owes_nothing() const;  // everything accepted is durable and answered
  store::Token token() const { return owner_.token; }
  WorkspaceId workspace() const { return workspace_; }
  int64_t durable_seq() const { return durable_seq_; }  // the number of the last durable commit
  const LoopStats& stats() const { return stats_; }
  // For tests and the outbox, between turns.
  const State* state() const { return state_.get(); }
  Time now() const;

 private:
  enum class Phase : uint8_t { kIdle, kAcquiring, kLoading, kActive, kLost };
  struct Pending {
    Request request;
    ReplyFn done;
    Duration submitted;
    bool tag_is_free = false;  // the store was asked
  };
  struct Set {  // a bulk set under way
    ProviderSet work;
    Request request;
    ReplyFn done;
  };
  struct Waiting {
    int64_t seq;     // durable: then it may leave
    int64_t effect;  // the commit of its own changes; at most seq
    Reply reply;
    ReplyFn done;
    bool read_only;
  };
  struct Batch {
    store::Commit commit;
    Duration sent;
  };

  void acquire();
  void on_acquired(Result<store::Owner> owner);
  void on_loaded(Result<Loaded> loaded);
  void retry_acquire();
  void lose(ErrorCode in_flight_code);

  void schedule_turn();
  void turn();
  void run_commands();
  void run_timers();
  size_t room_for(Lane lane) const;
  bool commands_can_run() const;
  bool run_background();
  bool step_set(Tx& tx);
  bool background_is_pending() const;
  Tx begin();
  void execute_one(Pending pending);
  void hold_reply(Reply reply, ReplyFn done, bool read_only, bool declares = false);
  void look_up_ended_job(JobId job, Error original, ReplyFn done);
  void read_ended_job(JobId job, Error original, ReplyFn done);
  bool may_be_a_retired_tag(const Pending& p) const;
  void look_up_tag(Pending p);
  void release_settled();
  void schedule_timer();

  int64_t seen_seq() const;
  void start_commit();
  void on_committed(store::CommitOutcome outcome);
  void batch_is_durable();
  void release_replies();
  void fail_replies(std::deque<Waiting>& replies, int64_t up_to, ErrorCode code);
  void adapt_row_cap(size_t rows, Duration took);
  Duration boot() const { return host_.executor.clock().boot(); }

  template <class T>
  Callback<T> guarded(void (WorkspaceLoop::*method)(T));
  Task guarded(void (WorkspaceLoop::*method)());

  Host host_;
  WorkspaceId workspace_;
  Phase phase_ = Phase::kIdle;
  store::Owner owner_;       // as of our last acquisition, seq and last_now kept up to date
  store::Token next_token_;  // of an acquisition under way
  Duration acquiring_since_;
  std::unique_ptr<State> state_;

  std::array<std::deque<Pending>, kLanes> lanes_;
  std::deque<Set> sets_;
  std::vector<Waiting> settling_;  // wait for membership to settle
  std::deque<Waiting> waiting_;    // wait for durability, by seq
  store::Commit gathering_;
  std::optional<Batch> in_flight_;
  int64_t durable_seq_ = 0;
  Time last_now_;
  uint64_t nonce_ = 0;
  size_t row_cap_;
  uint32_t audit_cursor_ = 0;
  bool turn_scheduled_ = false;
  bool timers_are_due_ = false;
  bool urgent_ = false;         // the gathering batch holds the answer of a stop
  bool acquire_again_ = false;  // once the load under way is done
  bool draining_ = false;
  size_t looking_up_ = 0;             // commands that wait for a row from the store
  std::optional<Duration> timer_at_;  // boot time
  Task drained_;
  LoopStats stats_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // callbacks outlive the loop
};

}  // namespace ctrlplane
