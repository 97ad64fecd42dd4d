// What runs as a unit runs as one: versions are locked when the window closes and not before, the group
// starts when everybody in it may, its members follow each other in order, and nobody is left waiting.
#include <algorithm>

#include <fmt/core.h>

#include "sim/bracketbook.h"
#include "sim/checker.h"
#include "sim/freezebook.h"
#include "sim/rule_text.h"

namespace ctrlplane::sim {
namespace {

using Status = GroupStatus;
using Outcome = MemberOutcome;

// What an owner in good health needs at most until it does what is due.
constexpr Duration kInTime = minutes(1);
// Groups on one resource within that time: then it cannot make up its mind.
constexpr size_t kTooMany = 60;
// The same where freezes that were thawed at a pace give out turns.
constexpr Duration kLongTime = minutes(6);

std::string name_of(const BracketGroup& g) { return fmt::format("group {}", g.id.str()); }

std::string name_of(const Ledger& ledger, const BracketMember& m) {
  return fmt::format("{} of group {}", ledger.deployments.at(m.deployment).name, m.group.str());
}

// The diagram of brackets, and what operators may do.
bool may_become(Status from, Status to) {
  switch (from) {
    case Status::kCollecting: return to == Status::kReady || to == Status::kCancelled;
    case Status::kReady:
      return to == Status::kQueued || to == Status::kExecuting || to == Status::kStuck ||
             to == Status::kCancelled;
    case Status::kQueued:  // the one ahead has ended
      return to == Status::kReady || to == Status::kExecuting || to == Status::kStuck ||
             to == Status::kCancelled;
    case Status::kExecuting:
      return to == Status::kStuck || to == Status::kCompleted || to == Status::kFailed ||
             to == Status::kCancelled;
    case Status::kStuck:
      return to == Status::kExecuting || to == Status::kReady || to == Status::kCompleted ||
             to == Status::kFailed || to == Status::kCancelled;
    default: return false;
  }
}

bool is_end(Status s) { return s == Status::kCompleted || s == Status::kFailed || s == Status::kCancelled; }

bool is_frozen(const Ledger& ledger, const TargetKey& target, const Version& version, Time now) {
  const std::vector<Stretch> frozen = frozen_stretches(ledger, target, version, now);
  return std::any_of(frozen.begin(), frozen.end(),
                     [&](const Stretch& s) { return s.from <= now && now < s.to; });
}

// A member of another group of the bracket there that is open.
const BracketMember* beside(const Ledger& ledger, const BracketGroup& group, DeploymentId d,
                            std::optional<VersionId> version = {}) {
  for (const auto& [id, other] : ledger.groups) {
    if (id == group.id || other.ended() || other.rule != group.rule || other.resource != group.resource ||
        other.environment != group.environment)
      continue;
    auto m = ledger.members.find({id, d});
    if (m != ledger.members.end() && (!version || m->second.version == version)) return &m->second;
  }
  return nullptr;
}

// A person left the member out in another group, whose locks come here.
bool is_left_out_beside(const Ledger& ledger, const BracketGroup& group, DeploymentId d) {
  return std::any_of(ledger.groups.begin(), ledger.groups.end(), [&](const auto& other) {
    const BracketGroup& o = other.second;
    if (o.ended() || o.rule != group.rule || o.resource != group.resource ||
        o.environment != group.environment)
      return false;
    auto m = ledger.members.find({o.id, d});
    return m != ledger.members.end() && m->second.outcome == Outcome::kSkipped;
  });
}

// Another group had locked it for the member before.
bool is_copied(const Ledger& ledger, const BracketGroup& group, DeploymentId d, VersionId v) {
  return beside(ledger, group, d, v) != nullptr;
}

// Going forward again is asked of rules as a return only if it runs something newer by now.
bool goes_back_to(const Ledger& ledger, const TargetKey& target, const Version& v) {
  const Version* current = ledger.current_of(target);
  return current && ran_before(*ledger.row_of(target), v.id) && is_newer(*current, v);
}

}  // namespace

// ---- A group's row -------------------------------------------------------------------------------------

// Called before the row is folded in.
void Checker::check_group(const store::Commit& commit, const BracketGroup& row) {
  WorkspaceId w = commit.workspace;
  const Ledger& ledger = ledgers_[w];
  touched_groups_.insert(row.id);
  auto known = ledger.groups.find(row.id);
  if (known == ledger.groups.end()) return check_opening(w, row);
  const BracketGroup before = known->second;
  if (before.ended()) {
    BracketGroup same = row;
    same.retired = before.retired;
    if (same != before) violate(0, fmt::format("{} changed after its end", name_of(row)));
    return;
  }
  if (row.status != before.status) check_step(w, before, row);
  if (row.ready_at && !before.ready_at) check_closing(w, row);
  if (row.started_at && !before.started_at) check_starting(w, row);
  if (row.finish_by != before.finish_by) deeds_.push_back({"bracket.finish", row.id.str(), "let finish"});
  if (row.closed_by != before.closed_by) deeds_.push_back({"bracket.close_now", row.id.str(), "closed"});
  if (row.ended()) check_ending(w, row);
  for (auto [was, is] : {std::pair(before.ready_at, row.ready_at), {before.started_at, row.started_at}})
    if (was && was != is) violate(0, fmt::format("{} has another past than before", name_of(row)));
}

void Checker::check_step(WorkspaceId w, const BracketGroup& before, const BracketGroup& row) {
  ++bracketed_[fmt::format("  groups {}", to_string(row.status))];
  if (!may_become(before.status, row.status))
    violate(0, fmt::format("{} was {} and became {}", name_of(row), to_string(before.status),
                           to_string(row.status)));
  if (is_end(row.status) != row.ended() || (row.status == Status::kExecuting && !row.started()) ||
      (row.status == Status::kReady && !row.ready_at))
    violate(0, fmt::format("{} is {}, and its times say otherwise", name_of(row), to_string(row.status)));
  if (row.status != Status::kStuck) return;
  const auto members = members_of(ledgers_[w], row.id);
  const bool failed = std::any_of(members.begin(), members.end(), [](const BracketMember* m) {
    return takes_part(*m) && m->outcome == Outcome::kFailed;
  });
  const bool circular = has_cycle(ledgers_[w], row, last_now_[w]);
  if (circular) ++bracketed_["  groups that wait for themselves"];
  if (!failed && !circular) violate(0, fmt::format("{} is stuck, and nobody in it has failed", name_of(row)));
}

void Checker::check_opening(WorkspaceId w, const BracketGroup& row) {
  const Ledger& ledger = ledgers_[w];
  ++bracketed_["groups opened"];
  open_groups_[w].insert(row.id);
  if (row.status != Status::kCollecting)
    violate(0, fmt::format("{} begins as {}", name_of(row), to_string(row.status)));
  if (row.collection_started_at > row.created_at)
    violate(0, fmt::format("{} collects since {}, which is to come", name_of(row),
                           format_rfc3339(row.collection_started_at)));
  auto& opened = opened_at_[{w, row.rule, row.resource}];
  std::erase_if(opened, [&](Time t) { return t + kInTime < row.created_at; });
  opened.push_back(row.created_at);
  if (opened.size() > kTooMany)
    violate(0, fmt::format("{} is number {} on its resource within a minute", name_of(row), opened.size()));
  if (ledger.quarantines.contains({row.rule, row.resource}))
    violate(0, fmt::format("{} opened on a resource in quarantine", name_of(row)));
  for (const TargetKey& key : targets_of_bracket(ledger, row.rule, row.resource, row.environment))
    groups_[{w, row.id}].opened_with.insert(key.deployment);
}

// ---- Its window closes ---------------------------------------------------------------------------------

// Its members' rows are folded in already.
void Checker::check_closing(WorkspaceId w, const BracketGroup& row) {
  const Ledger& ledger = ledgers_[w];
  ++bracketed_["groups closed"];
  auto bound = rule_named(ledger, row.rule);
  if (!bound || !bound->policy->enabled)
    return violate(0, fmt::format("{} was closed by a rule that is not in force", name_of(row)));
  if (row.terms != bound->rule->body)
    violate(0, fmt::format("{} does not keep the rule as it was", name_of(row)));
  check_window(ledger, row);
  check_roles(ledger, row);
  bool changes = false;
  for (const BracketMember* m : members_of(ledger, row.id)) {
    if (!takes_part(*m)) continue;
    ++bracketed_[fmt::format("  members: {}", to_string(m->participation))];
    const Version* current = ledger.current_of(target_of(row, *m));
    changes |= m->version && (!current || current->id != *m->version);
  }
  if (!changes) violate(0, fmt::format("{} was closed, and nothing in it is new", name_of(row)));
}

void Checker::check_window(const Ledger& ledger, const BracketGroup& row) {
  const std::string_view terms = row.terms.text(), mode = text(terms, "readinessMode");
  if (mode == "immediate" || !row.closed_by.empty()) return;
  const Duration window = seconds(number(terms, "readinessWindowSeconds", 0));
  bool all_changed = true;
  for (const TargetKey& key : targets_of_bracket(ledger, row.rule, row.resource, row.environment))
    if (auto m = ledger.members.find({row.id, key.deployment});
        m != ledger.members.end() && m->second.role == MemberRole::kWork)
      all_changed = all_changed && m->second.participation == Participation::kChanged;
  // What is exempt from a freeze goes without what is not.
  const bool anything_frozen = std::any_of(ledger.freezes.begin(), ledger.freezes.end(),
                                           [&](const auto& f) { return is_active(f.second, *row.ready_at); });
  Time closes = row.collection_started_at + window;
  if (mode == "wait_for_all" && (all_changed || anything_frozen)) return;
  const bool waits_longer = mode != "wait_for_all" && text(terms, "unchangedMemberStrategy") == "require_all";
  if (waits_longer && !all_changed && !anything_frozen) closes = closes + window;
  if (*row.ready_at < closes)
    violate(0, fmt::format("{} was closed at {}, before {}", name_of(row), format_rfc3339(*row.ready_at),
                           format_rfc3339(closes)));
}

// Who comes after whom, and who is a hook, by the rules in force.
void Checker::check_roles(const Ledger& ledger, const BracketGroup& row) {
  std::vector<DeploymentId> in_play;
  for (const TargetKey& key : targets_of_bracket(ledger, row.rule, row.resource, row.environment))
    if (ledger.members.contains({row.id, key.deployment})) in_play.push_back(key.deployment);
  std::map<DeploymentId, Edges> edges;
  for (DeploymentId d : in_play) edges[d] = edges_of(ledger, row, d, in_play);
  const std::string_view terms = row.terms.text();
  const bool inferred = !names_hooks(terms);
  const InferredHooks hooks = inferred ? inferred_hooks(edges) : InferredHooks{};
  if (hooks.first) ++bracketed_["  groups with hooks inferred"];
  for (const BracketMember* m : members_of(ledger, row.id)) {
    if (!edges.contains(m->deployment)) {
      if (takes_part(*m)) violate(0, fmt::format("{} takes part and is no member", name_of(ledger, *m)));
      continue;
    }
    MemberRole role = named_role(terms, ledger.deployments.at(m->deployment));
    if (inferred && hooks.first == m->deployment) role = MemberRole::kPreHook;
    if (inferred && hooks.last == m->deployment) role = MemberRole::kPostHook;
    if (m->role != role)
      violate(0, fmt::format("{} is a {} and should be a {}", name_of(ledger, *m), to_string(m->role),
                             to_string(role)));
    Edges all = edges[m->deployment];
    all.merge(version_edges_of(ledger, row, m->deployment, in_play));
    if (edges_of(*m) != all)
      violate(0, fmt::format("{} does not wait for whom the rules say", name_of(ledger, *m)));
  }
}

// ---- It starts, and ends -------------------------------------------------------------------------------

// "The first job of a group is admitted only if …"; its slots' rows are folded in already.
void Checker::check_starting(WorkspaceId w, const BracketGroup& row) {
  const Ledger& ledger = ledgers_[w];
  const Time now = *row.started_at;
  auto no = [&](const std::string& why) { violate(0, fmt::format("{} started: {}", name_of(row), why)); };
  ++bracketed_["groups started"];
  if (has_cycle(ledger, row, now)) no("its members wait for each other");
  if (ledger.quarantines.contains({row.rule, row.resource})) no("the resource is in quarantine");
  GroupView& view = groups_[{w, row.id}];
  for (const BracketMember* m : members_of(ledger, row.id)) {
    const TargetKey key = target_of(row, *m);
    if (!takes_part(*m) || !ledger.exists(key)) continue;
    for (RuleId rule : limits_over(ledger, key)) view.needed.insert(rule);
  }
  for (RuleId rule : view.needed)
    if (!ledger.slots.contains({rule, row.resource}))
      violate(2, fmt::format("{} started without a slot of rule {}", name_of(row), rule.str()));
  for (const BracketMember* m : members_of(ledger, row.id)) {
    if (!takes_part(*m) || m->outcome == Outcome::kSkipped) continue;
    const TargetKey key = target_of(row, *m);
    const std::string name = name_of(ledger, *m);
    if (!m->version || !ledger.exists(key)) {
      no(fmt::format("{} has no version, or no target", name));
      continue;
    }
    const Version& version = ledger.versions.at(*m->version);
    if (!active_[{w, key}].empty()) no(fmt::format("{} has a job", name));
    for (const auto& [id, f] : ledger.freezes)
      if (is_active(f, now) && is_covered(ledger, f, f.selector, key, version) &&
          pass_of(ledger, f, key, version, now) == Pass::kNone &&
          !passes_as_group(ledger, f, row, view.handed_over, now))
        no(fmt::format("{} is frozen", name));
    if (auto said = RuleBook(ledger, key)
                        .refusal(version, now, goes_back_to(ledger, key, version), Asked::kStart, &row))
      no(fmt::format("{}: {}: it {}", name, said->rule, said->why));
    if (std::string missing = missing_outside(ledger, row, *m, now); !missing.empty())
      no(fmt::format("{}: {}", name, missing));
  }
}

void Checker::check_ending(WorkspaceId w, const BracketGroup& row) {
  const Ledger& ledger = ledgers_[w];
  open_groups_[w].erase(row.id);
  if (row.status == Status::kCancelled && row.started() && ledger.resources.contains(row.resource))
    violate(0, fmt::format("{} was cancelled at work", name_of(row)));
  if (row.status != Status::kCompleted) return;
  if (row.course != GroupCourse::kForward)
    violate(0, fmt::format("{} was completed on its way back", name_of(row)));
  for (const BracketMember* m : members_of(ledger, row.id))
    if (takes_part(*m) && !is_done(ledger, row, *m, *row.finished_at))
      violate(0, fmt::format("{} was completed while {} was {}", name_of(row), name_of(ledger, *m),
                             to_string(m->outcome)));
}

// ---- A member's row ------------------------------------------------------------------------------------

const Checker::JobView* Checker::last_job_of(WorkspaceId w, const BracketMember& m) const {
  auto group = groups_.find({w, m.group});
  if (group == groups_.end()) return nullptr;
  auto jobs = group->second.jobs.find(m.deployment);
  if (jobs == group->second.jobs.end() || jobs->second.empty()) return nullptr;
  return &jobs_.at({w, jobs->second.back()});
}

// Called before the row is folded in.
void Checker::check_member(WorkspaceId w, const BracketMember& row) {
  const Ledger& ledger = ledgers_[w];
  touched_groups_.insert(row.group);
  auto group = ledger.groups.find(row.group);
  if (group == ledger.groups.end())
    return violate(0, fmt::format("a member came before its group {}", row.group.str()));
  const BracketGroup& g = group->second;
  auto known = ledger.members.find({row.group, row.deployment});
  const BracketMember* before = known == ledger.members.end() ? nullptr : &known->second;
  if (row.retired) return;
  // A later group that had not started either may bring along somebody new.
  if (!before && !groups_[{w, g.id}].opened_with.contains(row.deployment) &&
      beside(ledger, g, row.deployment))
    groups_[{w, g.id}].opened_with.insert(row.deployment);
  if (takes_part(row) && row.version && (!before || before->version != row.version)) check_lock(w, g, row);
  if (row.next_version && (!before || before->next_version != row.next_version) &&
      !is_copied(ledger, g, row.deployment, *row.next_version))
    violate(0, fmt::format("{} is to run what no group has locked", name_of(ledger, row)));
  if (!before || before->outcome != row.outcome) check_outcome(w, g, before, row);
  const bool new_lock = !before || before->version != row.version || before->locked_at != row.locked_at;
  if (before && row.attempts == 0 && before->attempts > 1 && !new_lock)
    deeds_.push_back({"bracket.retry", row.group.str(), "given new attempts"});
}

void Checker::check_lock(WorkspaceId w, const BracketGroup& g, const BracketMember& row) {
  const Ledger& ledger = ledgers_[w];
  if (is_copied(ledger, g, row.deployment, *row.version)) return;
  ++bracketed_["versions locked"];
  const TargetKey key = target_of(g, row);
  auto no = [&](const std::string& why) {
    violate(0, fmt::format("{} was locked to {}: {}", name_of(ledger, row),
                           ledger.versions.at(*row.version).tag, why));
  };
  auto before = ledger.members.find({g.id, row.deployment});
  if (before != ledger.members.end() && before->second.next_version == row.version) return;
  if (!ledger.exists(key)) return no("it is no target");
  const Version* current = ledger.current_of(key);
  if (row.participation == Participation::kRedeploy) {
    if (!current || current->id != *row.version) no("that is not what runs");
    return;
  }
  if (!active_[{w, key}].empty()) return;  // a cooldown counts from what is on its way
  const Version* newest = newest_lockable(ledger, key, *row.locked_at);
  if (!newest) newest = current;
  if (!newest || newest->id != *row.version)
    no(fmt::format("the newest that its rules allow is {}, not {}", newest ? newest->tag : "none",
                   why_not(ledger, key, ledger.versions.at(*row.version), *row.locked_at)));
}

// For the message.
std::string Checker::why_not(const Ledger& ledger, const TargetKey& key, const Version& v, Time now) {
  const TargetState* row = ledger.row_of(key);
  if (v.status != VersionStatus::kReady) return std::string(to_string(v.status));
  if (row && std::find(row->denied.begin(), row->denied.end(), v.id) != row->denied.end()) return "denied";
  const Version* current = ledger.current_of(key);
  if (current && is_newer(*current, v)) return "older than " + current->tag;
  auto no = RuleBook(ledger, key).refusal(v, now, false, Asked::kLock);
  return no ? no->rule + ": it " + no->why : "it is older";
}

// What a row says of a member is what its jobs say.
void Checker::check_outcome(WorkspaceId w, const BracketGroup& g, const BracketMember* before,
                            const BracketMember& row) {
  const Ledger& ledger = ledgers_[w];
  const Outcome was = before ? before->outcome : Outcome::kWaiting;
  const JobView* last = last_job_of(w, row);
  const bool target_is_gone = !ledger.exists(target_of(g, row));
  auto no = [&](const std::string& why) {
    violate(
        0, fmt::format("{} was {} and became {}: {} ({}, {} attempts)", name_of(ledger, row), to_string(was),
                       to_string(row.outcome), why, last ? to_string(last->status) : "no job", row.attempts));
  };
  switch (row.outcome) {
    case Outcome::kSucceeded:
      if (!last || last->status != JobStatus::kSuccessful || last->version != row.version)
        no("its last job does not say so");
      break;
    case Outcome::kRolledBack:
      if (!last || last->status != JobStatus::kSuccessful || last->version != row.previous)
        no("its last job does not say so");
      break;
    case Outcome::kRunning:
      if (!last || is_terminal(last->status)) no("nothing runs");
      break;
    case Outcome::kFailed: {
      const bool tried = last && is_terminal(last->status) && last->status != JobStatus::kSuccessful;
      // What it has locked, or was to go back to.
      const auto wanted = was == Outcome::kRollingBack ? row.previous : row.version;
      const auto v = wanted ? ledger.versions.find(*wanted) : ledger.versions.end();
      const bool ruled_out = v == ledger.versions.end() || v->second.status != VersionStatus::kReady;
      if (!tried && !ruled_out && !target_is_gone) no("no job of it has failed");
      break;
    }
    case Outcome::kSkipped:
      if (is_left_out_beside(ledger, g, row.deployment)) break;
      if (!target_is_gone && row.version &&
          !ledger.is_for(ledger.versions.at(*row.version), target_of(g, row)))
        break;
      if (!target_is_gone) deeds_.push_back({"bracket.skip_member", row.group.str(), "left out"});
      break;
    case Outcome::kAborted:
    case Outcome::kRollingBack:
      if (row.outcome == Outcome::kRollingBack && row.role != MemberRole::kWork) no("it is a hook");
      if (g.course == GroupCourse::kForward && !g.ended()) no("its group goes forward");
      break;
    case Outcome::kWaiting: {
      const bool again =
          !before || was == Outcome::kRunning || before->version != row.version || before->next_version;
      if (!again)
        deeds_.push_back(
            {"bracket.retry", row.group.str(), fmt::format("{} and made to wait again", to_string(was))});
      break;
    }
  }
}

// At the end of a commit.
void Checker::check_touched_groups(WorkspaceId w) {
  const Ledger& ledger = ledgers_[w];
  for (const Deed& d : std::exchange(deeds_, {}))
    if (!audited_.contains({d.action, d.subject}))
      violate(0, fmt::format("a member or group {} was {}, and nobody did that", d.subject, d.what));
  audited_.clear();
  std::set<std::pair<RuleId, ResourceId>> places;
  for (GroupId id : std::exchange(touched_groups_, {})) {
    const BracketGroup& g = ledger.groups.at(id);
    places.insert({g.rule, g.resource});
    std::set<DeploymentId> members;
    for (const BracketMember* m : members_of(ledger, id)) members.insert(m->deployment);
    if (!g.retired && members != groups_[{w, id}].opened_with)
      violate(0, fmt::format("{} has other members than when it opened", name_of(g)));
    const bool left_open = g.status == Status::kFailed && g.course != GroupCourse::kWindDown && !g.retired;
    if (left_open && !ledger.quarantines.contains({g.rule, g.resource}))
      violate(0, fmt::format("{} failed before its end, and its resource is not in quarantine", name_of(g)));
  }
  for (const auto& [rule, resource] : places) {
    int collecting = 0, active = 0;
    for (GroupId id : open_groups_[w]) {
      const BracketGroup& g = ledger.groups.at(id);
      if (g.rule != rule || g.resource != resource) continue;
      collecting += g.status == Status::kCollecting;
      active += g.active();
    }
    if (collecting > 1 || active > 1)
      violate(0, fmt::format("{} groups collect and {} work at once on {} under rule {}", collecting, active,
                             resource.str(), rule.str()));
  }
}

// ---- Its jobs ------------------------------------------------------------------------------------------

bool Checker::passes_with_group(WorkspaceId w, const Freeze& f, const Job& job, Time now) const {
  if (!job.group) return false;
  const Ledger& ledger = ledgers_.at(w);
  auto group = ledger.groups.find(*job.group);
  if (group == ledger.groups.end()) return false;
  return passes_as_group(ledger, f, group->second, groups_.at({w, *job.group}).handed_over, now);
}

void Checker::judge_group_job(WorkspaceId w, const Job& job, const Chain& before) {
  const Ledger& ledger = ledgers_[w];
  ++bracketed_["jobs of groups"];
  auto no = [&](const std::string& why) {
    violate(0, fmt::format("job {} ({}) of group {}: {}", job.id.str(), to_string(job.cause),
                           job.group->str(), why));
  };
  auto group = ledger.groups.find(*job.group);
  auto member = ledger.members.find({*job.group, job.target.deployment});
  if (group == ledger.groups.end() || member == ledger.members.end()) return no("it is no member");
  const BracketGroup& g = group->second;
  const BracketMember& m = member->second;
  if (!g.active()) no(fmt::format("the group is {}", to_string(g.status)));
  if (job.target != target_of(g, m)) no("it is for another target");
  if (!takes_part(m)) no("it does not take part");
  const bool back = m.outcome == Outcome::kRollingBack;
  if (!back && m.outcome != Outcome::kWaiting)
    no(fmt::format("it is {} already in this round", to_string(m.outcome)));
  if (job.version != (back ? m.previous : m.version)) no("its version is not the locked one");
  const std::string waits = back ? waits_to_go_back(ledger, g, m) : waits_for(ledger, g, m, job.created_at);
  if (!waits.empty()) no("it is not its turn: " + waits);
  if (!back && g.course != GroupCourse::kForward && m.role != MemberRole::kPostHook)
    no("the group does not go forward");
  if (m.role != MemberRole::kWork) ++bracketed_[fmt::format("  jobs of a {}", to_string(m.role))];
  judge_group_cause(w, m, job, before);
}

void Checker::judge_group_cause(WorkspaceId w, const BracketMember& m, const Job& job, const Chain& chain) {
  const Ledger& ledger = ledgers_[w];
  auto no = [&](const std::string& why) {
    violate(0, fmt::format("job {} ({}) of group {}: {}", job.id.str(), to_string(job.cause),
                           job.group->str(), why));
  };
  const bool back = m.outcome == Outcome::kRollingBack;
  if (back != (job.cause == JobCause::kRollback)) return no("back is not forward");
  if (back) {
    ++bracketed_["  jobs going back"];
    return;
  }
  if (m.attempts == 0) return job.cause == JobCause::kPolicy ? void() : no("it is the first one");
  if (job.cause != JobCause::kRetry) return no("it is not the first one");
  if (chain.last == JobStatus::kSuccessful) return;  // one that was given up came back with a late success
  const BracketGroup& g = ledger.groups.at(m.group);
  if (forgotten_[{w, job.target}] >= *g.started_at) return;  // the target has gone and come back
  auto terms = RuleBook(ledger, job.target).retry_terms(chain.failures, chain.last);
  if (!terms) return no("the failure before is not one to repeat");
  if (!terms->any || chain.failures > terms->most)
    return no(fmt::format("{} attempts have failed, {} may be repeated", chain.failures, terms->most));
  if (job.created_at < chain.ended + terms->wait) no("it comes too early");
  ++bracketed_["  jobs tried again"];
}

// ---- In the calm ---------------------------------------------------------------------------------------

void Checker::groups_go_on(WorkspaceId w, Time now) {
  for (GroupId id : open_groups_[w]) group_goes_on(w, ledgers_[w].groups.at(id), now);
}

void Checker::group_goes_on(WorkspaceId w, const BracketGroup& g, Time now) {
  const Ledger& ledger = ledgers_[w];
  if (std::max(g.created_at, g.ready_at.value_or(g.created_at)) + kInTime > now) return;
  ++bracketed_[fmt::format("looked at in the calm: {}", to_string(g.status))];
  auto late = [&](const std::string& what) { violate(4, fmt::format("{} {}", name_of(g), what)); };
  const bool in_force = ledger.resources.contains(g.resource) &&
                        ledger.environments.contains(g.environment) &&
                        !targets_of_bracket(ledger, g.rule, g.resource, g.environment).empty();
  if (!in_force && !g.started()) return late("waits for a rule that does not apply any more");
  if (g.status == Status::kCollecting && g.collection_ends_at + kInTime < now)
    return late(fmt::format("should have closed at {}", format_rfc3339(g.collection_ends_at)));
  if (g.status == Status::kReady) {
    Duration a_while = kInTime;
    for (const BracketMember* m : members_of(ledger, g.id))
      if (m->version && waits_for_turns(ledger, target_of(g, *m), ledger.versions.at(*m->version)))
        a_while = kLongTime;
    if (why_not_started(w, g, now).empty() && why_not_started(w, g, now - a_while).empty())
      late("is ready and nothing keeps it from starting");
  }
  if (g.status == Status::kQueued &&
      std::none_of(open_groups_[w].begin(), open_groups_[w].end(), [&](GroupId o) {
        const BracketGroup& other = ledger.groups.at(o);
        return o != g.id && other.rule == g.rule && other.resource == g.resource && other.ready_at;
      }))
    late("is queued behind nobody");
  const auto timeout = member(g.terms.text(), "stuckTimeoutSeconds");
  if (g.status == Status::kStuck && timeout &&
      *g.stuck_since + seconds(number(g.terms.text(), "stuckTimeoutSeconds", 0)) + kInTime < now)
    late("has been stuck for too long");
  if (g.status == Status::kExecuting && !waits_in_the_middle(w, g, now))
    late("is at work, and nothing of it moves or waits for anything");
}

std::string Checker::why_not_started(WorkspaceId w, const BracketGroup& g, Time now) {
  const Ledger& ledger = ledgers_[w];
  if (ledger.quarantines.contains({g.rule, g.resource})) return "quarantine";
  if (!all_limits_are_free(ledger)) return "limits";
  for (const auto& [id, other] : ledger.groups)
    if (other.active() && other.rule == g.rule && other.resource == g.resource) return "another group";
  for (const BracketMember* m : members_of(ledger, g.id)) {
    if (!takes_part(*m)) continue;
    const TargetKey key = target_of(g, *m);
    if (!m->version || !ledger.exists(key)) return "nothing to run";
    if (is_at_work_for(w, key)) return "a group of another bracket";
    const Version& version = ledger.versions.at(*m->version);
    if (version.status != VersionStatus::kReady) return "not ready";
    if (!active_[{w, key}].empty() || chains_[{w, key}].ended + kInTime > now) return "a job";
    if (is_frozen(ledger, key, version, now)) return "frozen";
    if (auto no = RuleBook(ledger, key)
                      .refusal(version, now, goes_back_to(ledger, key, version), Asked::kStart, &g))
      return no->rule;
    if (auto missing = missing_outside(ledger, g, *m, now); !missing.empty()) return missing;
  }
  return {};
}

bool Checker::waits_in_the_middle(WorkspaceId w, const BracketGroup& g, Time now) {
  const Ledger& ledger = ledgers_[w];
  for (const BracketMember* m : members_of(ledger, g.id)) {
    if (!takes_part(*m)) continue;
    const TargetKey key = target_of(g, *m);
    const Chain& chain = chains_[{w, key}];
    if (!active_[{w, key}].empty() || chain.ended + kInTime > now) return true;
    for (JobId id : groups_[{w, g.id}].jobs[m->deployment])
      if (!is_terminal(jobs_.at({w, id}).status)) return true;
    const bool back = m->outcome == Outcome::kRollingBack;
    if (!back && m->outcome != Outcome::kWaiting) continue;
    const auto wanted = back ? m->previous : m->version;
    if (!wanted || !ledger.exists(key)) continue;
    const Version& version = ledger.versions.at(*wanted);
    if (!(back ? waits_to_go_back(ledger, g, *m) : waits_for(ledger, g, *m, now)).empty()) continue;
    if (is_frozen(ledger, key, version, now) || is_frozen(ledger, key, version, now - kInTime)) return true;
    if (version.status == VersionStatus::kPaused) return true;
    if (!back && !missing_need(ledger, g, *m).empty()) return true;
    auto terms = RuleBook(ledger, key).retry_terms(chain.failures, chain.last);
    if (m->attempts > 0 && terms && chain.ended + terms->wait + kInTime > now) return true;
  }
  return false;
}

bool Checker::is_at_work_for(WorkspaceId w, const TargetKey& target) const {
  const Ledger& ledger = ledgers_.at(w);
  return std::any_of(ledger.groups.begin(), ledger.groups.end(), [&](const auto& g) {
    return g.second.active() && g.second.resource == target.resource &&
           g.second.environment == target.environment &&
           ledger.members.contains({g.first, target.deployment});
  });
}

// Where nothing is open, nothing may be left to lock.
void Checker::group_is_opened(WorkspaceId w, const TargetKey& target, Time now) {
  const Ledger& ledger = ledgers_[w];
  const auto own = bracket_of(ledger, target);
  const std::string_view body = own->rule->body.text();
  if (named_role(body, ledger.deployments.at(target.deployment)) != MemberRole::kWork) return;
  if (ledger.quarantines.contains({own->rule->id, target.resource})) return;
  for (const auto& [id, g] : ledger.groups)
    if (g.rule == own->rule->id && g.resource == target.resource &&
        (!g.ended() || *g.finished_at + kInTime > now))
      return;
  const Version* v = newest_lockable(ledger, target, now);
  if (!v || v != newest_lockable(ledger, target, now - kInTime) || v->created_at + kInTime > now) return;
  violate(4, fmt::format("no group was opened for {} of {} on {}, which its rules allow", v->tag,
                         ledger.deployments.at(target.deployment).name,
                         ledger.resources.at(target.resource).name));
}

}  // namespace ctrlplane::sim
