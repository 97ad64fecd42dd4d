#include "engine/bracket_run.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/admission.h"
#include "engine/brackets.h"
#include "engine/jobs.h"
#include "engine/notify.h"
#include "engine/select.h"
#include "model/json_writer.h"

namespace ctrlplane {
namespace {

using Outcome = MemberOutcome;
using Course = GroupCourse;

void tell(Tx& tx, const BracketGroup& row, std::string_view type) {
  const ResourceIx r = tx.state.resources.find(row.resource);
  JsonWriter w;
  w.open().member("type", type).member("audience", "deployers").member("workspaceId", tx.state.id());
  w.member("groupId", row.id).member("ruleId", row.rule);
  w.member("resourceId", row.resource);
  w.member("resource", r ? tx.state.resources[r].row.name : row.resource.str());
  if (row.ended()) w.member("quarantined", tx.state.quarantine(row.rule, row.resource) != nullptr);
  notify_all(tx, w.member("note", row.note).member("at", tx.now).close().take());
}

std::string circle_text(const std::string& circle) {
  return fmt::format("its members wait for each other: {}", circle);
}

// Ends the group's jobs that no agent has and that fit: fits(member, job).
template <class Fits>
void cancel_waiting(Tx& tx, GroupIx g, const std::string& why, Fits&& fits) {
  const GroupSlot& group = tx.state.groups[g];
  std::vector<JobId> waiting;
  for (const MemberSlot& m : group.members) {
    const TargetIx t = tx.state.target({group.row.resource, group.row.environment, m.row.deployment});
    for (JobIx j = t ? tx.state.at(t).first_job : JobIx{}; j; j = tx.state.jobs[j].next_on_target) {
      const JobSlot& job = tx.state.jobs[j];
      if (job.row.group == group.row.id && job.row.status == JobStatus::kPending && fits(m, job))
        waiting.push_back(job.row.id);
    }
  }
  for (JobId id : waiting)
    if (JobIx j = tx.state.jobs.find(id)) end_job(tx, j, JobStatus::kCancelled, why, true);
}

class Run {
 public:
  Run(Tx& tx, GroupIx g) : tx_(tx), g_(g) {}

  void pass() {
    drop_what_must_not_start();
    tend_members();
    take_next_round();
    switch (row().course) {
      case Course::kForward: go_forward(); break;
      case Course::kRollBack: go_back(); break;
      case Course::kWindDown: wind_down(); break;
    }
    if (!over_) judge_status();
  }

 private:
  const GroupSlot& group() const { return tx_.state.groups[g_]; }
  const BracketGroup& row() const { return group().row; }
  bool runs(const MemberSlot& m) const { return is_running(tx_.state, group(), m); }
  bool any_runs() const {
    return std::any_of(group().members.begin(), group().members.end(),
                       [&](const MemberSlot& m) { return runs(m); });
  }
  template <class Fn>
  void each_part(Fn&& fn) {
    for (size_t i = 0; i < group().members.size(); ++i)
      if (takes_part(group().members[i])) fn(group().members[i]);
  }
  bool any_with(Outcome o) const {
    return std::any_of(group().members.begin(), group().members.end(),
                       [&](const MemberSlot& m) { return takes_part(m) && m.row.outcome == o; });
  }
  void set(const MemberSlot& m, Outcome o) {
    BracketMember to = m.row;
    to.outcome = o;
    if (o != Outcome::kWaiting && o != Outcome::kRollingBack && !to.finished_at) to.finished_at = tx_.now;
    tx_.put(std::move(to));
  }
  void set_course(Course c) {
    BracketGroup to = row();
    to.course = c;
    tx_.put(std::move(to));
  }

  void drop_what_must_not_start() {
    cancel_waiting(tx_, g_, "its version was ruled out", [&](const MemberSlot& m, const JobSlot& job) {
      return takes_part(m) && (!job.version || tx_.state.versions[job.version].erased ||
                               is_ruled_out(tx_.state.versions[job.version].row.status));
    });
    // What prepares and closes the resource, and what goes back to what ran, runs as it was locked.
    cancel_waiting(tx_, g_, "its version is not for this target any more",
                   [&](const MemberSlot& m, const JobSlot& job) {
                     return takes_part(m) && !is_hook(m) && m.row.outcome != Outcome::kRollingBack &&
                            job.target && is_lock_out_of_scope(tx_.state, job.target, job.version);
                   });
  }

  // Targets go, and locks lose what made them good.
  void tend_members() {
    each_part([&](const MemberSlot& m) {
      const bool waits = m.row.outcome == Outcome::kWaiting || m.row.outcome == Outcome::kRollingBack;
      if (!waits || runs(m)) return;
      const TargetIx t = target_of(tx_.state, group(), m);
      if (!t) {
        note(fmt::format("{} is not on this resource any more", name_of(tx_.state, m)));
        return set(m, is_hook(m) ? Outcome::kFailed : Outcome::kSkipped);
      }
      if (m.row.outcome != Outcome::kWaiting) return;
      if (is_good_lock(tx_.state, t, m.version) || m.row.next_version) return;
      if (is_lock_out_of_scope(tx_.state, t, m.version)) {
        if (is_hook(m)) return;
        note(fmt::format("the version of {} is not for this resource any more", name_of(tx_.state, m)));
        return set(m, Outcome::kSkipped);
      }
      note(fmt::format("the version of {} was ruled out", name_of(tx_.state, m)));
      set(m, Outcome::kFailed);
    });
  }

  // Locks of a group that entered this one, once nobody works.
  void take_next_round() {
    if (row().course != Course::kForward) return;
    bool due = false, busy = false;
    each_part([&](const MemberSlot& m) {
      due |= m.row.next_version.has_value();
      busy |= !is_hook(m) && runs(m);
    });
    if (!due || busy) return;
    each_part([&](const MemberSlot& m) {
      if (!m.row.next_version) return;
      BracketMember to = m.row;
      to.version = std::exchange(to.next_version, std::nullopt);
      to.locked_at = tx_.now;
      to.outcome = Outcome::kWaiting;
      to.attempts = 0;
      to.finished_at.reset();
      tx_.put(std::move(to));
    });
  }

  // What refused it, if it could not be started.
  std::optional<Refusal> start_member(const MemberSlot& m, VersionIx v, JobCause cause) {
    State& state = tx_.state;
    const TargetIx t = target_of(state, group(), m);
    if (!t) return Refusal{"it is not on this resource any more"};
    const TargetSlot& slot = state.at(t);
    TargetState to = state.row_of(t);
    const ReleaseId release = v == slot.current_version
                                  ? slot.current_release
                                  : release_id(to.key, state.versions[v].row.id, Digest{});
    to.desired_release = release;
    to.desired_version = state.versions[v].row.id;
    const StartRequest q{t, v, release, cause, g_, m.row.attempts == 0};
    if (auto no = refusal(state, tx_.now, q, to)) return no;
    auto jobs = start(tx_, q, std::move(to));
    CHECK(jobs.has_value(), "admission refused what it had allowed");
    BracketMember started = m.row;
    if (started.outcome == Outcome::kWaiting) started.outcome = Outcome::kRunning;
    ++started.attempts;
    started.last_job = jobs->front();
    if (!started.started_at) started.started_at = tx_.now;
    started.finished_at.reset();
    tx_.put(std::move(started));
    return std::nullopt;
  }

  void try_forward(const MemberSlot& m) {
    if (m.row.outcome != Outcome::kWaiting || runs(m) || must_wait(tx_.state, tx_.now, group(), m)) return;
    const bool again = m.row.attempts > 0;
    auto no = start_member(m, m.version, again ? JobCause::kRetry : JobCause::kPolicy);
    if (!no) return;
    const TargetIx t = target_of(tx_.state, group(), m);
    if (no->next_at) tx_.state.wake_at(t, *no->next_at);
    if (!no->attempts_used_up) return;
    note(fmt::format("{} failed: {}", name_of(tx_.state, m), no->why));
    set(m, Outcome::kFailed);
  }

  // Somebody failed for good, and a rollback rule acts on that.
  bool wants_back() {
    bool back = false;
    each_part([&](const MemberSlot& m) {
      if (m.row.outcome != Outcome::kFailed || m.row.role == MemberRole::kPostHook || m.row.attempts == 0)
        return;
      const TargetIx t = target_of(tx_.state, group(), m);
      back |= t && says_go_back(tx_.state, t);
    });
    return back && policy::terms_of(row()).rollback != policy::BracketTerms::Rollback::kHalt;
  }

  // What no agent has yet is not begun any more, except hooks that close.
  void call_off() {
    cancel_waiting(tx_, g_, "its bracket group turned back", [](const MemberSlot& m, const JobSlot&) {
      return m.row.role != MemberRole::kPostHook && m.row.outcome == Outcome::kRunning;
    });
  }

  void go_forward() {
    if (!wants_back()) each_part([&](const MemberSlot& m) { try_forward(m); });
    if (wants_back()) {
      call_off();
      if (any_runs()) return;  // who works finishes first
      set_course(Course::kRollBack);
      turn_back();
      return go_back();
    }
    bool all = true;
    each_part([&](const MemberSlot& m) { all = all && is_done(tx_.state, tx_.now, group(), m); });
    if (all) finish({.status = GroupStatus::kCompleted});
  }

  // Locks that entered the group and were to run next are not begun any more.
  void give_up_next_round() {
    each_part([&](const MemberSlot& m) {
      if (!m.row.next_version) return;
      BracketMember to = m.row;
      to.version = std::exchange(to.next_version, std::nullopt);
      to.locked_at = tx_.now;
      to.outcome = Outcome::kAborted;
      tx_.put(std::move(to));
    });
  }

  // Once: who goes back, who was never begun.
  void turn_back() {
    give_up_next_round();
    const bool all = policy::terms_of(row()).rollback == policy::BracketTerms::Rollback::kAll;
    each_part([&](const MemberSlot& m) {
      if (m.row.role == MemberRole::kPostHook) return;
      const bool failed = m.row.outcome == Outcome::kFailed || m.row.outcome == Outcome::kWaiting;
      const bool began = m.row.attempts > 0 && (failed || all);
      const bool changed =
          m.row.participation == Participation::kChanged && m.previous && m.previous != m.version;
      if (began && changed)
        set(m, Outcome::kRollingBack);
      else if (m.row.outcome == Outcome::kWaiting || m.row.outcome == Outcome::kFailed)
        set(m, Outcome::kAborted);
    });
  }

  void go_back() {
    each_part([&](const MemberSlot& m) {
      if (m.row.outcome != Outcome::kRollingBack || runs(m)) return;
      if (must_wait_to_go_back(tx_.state, group(), m)) return;
      if (const TargetIx t = target_of(tx_.state, group(), m);
          t && !is_good_lock(tx_.state, t, m.previous) && !is_lock_out_of_scope(tx_.state, t, m.previous)) {
        note(fmt::format("what {} goes back to was ruled out", name_of(tx_.state, m)));
        return set(m, Outcome::kFailed);
      }
      if (auto no = start_member(m, m.previous, JobCause::kRollback); no && no->next_at)
        tx_.state.wake_at(target_of(tx_.state, group(), m), *no->next_at);
    });
    if (any_with(Outcome::kRollingBack) || any_with(Outcome::kFailed)) return;
    set_course(Course::kWindDown);
    wind_down();
  }

  void wind_down() {
    bool over = true;
    call_off();
    if (!any_runs()) give_up_next_round();
    each_part([&](const MemberSlot& m) {
      const bool open = m.row.outcome == Outcome::kWaiting || m.row.outcome == Outcome::kFailed ||
                        m.row.outcome == Outcome::kRollingBack;
      if (m.row.role != MemberRole::kPostHook && open && !runs(m)) set(m, Outcome::kAborted);
    });
    each_part([&](const MemberSlot& m) {
      if (m.row.role == MemberRole::kPostHook) try_forward(m);
      const Outcome o = m.row.outcome;
      const bool failed_hook = m.row.role == MemberRole::kPostHook && o == Outcome::kFailed;
      over = over && !runs(m) && o != Outcome::kWaiting && o != Outcome::kRollingBack && !failed_hook;
    });
    if (over) finish({.status = GroupStatus::kFailed, .note = note_.empty() ? row().note : note_});
  }

  void finish(const GroupEnding& ending) {
    over_ = true;
    end_group(tx_, row().id, ending);
  }

  void note(std::string text) { note_ = std::move(text); }

  // Stuck is who has a member that failed for good, and nothing else to do about it.
  void judge_status() {
    bool stuck = any_with(Outcome::kFailed) && row().course != Course::kWindDown;
    if (row().course == Course::kForward && wants_back()) stuck = false;  // it waits for those who finish
    each_part([&](const MemberSlot& m) {
      stuck |= m.row.role == MemberRole::kPostHook && m.row.outcome == Outcome::kFailed;
    });
    // Who depends on whom may have changed with locks that entered it.
    if (!stuck && row().course == Course::kForward && !any_runs())
      if (auto circle = cycle_of(tx_.state, tx_.now, group())) {
        stuck = true;
        note(circle_text(*circle));
      }
    BracketGroup to = row();
    if (!note_.empty()) to.note = note_;
    if (stuck && to.status != GroupStatus::kStuck) {
      to.status = GroupStatus::kStuck;
      to.stuck_since = tx_.now;
      tx_.put(to);
      return tell(tx_, to, "bracket.stuck");
    }
    if (!stuck && to.status == GroupStatus::kStuck) {
      to.status = GroupStatus::kExecuting;
      to.stuck_since.reset();
      if (to.course == Course::kForward) to.note.clear();  // else it says how the group will have ended
    }
    if (to != row()) tx_.put(to);
    if (!stuck) return;
    const auto timeout = policy::terms_of(to).stuck_timeout;
    if (!timeout || tx_.now < *to.stuck_since + *timeout) return;
    end_group(tx_, to.id,
              {.status = GroupStatus::kFailed,
               .note = fmt::format("stuck for {} s: {}", timeout->us / 1'000'000, to.note),
               .quarantine = true});
  }

  Tx& tx_;
  const GroupIx g_;
  std::string note_;
  bool over_ = false;
};

// What the group could not bring about is not tried again on its own; nor what it brought for a time, a lock
// that another one replaced, and took back.
void rule_out(Tx& tx, const GroupSlot& group) {
  for (const MemberSlot& m : group.members) {
    const bool failed =
        m.row.outcome != Outcome::kSucceeded && m.row.participation == Participation::kChanged;
    const TargetIx t = tx.state.target({group.row.resource, group.row.environment, m.row.deployment});
    if (!failed || !m.version || !t || tx.state.at(t).current_version == m.version) continue;
    TargetState row = tx.state.row_of(t);
    const size_t before = row.denied.size();
    auto deny = [&](VersionId v) {
      if (std::find(row.denied.begin(), row.denied.end(), v) == row.denied.end()) row.denied.push_back(v);
    };
    deny(tx.state.versions[m.version].row.id);
    if (m.row.outcome == Outcome::kRolledBack)
      for (const PastVersion& p : row.past)
        if (p.version != row.current_version && p.first_success >= group.row.started_at) deny(p.version);
    if (row.denied.size() != before) tx.put(std::move(row));
  }
}

// A resource is in one at a time: a second one, of a group that stood behind, takes the place of the first.
void put_in_quarantine(Tx& tx, const BracketGroup& group) {
  if (const Quarantine* in = tx.state.quarantine(group.rule, group.resource)) {
    Quarantine first = *in;
    first.cleared_by = fmt::format("group {}", group.id.str());
    first.cleared_at = tx.now;
    tx.put(std::move(first));
  }
  tx.put(Quarantine{group.rule, group.resource, group.id, tx.now, {}, {}});
}

}  // namespace

bool look_at_circle(Tx& tx, GroupIx g) {
  const auto circle = cycle_of(tx.state, tx.now, tx.state.groups[g]);
  BracketGroup row = tx.state.groups[g].row;
  if (row.status == GroupStatus::kStuck && !circle) {
    row.status = GroupStatus::kReady;
    row.stuck_since.reset();
    row.note.clear();
    tx.put(std::move(row));
    return false;
  }
  if (!circle) return false;
  if (row.status != GroupStatus::kStuck) {
    row.status = GroupStatus::kStuck;
    row.stuck_since = tx.now;
    row.note = circle_text(*circle);
    tx.put(row);
    tell(tx, row, "bracket.stuck");
  }
  const auto timeout = policy::terms_of(row).stuck_timeout;
  if (timeout && tx.now >= *row.stuck_since + *timeout)
    end_group(tx, row.id, {.status = GroupStatus::kFailed, .note = row.note, .quarantine = true});
  return true;
}

void call_back_early(Tx& tx, GroupIx g) {
  const State& state = tx.state;
  auto with_no_agent = [&](const JobSlot& job) {
    for (JobIx j = state.at(job.target).first_job; j; j = state.jobs[j].next_on_target)
      if (state.jobs[j].row.status != JobStatus::kPending) return false;
    return true;
  };
  const GroupSlot& group = state.groups[g];
  // Those who have a next round have it when this one is over.
  auto is_behind_somebody = [&](const MemberSlot& m) {
    return std::any_of(group.members.begin(), group.members.end(), [&](const MemberSlot& o) {
      return takes_part(o) && o.row.outcome == Outcome::kWaiting && depends_on(group, m, o.row.deployment);
    });
  };
  cancel_waiting(tx, g, "a member that comes before it was brought in",
                 [&](const MemberSlot& m, const JobSlot& job) {
                   return m.row.outcome == Outcome::kRunning && with_no_agent(job) && is_behind_somebody(m) &&
                          must_wait(state, tx.now, group, m);
                 });
}

void run_group(Tx& tx, GroupId id) {
  if (GroupIx g = tx.state.groups.find(id); g && tx.state.groups[g].row.active()) Run(tx, g).pass();
}

std::optional<Time> next_look(const State& state, Time, GroupIx g) {
  const BracketGroup& row = state.groups[g].row;
  if (row.status == GroupStatus::kCollecting) return row.collection_ends_at;
  if (row.status != GroupStatus::kStuck) return std::nullopt;
  const auto timeout = policy::terms_of(row).stuck_timeout;
  return timeout ? std::optional(*row.stuck_since + *timeout) : std::nullopt;
}

void end_group(Tx& tx, GroupId id, const GroupEnding& ending) {
  GroupIx g = tx.state.groups.find(id);
  const bool started = tx.state.groups[g].row.started();
  if (started)  // what no agent has yet must not start for a group that is over
    cancel_waiting(tx, g, "its bracket group ended", [](const MemberSlot&, const JobSlot&) { return true; });
  BracketGroup row = tx.state.groups[g].row;
  row.status = ending.status;
  row.finished_at = tx.now;
  row.note = ending.note;
  row.merged_into = ending.merged_into;
  tx.put(row);
  if (started) {
    if (ending.status == GroupStatus::kFailed)
      for (size_t i = 0; i < tx.state.groups[g].members.size(); ++i) {
        BracketMember m = tx.state.groups[g].members[i].row;
        if (m.outcome != Outcome::kWaiting && m.outcome != Outcome::kRunning) continue;
        if (m.participation == Participation::kSkipped) continue;
        m.outcome = Outcome::kAborted;
        tx.put(std::move(m));
      }
  }
  if (started || ending.rule_out) rule_out(tx, tx.state.groups[g]);
  if (ending.quarantine) put_in_quarantine(tx, row);
  // Without their bracket they go on by themselves.
  if (ResourceIx r = tx.state.groups[g].resource)
    for (TargetIx t : tx.state.resources[r].targets) tx.state.mark_dirty(t);
  if (ending.status == GroupStatus::kFailed) tell(tx, row, "bracket.failed");
  // One that rules out a set of versions is asked when another group opens.
  if (ending.status != GroupStatus::kFailed) retire_group(tx, g);
}

void retire_group(Tx& tx, GroupIx g) {
  std::vector<BracketMember> members;
  for (const MemberSlot& m : tx.state.groups[g].members) members.push_back(m.row);
  for (BracketMember& m : members) {
    m.retired = true;
    tx.put(std::move(m));
  }
  BracketGroup row = tx.state.groups[g].row;
  row.retired = true;
  tx.put(std::move(row));
}

void forgive(Tx& tx, const GroupSlot& group) {
  for (const MemberSlot& m : group.members) {
    const TargetIx t = tx.state.target({group.row.resource, group.row.environment, m.row.deployment});
    if (!t || !m.row.version) continue;
    TargetState row = tx.state.row_of(t);
    if (std::erase(row.denied, *m.row.version) > 0) tx.put(std::move(row));
  }
}

void note_member_attempt(Tx& tx, const Job& last, bool successful) {
  const GroupIx g = last.group ? tx.state.groups.find(*last.group) : GroupIx{};
  const MemberSlot* m = g ? tx.state.groups[g].member(last.target.deployment) : nullptr;
  if (!m || !tx.state.groups[g].row.active()) return;
  BracketMember row = m->row;
  row.finished_at = tx.now;
  // What a freeze or the engine ended was no attempt.
  const bool counts = successful || !(last.cancelled_by_engine || last.stopped_by);
  if (row.outcome == Outcome::kRollingBack)
    row.outcome = successful ? Outcome::kRolledBack : counts ? Outcome::kFailed : Outcome::kRollingBack;
  else if (row.outcome == Outcome::kRunning)
    row.outcome = successful ? Outcome::kSucceeded : Outcome::kWaiting;
  if (!counts && row.attempts > 0) --row.attempts;
  tx.put(std::move(row));
}

}  // namespace ctrlplane
