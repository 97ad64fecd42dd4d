#include "sim/checker.h"

#include <algorithm>

#include <fmt/core.h>

namespace ctrlplane::sim {
namespace {

using store::Cell;
using store::table_named;

const std::string& text(const store::SimStore::Row& row, size_t column) {
  return std::get<std::string>(row[column]);
}

}  // namespace

// ---- Commits -------------------------------------------------------------------------------------------

void Checker::committed(const store::Commit& commit, const store::Owner& owner) {
  ++commits_;
  WorkspaceId w = commit.workspace;
  if (commit.seq != last_seq_[w] + 1)
    violate(4, fmt::format("commit {} follows {}", commit.seq, last_seq_[w]));
  if (commit.now < last_now_[w]) violate(7, "the workspace's time went back");
  if (owner.epoch < last_epoch_[w]) violate(4, "the epoch went back");
  last_seq_[w] = commit.seq;
  commit_since_ = std::exchange(last_now_[w], commit.now);
  last_epoch_[w] = owner.epoch;
  digest_ = mix64(digest_ ^ static_cast<uint64_t>(commit.now.us) ^ (commit.changes.size() << 48));
  for (const Change& c : commit.changes) {
    digest_ = mix64(digest_ ^ (c.entity.index() << 8) ^ static_cast<uint64_t>(c.op));
    if (c.op == Change::Op::kPut) check_before(commit, c.entity);
    if (const auto* slot = std::get_if<ConcurrencySlot>(&c.entity); slot && c.op == Change::Op::kErase)
      check_slot_freed(w, *slot);
    if (std::holds_alternative<ConcurrencySlot>(c.entity) || std::holds_alternative<Quarantine>(c.entity) ||
        std::holds_alternative<Policy>(c.entity) || std::holds_alternative<Resource>(c.entity))
      limits_changed_[w] = commit.now;
    ledgers_[w].apply(c);
    if (const auto* row = std::get_if<TargetState>(&c.entity); row && c.op == Change::Op::kErase)
      chains_.erase({w, row->key}), forgotten_[{w, row->key}] = commit.now;  // what it knew goes with the row
    if (c.op != Change::Op::kPut) continue;
    if (const auto* job = std::get_if<Job>(&c.entity)) check_job(commit, *job);
    if (const auto* version = std::get_if<Version>(&c.entity))
      if (version->created_at == commit.now && version->status == VersionStatus::kReady && !version->retired)
        digest_ = mix64(digest_ ^ version->id.uuid.low());
    if (const auto* system = std::get_if<System>(&c.entity)) {
      // Names are used once by the clients: a second row with one is a request carried out twice.
      const store::Table& t = table_named("system");
      int same = 0;
      for (const auto& [key, row] : store_.rows(w, t)) same += text(row, t.column("name")) == system->name;
      if (same > 1) violate(5, fmt::format("system {} was created {} times", system->name, same));
    }
  }
  check_touched_freezes(w);
  check_touched_groups(w);
  check_touched_slots(w);
}

void Checker::check_before(const store::Commit& commit, const Entity& entity) {
  if (const auto* freeze = std::get_if<Freeze>(&entity)) check_freeze(commit, *freeze);
  if (const auto* event = std::get_if<FreezeEvent>(&entity)) check_freeze_event(commit.workspace, *event);
  if (const auto* row = std::get_if<TargetState>(&entity)) check_attempts(commit.workspace, *row);
  if (const auto* group = std::get_if<BracketGroup>(&entity)) check_group(commit, *group);
  if (const auto* m = std::get_if<BracketMember>(&entity)) check_member(commit.workspace, *m);
  if (const auto* slot = std::get_if<ConcurrencySlot>(&entity)) check_slot_taken(commit.workspace, *slot);
  if (const auto* entry = std::get_if<AuditEntry>(&entity)) {
    audited_.insert({entry->action, entry->subject});
    if (entry->action.starts_with("bracket.")) ++bracketed_["  done by people: " + entry->action.substr(8)];
  }
}

void Checker::check_job(const store::Commit& commit, const Job& job) {
  WorkspaceId w = commit.workspace;
  digest_ = mix64(digest_ ^ job.id.uuid.low() ^ static_cast<uint64_t>(job.status));
  auto [it, is_new] = jobs_.try_emplace({w, job.id});
  JobView& view = it->second;
  std::set<JobId>& active = active_[{w, job.target}];
  note_slots(w, job);
  if (is_new) {
    view = {job.target, job.release, job.version, job.status, job.cause, commit.seq, job.created_at};
    view.again = is_again(w, job);
    view.group = job.group;
    if (job.group) groups_[{w, *job.group}].jobs[job.target.deployment].push_back(job.id);
    last_jobs_[{w, job.target}] = job.id;
    for (JobId other : active) {
      const JobView& o = jobs_[{w, other}];
      if (o.release != job.release)
        violate(3,
                fmt::format("two releases active on one target: jobs {} and {}", other.str(), job.id.str()));
      else if (o.created_seq != commit.seq)
        violate(3, fmt::format("job {} joined an attempt that had begun earlier", job.id.str()));
    }
    judge(w, job);
  } else if (is_terminal(view.status) && job.status != view.status) {
    violate(4, fmt::format("job {} was {} and became {}", job.id.str(), to_string(view.status),
                           to_string(job.status)));
  }
  if (job.handed_over_at && job.handed_over_at != view.handed_over_at) judge_hand_over(commit, job);
  if (job.stopped_by && !view.stopped) judge_stop(w, job);
  bool was_active = !is_new && !is_terminal(view.status);
  view.status = job.status;
  view.handed_over_at = job.handed_over_at;
  view.stopped = job.stopped_by.has_value();
  view.fences_itself = job.fences_itself;
  view.message = job.message;
  view.due.reset();
  if (job.handed_over_at && job.timeout) view.due = *job.handed_over_at + *job.timeout;
  if (!is_terminal(job.status)) {
    active.insert(job.id);
    return;
  }
  active.erase(job.id);
  if (was_active) note_end(w, job);
  if (was_active) note_stop(w, job);
  // Declared lost while its agent, by its own reckoning, still held the lease.
  if (was_active && job.message.find("was lost") != std::string::npos && running_.contains({w, job.id})) {
    auto holds = holds_until_.find({w, job.id});
    if (holds != holds_until_.end() && holds->second > boot_)
      violate(5, fmt::format("job {} was given up while its agent held it", job.id.str()));
  }
}

// ---- Agents --------------------------------------------------------------------------------------------

void Checker::agent_received(WorkspaceId w, JobId job) {
  auto it = jobs_.find({w, job});
  if (it == jobs_.end() || !it->second.handed_over_at)
    violate(5, fmt::format("an agent got job {}, whose hand-over is not committed", job.str()));
}

bool Checker::was_given_up(const JobView& job) {
  if (!is_terminal(job.status)) return false;
  return job.message.starts_with("cancelled by") || job.message.starts_with("looked at it") ||
         job.message.starts_with("timed out");
}

void Checker::agent_started(WorkspaceId w, JobId job, const TargetKey& target, Time) {
  if (++starts_[{w, job}] > 1)
    violate(5, fmt::format("job {} was started {} times", job.str(), starts_[{w, job}]));
  const JobView& mine = jobs_[{w, job}];
  for (JobId other : running_on_[{w, target}]) {
    const JobView& o = jobs_[{w, other}];
    if (o.created_seq == mine.created_seq) continue;  // one attempt, several agents
    // What a person gave up, or what ran out of time, is over for the product, whatever its agent does.
    if (was_given_up(o) || was_given_up(mine)) continue;
    violate(3, fmt::format("jobs {} ({}: {}) and {} ({}) run on one target at once", other.str(),
                           to_string(o.status), o.message, job.str(), to_string(mine.status)));
  }
  running_.insert({w, job});
  running_on_[{w, target}].insert(job);
}

void Checker::agent_stopped(WorkspaceId w, JobId job, Time) {
  running_.erase({w, job});
  if (auto it = jobs_.find({w, job}); it != jobs_.end()) running_on_[{w, it->second.target}].erase(job);
}

// ---- Clients -------------------------------------------------------------------------------------------

bool Checker::has_row(WorkspaceId w, const std::string& table, const std::string& name) const {
  const store::Table& t = table_named(table);
  size_t column = t.column(table == "deployment_version" ? "tag"
                           : table == "resource"         ? "identifier"
                                                         : "name");
  for (const auto& [key, row] : store_.rows(w, t))
    if (text(row, column) == name) return true;
  return false;
}

void Checker::acknowledged(WorkspaceId w, const std::string& table, const std::string& name) {
  acknowledged_.insert({w, table, name});
  if (!has_row(w, table, name))
    violate(4, fmt::format("{} {} was acknowledged and is not there", table, name));
}

void Checker::told_not_committed(WorkspaceId w, const std::string& table, const std::string& name) {
  denied_.insert({w, table, name});
}

void Checker::told_exists(WorkspaceId w, const std::string& table, const std::string& name) {
  if (!has_row(w, table, name))
    violate(4, fmt::format("a client was told that {} {} exists, and it is not committed", table, name));
}

void Checker::read(WorkspaceId, const std::set<std::string>& expected, const std::set<std::string>& seen) {
  for (const std::string& name : expected)
    if (!seen.contains(name))
      return violate(4, fmt::format("a read did not show {}, acknowledged before it began", name));
}

// ---- At rest -------------------------------------------------------------------------------------------

void Checker::at_rest(WorkspaceId w, Time now) {
  for (const auto& [workspace, table, name] : acknowledged_)
    if (workspace == w && !has_row(w, table, name)) violate(4, fmt::format("{} {} was lost", table, name));
  for (const auto& [workspace, table, name] : denied_)
    if (workspace == w && has_row(w, table, name))
      violate(4,
              fmt::format("{} {} is there although its writer was told it was not committed", table, name));
  for (const auto& [key, job] : jobs_) {
    if (key.first != w || is_terminal(job.status)) continue;
    if (job.due && *job.due + minutes(1) < now)
      violate(
          4, fmt::format("job {} is past its timeout and still {}", key.second.str(), to_string(job.status)));
    if (job.status == JobStatus::kPending && job.created_at + hours(1) < now)
      violate(4, fmt::format("job {} was never handed over (target {})", key.second.str(), job.target.str()));
  }
  nothing_is_held(w, now);
}

}  // namespace ctrlplane::sim
