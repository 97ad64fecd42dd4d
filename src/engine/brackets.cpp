#include "engine/brackets.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/admission.h"
#include "engine/bracket_collect.h"
#include "engine/bracket_run.h"
#include "engine/select.h"
#include "policy/brackets.h"
#include "policy/freezes.h"
#include "policy/judge.h"
#include "policy/open_time.h"

namespace ctrlplane {
namespace {

using policy::BracketTerms;

constexpr int kMostPasses = 32;  // a pass that changes nothing ends it; this many mean a defect

std::vector<RuleId> slots_of_group(const State& state, const GroupSlot& group) {
  std::vector<RuleId> all;
  for (const MemberSlot& m : group.members)
    if (TargetIx t = takes_part(m) ? target_of(state, group, m) : TargetIx{})
      for (RuleId rule : policy::slots_needed(state, t))
        if (std::find(all.begin(), all.end(), rule) == all.end()) all.push_back(rule);
  return all;
}

bool is_frozen(const State& state, Time now, GroupIx g) {
  for (const MemberSlot& m : state.groups[g].members)
    if (TargetIx t = takes_part(m) && m.version ? target_of(state, state.groups[g], m) : TargetIx{};
        t && policy::frozen_by(state, now, t, m.version, g))
      return true;
  return false;
}

// Going back to what ran here before, a member is not made to wait for what it waited for then.
policy::Waiver waiver_of(const State& state, TargetIx t, VersionIx v) {
  return v == state.at(t).current_version ? policy::Waiver::kNone : waiver_for(state, t, v);
}

// Why one participant cannot begin. `until`: what time alone may change for one that can.
std::optional<GroupWait> blocker_of(const State& state, Time now, GroupIx g, const MemberSlot& m,
                                    std::optional<Time>& until) {
  const GroupSlot& group = state.groups[g];
  const std::string name = name_of(state, m);
  const TargetIx t = target_of(state, group, m);
  if (!t) return GroupWait{fmt::format("{} is not on this resource any more", name)};
  if (!m.version) return GroupWait{fmt::format("{} has no version that could run", name)};
  if (GroupIx other = active_group_of(state, t); other && other != g)
    return GroupWait{
        fmt::format("Bracket group {} executing on this resource", state.groups[other].row.id.str())};
  if (JobIx j = state.at(t).first_job)
    return GroupWait{fmt::format("job {} of {} is still active", state.jobs[j].row.id.str(), name)};
  if (FreezeIx f = policy::frozen_by(state, now, t, m.version, g))
    return GroupWait{fmt::format("{}: {}", name, policy::frozen_message(state.freezes[f].row))};
  const policy::Waiver waiver = waiver_of(state, t, m.version);
  const policy::Judgement j = policy::judge(state, now, t, m.version, waiver, policy::Ask::kStart, g);
  if (j.verdict != policy::Verdict::kAllowed) {
    if (auto x = policy::first_no(state, now, t, m.version, waiver, policy::Ask::kStart, g); x && x->policy)
      return GroupWait{fmt::format("{}: policy {}: {}", name, x->policy->name, x->evaluation.message),
                       j.next_at};
    return GroupWait{fmt::format("{}: a policy does not allow it yet", name), j.next_at};
  }
  for (const std::optional<Time>& change : {j.next_at, policy::next_boundary(state, now, t)})
    if (change) until = until ? std::min(*until, *change) : change;
  if (auto missing = missing_outside(state, now, group, m)) return GroupWait{*missing};
  if (state.agents_for(state.at(t).deployment).empty())
    return GroupWait{fmt::format("no job agent matches the agent selector of {}", name)};
  if (auto turn = policy::resume_turn(state, now, t, m.version))
    return GroupWait{
        fmt::format("{}: held work is let go at a pace; its turn comes {}", name, format_rfc3339(*turn)),
        turn};
  return std::nullopt;
}

LineKey place_of(const State& state, Time now, GroupIx g) {
  const GroupSlot& group = state.groups[g];
  LineKey place{
      .turn = *group.row.ready_at, .since = group.row.collection_started_at, .resource = group.row.resource};
  for (const MemberSlot& m : group.members) {
    const TargetIx t = takes_part(m) && m.version ? target_of(state, group, m) : TargetIx{};
    if (t && policy::rules_of(state, t).has_rollout)
      place.turn = std::max(place.turn, policy::place_in_line(state, now, t, m.version, g).turn);
  }
  if (EnvironmentIx e = state.environments.find(group.row.environment))
    place.position = policy::bracket_rank(state, group.row.rule, e, group).position;
  return place;
}

// ---- The step ------------------------------------------------------------------------------------------

class Step {
 public:
  Step(Tx& tx, RuleId rule, ResourceIx r) : tx_(tx), state_(tx.state), rule_(rule), r_(r) {}

  void run() {
    for (int i = 0; i < kMostPasses; ++i) {
      const size_t before = tx_.change_count();
      pass();
      if (tx_.change_count() == before) break;
    }
    for (GroupIx g : state_.resources[r_].groups)
      if (state_.groups[g].row.rule == rule_) state_.groups[g].dirty = false;
    remember_what_it_waits_for();
  }

 private:
  std::vector<GroupIx> open() const { return policy::open_groups(state_, rule_, r_); }

  // The rule as it applies to the resource now; null: not at all.
  const policy::BoundRule* in_force() const {
    for (TargetIx t : state_.resources[r_].targets)
      if (state_.at(t).exists)
        if (const policy::BoundRule* b = policy::bracket_of(state_, t); b && b->row->id == rule_) return b;
    return nullptr;
  }

  void pass() {
    const policy::BoundRule* bound = in_force();
    for (GroupIx g : open()) {
      const BracketGroup& row = state_.groups[g].row;
      if (row.started()) continue;
      const EnvironmentIx e = state_.environments.find(row.environment);
      if (!bound || !e || policy::bracket_targets(state_, rule_, r_, e).empty())
        end_group(tx_, row.id,
                  {.status = GroupStatus::kCancelled, .note = "its rule does not apply here any more"});
    }
    if (bound) {
      collect(*bound);
      open_one(*bound);
      arrange();
    }
    for (GroupIx g : open())
      if (state_.groups[g].row.started())
        run_group(tx_, state_.groups[g].row.id);
      else if (state_.groups[g].row.active())
        look_at_circle(tx_, g);
    if (bound) start_next();
  }

  // ---- Collecting --------------------------------------------------------------------------------------

  void collect(const policy::BoundRule& bound) {
    for (GroupIx g : open())
      if (state_.groups[g].row.status == GroupStatus::kCollecting) collect(bound, g);
  }

  void collect(const policy::BoundRule& bound, GroupIx g) {
    const BracketTerms& terms = *bound.rule->bracket();
    BracketGroup row = state_.groups[g].row;
    const EnvironmentIx e = state_.environments.find(row.environment);
    auto targets = policy::bracket_targets(state_, rule_, r_, e);
    std::erase_if(targets, [&](TargetIx t) { return !state_.groups[g].member(deployment_of(t)); });
    const auto all = wishes(state_, tx_.now, terms, rule_, targets);
    bool any = false, every = true;
    for (const Wish& w : all) {
      any |= w.changes && !w.named_hook;
      every = every && (w.changes || w.role != MemberRole::kWork);
      look_at(w.next_at);
    }
    if (!any)
      return end_group(tx_, row.id, {.status = GroupStatus::kCancelled, .note = "nothing is left to do"});
    if (auto at = closes_at(terms, row, tx_.now, every)) {
      look_at(at);
      if (row.collection_ends_at == *at) return;
      row.collection_ends_at = *at;
      tx_.put(std::move(row));
      return;
    }
    close(bound, g, all);
  }

  void close(const policy::BoundRule& bound, GroupIx g, const std::vector<Wish>& all) {
    auto members = locked_members(state_, tx_.now, *bound.rule->bracket(), state_.groups[g], all);
    BracketGroup row = state_.groups[g].row;
    if (members.empty())
      return end_group(tx_, row.id, {.status = GroupStatus::kCancelled, .note = "nothing is left to do"});
    for (BracketMember& m : members) tx_.put(std::move(m));
    row.status = GroupStatus::kReady;
    row.ready_at = tx_.now;
    row.collection_ends_at = std::min(row.collection_ends_at, tx_.now);
    row.terms = bound.row->body;
    tx_.put(std::move(row));
  }

  void open_one(const policy::BoundRule& bound) {
    if (state_.quarantine(rule_, state_.resources[r_].row.id)) return;
    for (GroupIx g : open())
      if (state_.groups[g].row.status == GroupStatus::kCollecting) return;
    std::vector<EnvironmentIx> environments;
    for (TargetIx t : state_.resources[r_].targets)
      if (state_.at(t).exists &&
          std::find(environments.begin(), environments.end(), state_.at(t).environment) == environments.end())
        environments.push_back(state_.at(t).environment);
    auto id = [&](EnvironmentIx e) { return state_.environments[e].row.id; };
    std::sort(environments.begin(), environments.end(),
              [&](EnvironmentIx a, EnvironmentIx b) { return id(a) < id(b); });
    for (EnvironmentIx e : environments)
      if (open_in(bound, e)) return;
  }

  bool open_in(const policy::BoundRule& bound, EnvironmentIx e) {
    const BracketTerms& terms = *bound.rule->bracket();
    const auto targets = policy::bracket_targets(state_, rule_, r_, e);
    if (targets.empty()) return false;
    const auto all = wishes(state_, tx_.now, terms, rule_, targets);
    std::optional<Time> since;
    for (const Wish& w : all) {
      look_at(w.next_at);
      if (w.changes && !w.named_hook) since = since ? std::min(*since, w.since) : w.since;
    }
    if (!since) return false;
    forgive_set(all);
    BracketGroup row{.id = tx_.ids.make<GroupId>(), .rule = rule_};
    row.resource = state_.resources[r_].row.id;
    row.environment = state_.environments[e].row.id;
    row.collection_started_at = std::min(*since, tx_.now);  // no two versions share a publication time
    row.collection_ends_at = row.collection_started_at + terms.window;
    row.created_at = tx_.now;
    const GroupId id = row.id;
    tx_.put(std::move(row));
    for (const Wish& w : all)
      tx_.put(BracketMember{.group = id, .deployment = deployment_of(w), .role = w.role});
    collect(bound);
    return true;
  }

  // A set of versions was ruled out together; once one of them has a successor the others may go with it.
  void forgive_set(const std::vector<Wish>& all) {
    for (GroupIx g : std::vector(state_.resources[r_].groups)) {
      const GroupSlot& group = state_.groups[g];
      if (group.row.rule != rule_ || group.row.status != GroupStatus::kFailed) continue;
      const bool back = std::any_of(group.members.begin(), group.members.end(), [](const MemberSlot& m) {
        return m.row.outcome == MemberOutcome::kRolledBack;
      });
      const bool has_successor = std::any_of(all.begin(), all.end(), [&](const Wish& w) {
        const MemberSlot* m = group.member(deployment_of(w));
        return w.changes && m && m->row.participation == Participation::kChanged && m->version &&
               age_of(w.version) > age_of(m->version);
      });
      if (back && has_successor && policy::terms_of(group.row).rollback == BracketTerms::Rollback::kAll)
        forgive(tx_, group);
    }
  }

  // ---- Ready and queued --------------------------------------------------------------------------------

  std::vector<GroupIx> waiting() const {
    std::vector<GroupIx> all;
    for (GroupIx g : open())
      if (const BracketGroup& row = state_.groups[g].row; row.ready_at && !row.started() && !row.active())
        all.push_back(g);
    std::stable_sort(all.begin(), all.end(), [&](GroupIx a, GroupIx b) {
      return *state_.groups[a].row.ready_at < *state_.groups[b].row.ready_at;
    });
    // What is exempt from a freeze passes by those that it holds.
    if (state_.any_open_freezes() && all.size() > 1)
      std::stable_partition(all.begin(), all.end(),
                            [&](GroupIx g) { return !is_frozen(state_, tx_.now, g); });
    return all;
  }
  GroupIx active() const {
    for (GroupIx g : open())
      if (state_.groups[g].row.active()) return g;
    return {};
  }

  void arrange() {
    merge_waits_.reset();
    for (GroupIx g : waiting()) lock_again(g);
    auto all = waiting();
    for (size_t i = 1; i < all.size(); ++i)
      for (size_t ahead = i; ahead-- > 0;)
        if (fold_into(all[ahead], all[i])) return;
    if (GroupIx a = active(); a && !all.empty() && merge_into(a, all.front())) return;
    for (GroupIx g : waiting()) {
      const bool waits = active() || g != waiting().front();
      set_status(g, waits ? GroupStatus::kQueued : GroupStatus::kReady);
    }
  }

  void set_status(GroupIx g, GroupStatus status) {
    BracketGroup row = state_.groups[g].row;
    if (std::exchange(row.status, status) != status) tx_.put(std::move(row));
  }

  // Locks that are not good any more are made again, before the start.
  void lock_again(GroupIx g) {
    bool any = false, anew = false;
    for (size_t i = 0; i < state_.groups[g].members.size(); ++i) {
      const MemberSlot& m = state_.groups[g].members[i];
      if (!takes_part(m) || m.row.outcome != MemberOutcome::kWaiting) continue;
      const TargetIx t = target_of(state_, state_.groups[g], m);
      const bool gone = !t && !is_hook(m);
      const bool bad = t && (is_overtaken(t, m) || !may_run(state_, t, m.version));
      if (gone || bad) {
        BracketMember row = m.row;
        const Selection s = bad ? select_version(state_, tx_.now, t, policy::Ask::kLock) : Selection{};
        const bool found =
            bad && s.kind == Selection::Kind::kVersion && !is_locked_elsewhere(g, m, s.version);
        const bool changes = found && s.version != state_.at(t).current_version;
        if (found && (changes || is_hook(m))) {
          if (s.version != m.version)
            row.version = state_.versions[s.version].row.id, row.locked_at = tx_.now;
          if (!is_hook(m)) row.participation = Participation::kChanged;
        } else {
          row.version.reset();
          if (!is_hook(m)) leave_unchanged(state_.groups[g].row, t, row);
        }
        anew |= row != m.row;
        if (row != m.row) tx_.put(std::move(row));
      }
      any |= state_.groups[g].members[i].row.participation == Participation::kChanged;
    }
    if (anew) order_again(g);
    if (!any && !has_new_hook(state_.groups[g]))
      end_group(tx_, state_.groups[g].row.id,
                {.status = GroupStatus::kCancelled, .note = "nothing is left to do"});
  }

  // Of hooks that nobody named a new version is reason enough for a group.
  bool has_new_hook(const GroupSlot& group) const {
    if (names_hooks(group.row)) return false;
    return std::any_of(group.members.begin(), group.members.end(), [&](const MemberSlot& m) {
      const TargetIx t = is_hook(m) && m.version ? target_of(state_, group, m) : TargetIx{};
      return t && m.version != state_.at(t).current_version;
    });
  }

  // What runs is deployed again, if the rule says so; there is nothing to do, if not.
  void leave_unchanged(const BracketGroup& group, TargetIx t, BracketMember& row) const {
    row.participation = Participation::kSkipped;
    if (!t || policy::terms_of(group).unchanged != BracketTerms::Unchanged::kRedeploy) return;
    const VersionIx current = state_.at(t).current_version;
    if (!may_run(state_, t, current)) return;
    row.participation = Participation::kRedeploy;
    row.version = state_.versions[current].row.id;
  }

  // The group before, or a person, has brought it or something newer.
  bool is_overtaken(TargetIx t, const MemberSlot& m) const {
    const VersionIx current = state_.at(t).current_version;
    if (!current || !m.version || m.row.participation != Participation::kChanged) return false;
    return age_of(m.version) <= age_of(current);
  }

  std::pair<Time, VersionId> age_of(VersionIx v) const {
    return {state_.versions[v].row.created_at, state_.versions[v].row.id};
  }

  // Has the member something newer than the lock, that has not failed? Then the lock waits for a turn of its
  // own, in which it is overtaken if all went well.
  bool has_newer(const MemberSlot* there, const MemberSlot& lock) const {
    if (!there || !takes_part(*there) || there->row.outcome == MemberOutcome::kFailed) return false;
    const VersionIx has = there->next_version ? there->next_version : there->version;
    return has && lock.version && age_of(has) > age_of(lock.version);
  }

  static bool names_hooks(const BracketGroup& row) {
    return text_member(row.terms, "preHookSelector") || text_member(row.terms, "postHookSelector");
  }

  bool is_locked_elsewhere(GroupIx g, const MemberSlot& m, VersionIx v) const {
    for (GroupIx other : open()) {
      if (other == g || state_.groups[other].row.environment != state_.groups[g].row.environment) continue;
      const MemberSlot* there = state_.groups[other].member(m.row.deployment);
      if (there && !is_hook(*there) && takes_part(*there) && there->version == v) return true;
    }
    return false;
  }

  // The newer locks replace the older in a group that has not started: one run instead of two.
  bool fold_into(GroupIx ahead, GroupIx g) {
    const BracketGroup &a = state_.groups[ahead].row, &b = state_.groups[g].row;
    if (a.environment != b.environment) return false;
    if (is_frozen(state_, tx_.now, ahead) != is_frozen(state_, tx_.now, g)) return false;
    for (const MemberSlot& m : state_.groups[g].members)
      if (takes_part(m) && has_newer(state_.groups[ahead].member(m.row.deployment), m)) return false;
    for (size_t i = 0; i < state_.groups[g].members.size(); ++i) {
      const BracketMember m = state_.groups[g].members[i].row;
      if (m.participation == Participation::kSkipped) continue;
      const MemberSlot* old = state_.groups[ahead].member(m.deployment);
      // What a person has left out stays so until there is something newer.
      if (old && old->row.outcome == MemberOutcome::kSkipped && old->row.version == m.version) continue;
      BracketMember to = m;
      if (old && old->row.participation == Participation::kChanged &&
          m.participation != Participation::kChanged) {
        // What is work there may be a hook here, by another order: its newer lock counts all the same.
        if (m.participation != Participation::kHook || !m.version) continue;
        to = old->row;
        to.version = m.version;
        to.locked_at = tx_.now;
      }
      to.group = a.id;
      tx_.put(std::move(to));
    }
    end_group(tx_, b.id,
              {.status = GroupStatus::kCancelled,
               .note = "its locks went into the group before it, which had not started",
               .merged_into = a.id});
    order_again(ahead);
    return true;
  }

  // Who comes after whom may depend on what is locked.
  void order_again(GroupIx g) {
    std::vector<MemberView> views;
    for (const MemberSlot& m : state_.groups[g].members)
      if (TargetIx t = target_of(state_, state_.groups[g], m)) {
        const VersionIx lock = m.next_version ? m.next_version : m.version;
        views.push_back({t, takes_part(m) && lock ? lock : state_.at(t).current_version});
      }
    auto edges = edges_among(state_, views);
    add_version_edges(state_, views, edges);
    for (size_t i = 0; i < views.size(); ++i) {
      const DeploymentId d = state_.deployments[state_.at(views[i].target).deployment].row.id;
      BracketMember row = state_.groups[g].member(d)->row;
      if (std::exchange(row.depends_on, edges[i]) != edges[i]) tx_.put(std::move(row));
    }
  }

  // The newer locks enter a group at work, before it closes: the resource is prepared already.
  bool merge_into(GroupIx a, GroupIx g) {
    const GroupSlot &at_work = state_.groups[a], &next = state_.groups[g];
    if (policy::terms_of(at_work.row).overlap != BracketTerms::Overlap::kMerge) return false;
    if (!at_work.row.started()) return false;
    if (at_work.row.environment != next.row.environment || at_work.row.course != GroupCourse::kForward)
      return false;
    for (const MemberSlot& m : at_work.members)
      if (m.row.role == MemberRole::kPostHook && m.row.attempts > 0) return false;
    const policy::BoundRule* bound = in_force();
    const bool named = bound && bound->rule->bracket()->names_hooks();
    for (const MemberSlot& m : next.members) {
      const bool is_new = m.row.participation == Participation::kChanged || (!named && is_hook(m));
      if (is_new && !can_enter(at_work.member(m.row.deployment), m)) return false;
    }
    if (is_frozen(state_, tx_.now, g)) return false;
    const auto needed = slots_of_group(state_, next);
    merge_waits_ = no_slot(state_, needed, place_of(state_, tx_.now, g));
    if (merge_waits_) return false;
    take_slots(tx_, needed, next.row.resource, at_work.row.id);
    const GroupId into = at_work.row.id;
    for (size_t i = 0; i < state_.groups[g].members.size(); ++i) enter(into, state_.groups[g].members[i].row);
    end_group(tx_, state_.groups[g].row.id,
              {.status = GroupStatus::kCancelled,
               .note = "its locks entered the group at work",
               .merged_into = into});
    order_again(a);
    call_back_early(tx_, a);
    return true;
  }

  // A hook runs once: if it ran with another version, the new one has a round of its own coming.
  bool can_enter(const MemberSlot* there, const MemberSlot& lock) const {
    return there && !has_newer(there, lock) &&
           (!is_hook(*there) || there->row.attempts == 0 || there->version == lock.version);
  }

  void enter(GroupId into, const BracketMember& lock) {
    const MemberSlot* there = state_.groups[state_.groups.find(into)].member(lock.deployment);
    const bool is_new_hook = there && lock.participation == Participation::kHook && lock.version &&
                             lock.version != there->row.version && lock.version != there->row.next_version;
    if (lock.participation != Participation::kChanged && !is_new_hook) return;
    BracketMember m = there->row;
    if (is_hook(*there)) {
      if (m.attempts > 0) return;
      m.version = lock.version;
      m.locked_at = tx_.now;
      tx_.put(std::move(m));
      return;
    }
    const bool untouched = m.participation == Participation::kSkipped ||
                           (m.outcome == MemberOutcome::kWaiting && m.attempts == 0) ||
                           m.outcome == MemberOutcome::kFailed;
    if (untouched) {
      m.version = lock.version;
      m.locked_at = tx_.now;
      m.outcome = MemberOutcome::kWaiting;
      m.attempts = 0;
      m.finished_at.reset();
    } else {
      m.next_version = lock.version;
    }
    m.participation = Participation::kChanged;
    tx_.put(std::move(m));
  }

  void start_next() {
    if (active()) return;
    const auto all = waiting();
    if (all.empty()) return;
    const GroupIx g = all.front();
    if (look_at_circle(tx_, g)) return;
    if (auto wait = start_blocker(state_, tx_.now, g)) {
      look_at(wait->next_at);
      return;
    }
    for (GroupIx old : std::vector(state_.resources[r_].groups))
      if (state_.groups[old].row.rule == rule_ && state_.groups[old].row.ended()) retire_group(tx_, old);
    BracketGroup row = state_.groups[g].row;
    take_slots(tx_, slots_of_group(state_, state_.groups[g]), row.resource, row.id);
    row.status = GroupStatus::kExecuting;
    row.started_at = tx_.now;
    tx_.put(row);
    take_stock(g);
    run_group(tx_, row.id);
  }

  // What runs now is what a rollback goes back to, and what is deployed again: the group before may have
  // changed it since the window closed.
  void take_stock(GroupIx g) {
    for (size_t i = 0; i < state_.groups[g].members.size(); ++i) {
      const MemberSlot& m = state_.groups[g].members[i];
      const TargetIx t = target_of(state_, state_.groups[g], m);
      const VersionIx current = t ? state_.at(t).current_version : VersionIx{};
      BracketMember row = m.row;
      row.previous = current ? std::optional(state_.versions[current].row.id) : std::nullopt;
      if (row.participation == Participation::kRedeploy) {
        row.version = row.previous;
        if (!may_run(state_, t, current)) row.version.reset(), row.participation = Participation::kSkipped;
      }
      if (row != m.row) tx_.put(std::move(row));
    }
  }

  // ---- Waking ------------------------------------------------------------------------------------------

  void look_at(const std::optional<Time>& at) {
    if (at && *at > tx_.now) next_ = next_ ? std::min(*next_, *at) : at;
  }

  std::vector<TargetIx> own_targets() const {
    std::vector<TargetIx> own;
    for (TargetIx t : state_.resources[r_].targets)
      if (const policy::BoundRule* b = state_.at(t).exists ? policy::bracket_of(state_, t) : nullptr;
          b && b->row->id == rule_)
        if (Selection alone{}; is_left_to_bracket(state_, tx_.now, t, alone)) own.push_back(t);
    return own;
  }

  void remember_what_it_waits_for() {
    // Only whom the bracket decides for stands in line for it; others stand there for themselves.
    const std::vector<TargetIx> own = own_targets();
    const auto& any = own.empty() ? state_.resources[r_].targets : own;
    if (any.empty()) return;
    const TargetIx wake = any.front();
    std::optional<NoSlot> no = merge_waits_;
    for (GroupIx g : open()) {
      look_at(next_look(state_, tx_.now, g));
      if (state_.groups[g].row.status != GroupStatus::kReady) continue;
      auto wait = start_blocker(state_, tx_.now, g);
      if (!wait) continue;
      look_at(wait->next_at);
      if (!wait->slots.empty()) no = NoSlot{wait->slots, wait->place, wait->why};
    }
    // One of them waits for all; those that did so before do not any more.
    for (TargetIx t : own)
      if (t != wake) wait_for_slots(state_, t, std::nullopt);
    if (!own.empty()) wait_for_slots(state_, wake, no);
    // Whom the bracket has lost while its group is at work stands in line for nothing.
    for (TargetIx t : state_.resources[r_].targets)
      if (own.empty() && active_group_of(state_, t) && !policy::bracket_of(state_, t))
        wait_for_slots(state_, t, std::nullopt);
    if (next_) state_.wake_at(wake, *next_);
  }

  DeploymentId deployment_of(TargetIx t) const { return state_.deployments[state_.at(t).deployment].row.id; }
  DeploymentId deployment_of(const Wish& w) const { return deployment_of(w.target); }

  Tx& tx_;
  State& state_;
  const RuleId rule_;
  const ResourceIx r_;
  std::optional<Time> next_;
  std::optional<NoSlot> merge_waits_;  // what locks that could enter the group at work wait for
};

// Its resource is gone: what waits is off, what runs goes on to its end without it.
void end_lost(Tx& tx, GroupIx g) {
  const BracketGroup& row = tx.state.groups[g].row;
  if (row.ended()) return retire_group(tx, g);
  end_group(tx, row.id, {.status = GroupStatus::kCancelled, .note = "its resource is gone"});
}

}  // namespace

std::optional<GroupWait> start_blocker(const State& state, Time now, GroupIx g) {
  const GroupSlot& group = state.groups[g];
  if (state.quarantine(group.row.rule, group.row.resource))
    return GroupWait{"the resource is in quarantine: an operator can clear it"};
  for (GroupIx other : policy::open_groups(state, group.row.rule, group.resource))
    if (other != g && state.groups[other].row.active())
      return GroupWait{
          fmt::format("Bracket group {} executing on this resource", state.groups[other].row.id.str())};
  std::optional<Time> until;
  for (const MemberSlot& m : group.members)
    if (takes_part(m) && m.row.outcome == MemberOutcome::kWaiting)
      if (auto wait = blocker_of(state, now, g, m, until)) return wait;
  auto no = no_slot(state, slots_of_group(state, group), place_of(state, now, g));
  if (!no) return std::nullopt;
  return GroupWait{.why = no->why, .next_at = until, .slots = no->rules, .place = no->place};
}

std::optional<GroupWait> member_wait(const State& state, Time now, TargetIx t) {
  const TargetSlot& slot = state.at(t);
  const DeploymentId d = state.deployments[slot.deployment].row.id;
  if (GroupIx g = active_group_of(state, t)) {
    const GroupSlot& group = state.groups[g];
    const MemberSlot& m = *group.member(d);
    if (!takes_part(m) || m.row.outcome == MemberOutcome::kSucceeded) return std::nullopt;
    if (m.row.outcome == MemberOutcome::kFailed)
      return GroupWait{
          fmt::format("it failed, and bracket group {} is stuck: an operator can retry it, skip it or "
                      "abort the group",
                      group.row.id.str())};
    if (FreezeIx f = m.version ? policy::frozen_by(state, now, t, m.version, g) : FreezeIx{})
      return GroupWait{.why = policy::frozen_message(state.freezes[f].row), .version = m.version};
    if (auto wait = must_wait(state, now, group, m)) return GroupWait{.why = *wait, .version = m.version};
    return std::nullopt;
  }
  for (GroupIx g : state.resources[slot.resource].groups) {
    const GroupSlot& group = state.groups[g];
    const MemberSlot* m = group.member(d);
    if (group.row.ended() || !group.row.ready_at || !m || !takes_part(*m)) continue;
    auto wait = start_blocker(state, now, g);
    if (wait) {
      wait->why = fmt::format("bracket group {} waits: {}", group.row.id.str(), wait->why);
      wait->version = m->version;
    }
    return wait;
  }
  return std::nullopt;
}

void advance_brackets(Tx& tx, RuleId rule, ResourceIx r) { Step(tx, rule, r).run(); }

void advance_group(Tx& tx, GroupIx g) {
  const GroupSlot& group = tx.state.groups[g];
  if (!group.resource) return end_lost(tx, g);
  advance_brackets(tx, group.row.rule, group.resource);
}

void advance_brackets_of(Tx& tx, TargetIx t) {
  const TargetSlot& slot = tx.state.at(t);
  const ResourceIx r = slot.resource;
  std::vector<RuleId> rules;
  if (slot.exists)
    if (const policy::BoundRule* own = policy::bracket_of(tx.state, t)) rules.push_back(own->row->id);
  for (GroupIx g : tx.state.resources[r].groups)
    if (std::find(rules.begin(), rules.end(), tx.state.groups[g].row.rule) == rules.end())
      rules.push_back(tx.state.groups[g].row.rule);
  for (RuleId rule : rules) advance_brackets(tx, rule, r);
}

bool is_failed_lock(const State& state, TargetIx t, VersionIx v) {
  const GroupIx g = active_group_of(state, t);
  if (!g) return false;
  const MemberSlot* m = state.groups[g].member(state.deployments[state.at(t).deployment].row.id);
  return m->version == v && m->row.outcome == MemberOutcome::kFailed;
}

}  // namespace ctrlplane
