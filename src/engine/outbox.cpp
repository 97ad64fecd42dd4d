#include "engine/outbox.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/handover.h"
#include "engine/jobs.h"
#include "engine/settings.h"
#include "model/agent_type.h"

namespace ctrlplane {
namespace {

Recovery recovery_of(const OutboxItem& item) {
  const AgentType* type = find_agent_type(item.channel);
  return type ? type->recovery : Recovery::kNeither;
}

Duration backoff(int64_t attempt) {
  int64_t doublings = std::min<int64_t>(attempt > 0 ? attempt - 1 : 0, 12);
  return std::min(kMaxBackoff, kFirstBackoff * (int64_t{1} << doublings));
}

void close(Tx& tx, OutboxItem item, OutboxStatus status, std::string error = {}) {
  item.status = status;
  item.last_error = std::move(error);
  item.ended_at = tx.now;
  tx.put(std::move(item));
}

void retry_later(Tx& tx, OutboxItem item, OutboxStatus status, std::string error) {
  item.status = status;
  item.last_error = std::move(error);
  // In doubt it may still be on its way: asking too early would hear a wrong "not there".
  Duration wait =
      status == OutboxStatus::kSending ? std::max(kSendGrace, backoff(item.attempt)) : backoff(item.attempt);
  item.next_attempt_at = tx.now + wait;
  tx.put(std::move(item));
}

Answer permit(Tx& tx, OutboxItem item, SendMode mode) {
  item.status = OutboxStatus::kSending;
  item.asking = mode == SendMode::kAsk;
  ++item.attempt;
  // Should this attempt be found unfinished, it may still be on its way until then.
  item.next_attempt_at = tx.now + kSendGrace;
  tx.put(item);
  SendPermit p{std::move(item), {}, mode};
  if (p.item.job)
    if (JobIx j = tx.state.jobs.find(*p.item.job)) p.job = tx.state.jobs[j].row;
  if (p.item.recipient)
    if (auto it = tx.state.channels.find(*p.item.recipient); it != tx.state.channels.end())
      p.channel = it->second;
  return Answer{.id = p.item.id.uuid, .permit = std::move(p)};
}

void postpone(Tx& tx, OutboxItem item, bool frozen) {
  item.next_attempt_at = frozen ? Time::never() : tx.now + kFirstBackoff;
  tx.put(std::move(item));
}

// The receiver has spoken of the job, so the start did arrive.
bool has_reported(const Tx& tx, JobIx j) { return tx.state.jobs[j].row.status != JobStatus::kQueued; }

Reply begin_start(Tx& tx, OutboxItem item) {
  JobIx j = tx.state.jobs.find(*item.job);
  if (!j || is_terminal(tx.state.jobs[j].row.status)) {
    close(tx, std::move(item), OutboxStatus::kAbandoned, "the job has ended");
    return Answer{};
  }
  if (item.status == OutboxStatus::kPending) {
    // Refused: the target is gone or wants another release, and the job is about to be cancelled; or not,
    // if that changes back first. Frozen: whoever looks at the target after the freeze sends it.
    if (auto job = hand_over(tx, j, {}); !job) {
      postpone(tx, std::move(item), job.error().code == ErrorCode::kFrozen);
      return Answer{};
    }
    return permit(tx, std::move(item), SendMode::kSend);
  }
  if (has_reported(tx, j)) return close(tx, std::move(item), OutboxStatus::kDelivered), Answer{};
  // Found half sent: by us before a crash, by an earlier owner, or by an attempt that timed out.
  item.in_doubt = true;
  bool unwanted = tx.state.jobs[j].row.cancel_requested_at.has_value();
  switch (recovery_of(item)) {
    case Recovery::kDeduplicates:
      if (!unwanted) return permit(tx, std::move(item), SendMode::kSend);
      break;  // sent again it might start what was just cancelled
    case Recovery::kCanBeAsked: return permit(tx, std::move(item), SendMode::kAsk);
    case Recovery::kNeither: break;
  }
  close(tx, std::move(item), OutboxStatus::kAbandoned, "may have been delivered");
  require_action(tx, j,
                 unwanted ? "may have started before it was cancelled"
                          : "may have started: the agent's type can be neither asked nor sent to twice");
  return Answer{};
}

// That this attempt did not arrive says nothing about an earlier one; only an answer to a question does.
SendOutcome about_all_attempts(const OutboxItem& item, SendOutcome latest) {
  return latest == SendOutcome::kNotSent && item.in_doubt && !item.asking ? SendOutcome::kInDoubt : latest;
}

void finish_start(Tx& tx, OutboxItem item, const FinishSend& c) {
  JobIx j = tx.state.jobs.find(*item.job);
  bool ended = !j || is_terminal(tx.state.jobs[j].row.status);
  switch (about_all_attempts(item, c.outcome)) {
    case SendOutcome::kAccepted: return close(tx, std::move(item), OutboxStatus::kDelivered);
    case SendOutcome::kRejected:
      close(tx, std::move(item), OutboxStatus::kAbandoned, c.error);
      if (!ended) end_job(tx, j, JobStatus::kInvalidIntegration, "the agent refused it: " + c.error);
      return;
    case SendOutcome::kNotSent:
      if (ended) return close(tx, std::move(item), OutboxStatus::kAbandoned, c.error);
      if (has_reported(tx, j)) return close(tx, std::move(item), OutboxStatus::kDelivered, c.error);
      if (tx.state.jobs[j].row.cancel_requested_at) {  // sent again it would run after all
        close(tx, std::move(item), OutboxStatus::kAbandoned, c.error);
        return end_job(tx, j, JobStatus::kCancelled, "cancelled before it was sent");
      }
      item.in_doubt = item.asking = false;
      take_back(tx, j);
      if (!tx.state.jobs[j].target) {  // nobody would ever look at it again
        close(tx, std::move(item), OutboxStatus::kAbandoned, c.error);
        return end_job(tx, j, JobStatus::kCancelled, "the release target no longer exists", true);
      }
      return retry_later(tx, std::move(item), OutboxStatus::kPending, c.error);
    case SendOutcome::kInDoubt:
      if (ended) return close(tx, std::move(item), OutboxStatus::kAbandoned, c.error);
      if (has_reported(tx, j)) return close(tx, std::move(item), OutboxStatus::kDelivered, c.error);
      if (recovery_of(item) != Recovery::kNeither)
        return retry_later(tx, std::move(item), OutboxStatus::kSending, c.error);
      close(tx, std::move(item), OutboxStatus::kAbandoned, c.error);
      require_action(tx, j, "may have started: " + c.error);
      return;
  }
}

// Notices and cancels do no harm when they arrive twice.
void finish_repeatable(Tx& tx, OutboxItem item, const FinishSend& c) {
  if (c.outcome == SendOutcome::kAccepted) return close(tx, std::move(item), OutboxStatus::kDelivered);
  if (c.outcome == SendOutcome::kRejected || item.attempt >= kMaxNoticeAttempts)
    return close(tx, std::move(item), OutboxStatus::kAbandoned, c.error);
  retry_later(tx, std::move(item), OutboxStatus::kPending, c.error);
}

}  // namespace

Reply begin_send(Tx& tx, const BeginSend& c) {
  auto it = tx.state.outbox.find(c.id);
  if (it == tx.state.outbox.end()) return Answer{};  // done meanwhile
  OutboxItem item = it->second;
  if (item.kind == OutboxKind::kStart) return begin_start(tx, std::move(item));
  if (item.recipient && !tx.state.channels.contains(*item.recipient)) {
    close(tx, std::move(item), OutboxStatus::kAbandoned, "the channel was deleted");
    return Answer{};
  }
  return permit(tx, std::move(item), SendMode::kSend);
}

Reply finish_send(Tx& tx, const FinishSend& c) {
  auto it = tx.state.outbox.find(c.id);
  if (it == tx.state.outbox.end()) return Answer{};
  OutboxItem item = it->second;
  if (item.status != OutboxStatus::kSending || item.attempt != c.attempt)
    return fail(ErrorCode::kConflict, "an answer to an earlier attempt");
  if (item.kind == OutboxKind::kStart)
    finish_start(tx, std::move(item), c);
  else
    finish_repeatable(tx, std::move(item), c);
  return Answer{.id = c.id.uuid};
}

void enqueue_notice(Tx& tx, std::string channel, std::string payload) {
  OutboxItem item{.id = tx.ids.make<OutboxId>(), .kind = OutboxKind::kNotice};
  item.channel = std::move(channel);
  item.payload = std::move(payload);
  item.created_at = item.next_attempt_at = tx.now;
  tx.put(std::move(item));
}

void enqueue_cancel(Tx& tx, const Job& job) {
  AgentIx a = tx.state.agents.find(job.agent);
  if (!a) return;
  OutboxItem item{.id = tx.ids.make<OutboxId>(), .kind = OutboxKind::kCancel};
  item.job = job.id;
  item.channel = tx.state.agents[a].row.type;
  // The job may have left memory by the time this is sent.
  item.payload = fmt::format(R"({{"agent":"{}","externalId":)", job.agent.str());
  append_json_string(item.payload, job.external_id);
  item.payload += '}';
  item.created_at = item.next_attempt_at = tx.now;
  tx.put(std::move(item));
}

void abandon_start(Tx& tx, JobId job) {
  auto id = tx.state.outbox_of(job);
  if (!id) return;
  OutboxItem item = tx.state.outbox.at(*id);
  if (item.status == OutboxStatus::kPending)
    close(tx, std::move(item), OutboxStatus::kAbandoned, "the job has ended");
}

}  // namespace ctrlplane
