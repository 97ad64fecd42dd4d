// Carries out what the outbox holds. For each row: commit `sending` (BeginSend), send, commit the outcome
// (FinishSend). Rows found `sending` after a load go the same way; the engine decides how they continue.
#pragma once

#include <deque>
#include <map>
#include <set>

#include "runtime/workspace_loop.h"

namespace ctrlplane {

// Where a channel's messages go. One implementation per agent type and notification channel.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // `done` exactly once, on the executor. In kAsk mode: kAccepted if the receiver has the job, kNotSent if
  // it has not. The job's id is the key to deduplicate by.
  virtual void deliver(const SendPermit& permit,
                       std::move_only_function<void(SendOutcome, std::string)> done) = 0;
};

class OutboxPump final : public FeedListener {
 public:
  using Submit = std::function<void(WorkspaceId, Request, ReplyFn)>;

  OutboxPump(Submit submit, Executor& executor) : submit_(std::move(submit)), executor_(executor) {}
  ~OutboxPump() override { *alive_ = false; }

  void add_receiver(std::string channel, Receiver& receiver) { receivers_[std::move(channel)] = &receiver; }

  void loaded(WorkspaceLoop& loop) override;
  void committed(WorkspaceId workspace, int64_t seq, Time now, const Changes& changes) override;
  void lost(WorkspaceLoop& loop) override;

 private:
  static constexpr size_t kMaxInFlight = 256;  // a workspace
  // A permission to send is used at once or not at all: a process that was stopped in between must not
  // send when another owner may already have asked what became of it.
  static constexpr Duration kPermitLife = seconds(20);

  struct Lines {
    std::set<OutboxId> in_flight;
    std::deque<OutboxId> ready;
    std::map<OutboxId, Duration> due;  // boot time of the next look at it
  };

  void schedule(WorkspaceId workspace, OutboxId id, Duration delay);
  void pump(WorkspaceId workspace);
  void begin(WorkspaceId workspace, OutboxId id);
  void send(WorkspaceId workspace, SendPermit permit, Duration begun);
  void end(WorkspaceId workspace, FinishSend outcome);
  void finished(WorkspaceId workspace, OutboxId id);

  Submit submit_;
  Executor& executor_;
  std::map<std::string, Receiver*, std::less<>> receivers_;
  std::map<WorkspaceId, Lines> lines_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ctrlplane
