#include "runtime/outbox_pump.h"

#include <algorithm>

#include "engine/settings.h"

namespace ctrlplane {

// Waiting is measured on this process's boot clock: a wall clock that jumps must not make a message that
// is still on its way look lost.
void OutboxPump::loaded(WorkspaceLoop& loop) {
  lost(loop);  // a row that stood in line before and again now would be looked at twice, too early the second
               // time
  for (const auto& [id, item] : loop.state()->outbox) {
    if (item.next_attempt_at == Time::never()) continue;  // held: somebody will set it free
    bool in_doubt = item.status == OutboxStatus::kSending;  // an earlier owner may have sent it just now
    Duration wait =
        in_doubt ? kSendGrace : std::clamp(item.next_attempt_at - loop.now(), Duration{0}, kMaxBackoff);
    schedule(loop.workspace(), id, wait);
  }
}

void OutboxPump::committed(WorkspaceId workspace, int64_t, Time now, const Changes& changes) {
  for (const Change& c : changes)
    if (const auto* item = std::get_if<OutboxItem>(&c.entity); item && c.op == Change::Op::kPut) {
      const bool waits = item->status == OutboxStatus::kPending || item->status == OutboxStatus::kSending;
      if (waits && item->next_attempt_at != Time::never())
        schedule(workspace, item->id, std::max(item->next_attempt_at - now, Duration{0}));
      else
        lines_[workspace].due.erase(item->id);
    }
}

void OutboxPump::lost(WorkspaceLoop& loop) {
  lines_[loop.workspace()].ready.clear();
  lines_[loop.workspace()].due.clear();
}

void OutboxPump::schedule(WorkspaceId workspace, OutboxId id, Duration delay) {
  Duration due = lines_[workspace].due[id] = executor_.clock().boot() + delay;
  executor_.post_after(delay, [this, alive = alive_, workspace, id, due] {
    if (!*alive) return;
    Lines& lines = lines_[workspace];
    auto it = lines.due.find(id);
    if (it == lines.due.end() || it->second != due) return;  // done, or postponed since
    lines.due.erase(it);
    if (lines.in_flight.contains(id)) return;
    lines.ready.push_back(id);
    pump(workspace);
  });
}

void OutboxPump::pump(WorkspaceId workspace) {
  Lines& lines = lines_[workspace];
  while (!lines.ready.empty() && lines.in_flight.size() < kMaxInFlight) {
    OutboxId id = lines.ready.front();
    lines.ready.pop_front();
    if (lines.in_flight.insert(id).second) begin(workspace, id);
  }
}

void OutboxPump::begin(WorkspaceId workspace, OutboxId id) {
  Duration begun = executor_.clock().boot();
  submit_(workspace, {BeginSend{id}}, [this, alive = alive_, workspace, id, begun](Reply reply) {
    if (!*alive) return;
    if (reply && reply->permit)
      send(workspace, *std::move(reply->permit), begun);
    else
      finished(workspace, id);
    // Nothing was committed that would bring it back here.
    if (!reply && reply.error().code == ErrorCode::kBusy) schedule(workspace, id, kFirstBackoff);
  });
}

void OutboxPump::send(WorkspaceId workspace, SendPermit permit, Duration begun) {
  OutboxId id = permit.item.id;
  int64_t attempt = permit.item.attempt;
  auto done = [this, alive = alive_, workspace, id, attempt](SendOutcome outcome, std::string error) {
    if (*alive) end(workspace, {id, attempt, outcome, std::move(error)});
  };
  // To a question "not sent" would be an answer: that the receiver has not got it.
  SendOutcome not_tried = permit.mode == SendMode::kAsk ? SendOutcome::kInDoubt : SendOutcome::kNotSent;
  if (executor_.clock().boot() - begun > kPermitLife)
    return done(not_tried, "the permission to send had aged");
  auto it = receivers_.find(permit.item.channel);
  if (it == receivers_.end()) return done(not_tried, "nothing here delivers to " + permit.item.channel);
  it->second->deliver(permit, std::move(done));
}

void OutboxPump::end(WorkspaceId workspace, FinishSend outcome) {
  submit_(workspace, {outcome}, [this, alive = alive_, workspace, outcome](Reply reply) {
    if (!*alive) return;
    if (reply || reply.error().code != ErrorCode::kBusy) return finished(workspace, outcome.id);
    executor_.post_after(kFirstBackoff, [this, alive, workspace, outcome] {
      if (*alive) end(workspace, outcome);
    });
  });
}

void OutboxPump::finished(WorkspaceId workspace, OutboxId id) {
  lines_[workspace].in_flight.erase(id);
  pump(workspace);
}

}  // namespace ctrlplane
