#include "api/accounts_follower.h"

#include <algorithm>

#include "base/log.h"
#include "runtime/workspace_loop.h"

namespace ctrlplane::api {
namespace {

constexpr Duration kPatience = seconds(2);

}  // namespace

AccountsFollower::AccountsFollower(Executor& executor, StorePort& port, Replica& replica,
                                   Directory& directory)
    : executor_(executor), port_(port), replica_(replica), directory_(directory) {}

AccountsFollower::~AccountsFollower() { *alive_ = false; }

bool AccountsFollower::fresh() const {
  return exclusive_.load() || executor_.clock().boot().us - checked_us_.load() <= kFresh.us;
}

void AccountsFollower::see(const View& view) {
  exclusive_ = view.rows.exclusive;
  auto row = std::find_if(view.rows.owners.begin(), view.rows.owners.end(),
                          [](const store::Owner& o) { return o.workspace == kInstanceWorkspace; });
  if (row == view.rows.owners.end()) return;  // nobody has ever started
  WorkspaceLoop* loop = replica_.loop(kInstanceWorkspace);
  bool ours = loop && loop->active() && row->replica == replica_.config().id && row->token == loop->token();
  is_copy_ = !ours;
  if (ours || row->seq == seq_) return note_checked(view.asked);
  if (!loop) copy(view.asked);  // a loop that is about to load brings it along
}

void AccountsFollower::copy(Duration asked) {
  if (copying_) return;
  copying_ = true;
  port_.snapshot(kInstanceWorkspace, [this, alive = alive_, asked](Result<Loaded> loaded) {
    if (!*alive) return;
    copying_ = false;
    if (!loaded) return log::warn("accounts cannot be copied", {{"error", loaded.error().message}});
    WorkspaceLoop* loop = replica_.loop(kInstanceWorkspace);
    if ((loop && loop->active()) || loaded->owner.seq < seq_) return;  // it knows better
    seq_ = loaded->owner.seq;
    directory_.load(*loaded->state);
    if (copied_) copied_(*loaded->state);
    note_checked(asked);
  });
}

void AccountsFollower::note_checked(Duration asked) {
  checked_us_ = std::max(checked_us_.load(), asked.us);
  auto served = std::partition(waiters_.begin(), waiters_.end(),
                               [&](const Waiter& w) { return w.since.us > checked_us_.load(); });
  for (auto it = served; it != waiters_.end(); ++it) executor_.post(std::move(it->done));
  waiters_.erase(served, waiters_.end());
}

void AccountsFollower::refresh(Task done) {
  executor_.post([this, done = std::move(done)]() mutable {
    Duration now = executor_.clock().boot();
    waiters_.push_back({now, std::move(done)});
    replica_.look();
    executor_.post_after(kPatience, [this, alive = alive_, now] {
      if (!*alive) return;
      auto late =
          std::partition(waiters_.begin(), waiters_.end(), [&](const Waiter& w) { return w.since > now; });
      for (auto it = late; it != waiters_.end(); ++it) executor_.post(std::move(it->done));
      waiters_.erase(late, waiters_.end());
    });
  });
}

void AccountsFollower::loaded(WorkspaceLoop& loop) {
  if (loop.workspace() != kInstanceWorkspace) return;
  seq_ = loop.durable_seq();
  is_copy_ = false;
}

void AccountsFollower::committed(WorkspaceId workspace, int64_t seq, Time, const Changes&) {
  if (workspace == kInstanceWorkspace) seq_ = seq;
}

}  // namespace ctrlplane::api
