#include "api/bracket_views.h"

#include <algorithm>

#include <fmt/core.h>

#include "api/cold.h"
#include "engine/bracket_collect.h"
#include "engine/bracket_order.h"
#include "engine/brackets.h"
#include "policy/freezes.h"
#include "policy/judge.h"

namespace ctrlplane::api {
namespace {

constexpr int64_t kMostMembers = 100'000;  // that a page of groups reads

std::string deployment_name(const State& s, DeploymentId id) {
  const DeploymentIx d = s.deployments.find(id);
  return d ? s.deployments[d].row.name : std::string();
}

std::string tag_of(const State& s, const GroupRows& group, const std::optional<VersionId>& id) {
  if (!id) return {};
  if (VersionIx v = s.versions.find(*id)) return s.versions[v].row.tag;
  auto it = group.tags.find(*id);
  return it == group.tags.end() ? std::string() : it->second;
}

void write_member_head(JsonWriter& w, const State& s, const GroupRows& group, const BracketMember& m) {
  w.member("deploymentId", m.deployment);
  w.member_unless_empty("deploymentName", deployment_name(s, m.deployment));
  w.member("role", to_string(m.role)).member("participation", to_string(m.participation));
  w.member("outcome", to_string(m.outcome)).member("versionId", m.version);
  w.member_unless_empty("tag", tag_of(s, group, m.version));
}

// ---- What it waits for -----------------------------------------------------------------------------------

std::string waits_for(const State& s, Time now, GroupIx g, const MemberSlot& m) {
  const GroupSlot& slot = s.groups[g];
  if (!takes_part(m) || slot.row.ended() || !slot.row.ready_at || !slot.resource) return {};
  const TargetIx t = target_of(s, slot, m);
  std::optional<std::string> why;
  if (m.row.outcome == MemberOutcome::kRollingBack) {
    if (!is_running(s, slot, m)) why = must_wait_to_go_back(s, slot, m);
  } else if (t && active_group_of(s, t) == g && m.row.outcome != MemberOutcome::kRunning) {
    if (auto wait = member_wait(s, now, t)) why = wait->why;
  } else if (m.row.outcome == MemberOutcome::kWaiting) {
    why = must_wait(s, now, slot, m);
  }
  return why.value_or("");
}

// While nobody runs: what the first says that waits.
std::string members_wait_for(const State& s, Time now, GroupIx g) {
  const GroupSlot& slot = s.groups[g];
  const auto runs = [&](const MemberSlot& m) { return is_running(s, slot, m); };
  if (std::any_of(slot.members.begin(), slot.members.end(), runs)) return {};
  for (const MemberSlot& m : slot.members)
    if (std::string why = waits_for(s, now, g, m); !why.empty())
      return fmt::format("{}: {}", name_of(s, m), why);
  return {};
}

std::string waits_for(const State& s, Time now, GroupIx g) {
  const GroupSlot& slot = s.groups[g];
  switch (slot.row.status) {
    case GroupStatus::kCollecting:
      return fmt::format("Collection window closes at {}", format_rfc3339(slot.row.collection_ends_at));
    case GroupStatus::kReady:
    case GroupStatus::kQueued: {
      if (!slot.resource) return {};
      auto wait = start_blocker(s, now, g);
      return wait ? wait->why : std::string();
    }
    case GroupStatus::kExecuting: return members_wait_for(s, now, g);
    default: return {};
  }
}

void write_head(JsonWriter& w, const State& s, Time now, const BracketGroup& row) {
  w.member("id", row.id);
  write_rule_and_policy(w, s, row.rule);
  write_resource(w.key("resource"), s, row.resource);
  w.key("environment").open().member("id", row.environment);
  if (EnvironmentIx e = s.environments.find(row.environment)) w.member("name", s.environments[e].row.name);
  w.close().member("status", to_string(row.status)).member("course", to_string(row.course));
  w.member_unless_empty("note", row.note).member("createdAt", row.created_at);
  w.member("collectionStartedAt", row.collection_started_at);
  w.member("collectionEndsAt", row.collection_ends_at).member("readyAt", row.ready_at);
  w.member("startedAt", row.started_at).member("stuckSince", row.stuck_since);
  w.member("finishedAt", row.finished_at).member_unless_empty("closedBy", row.closed_by);
  w.member_unless_empty("finishBy", row.finish_by).member("mergedInto", row.merged_into);
  if (GroupIx g = s.groups.find(row.id)) w.member_unless_empty("waitingFor", waits_for(s, now, g));
}

// What a group that still collects would lock, by deployment: only what is new.
std::map<DeploymentId, VersionIx> candidates(const State& s, Time now, const GroupSlot& slot) {
  std::map<DeploymentId, VersionIx> found;
  const PolicyIx p = s.policy_of(slot.row.rule);
  const policy::Rule* rule = p ? policy::rule_of(s, p, slot.row.rule) : nullptr;
  const EnvironmentIx e = s.environments.find(slot.row.environment);
  if (!rule || !rule->bracket() || !e || !slot.resource || slot.row.ready_at) return found;
  const auto targets = policy::bracket_targets(s, slot.row.rule, slot.resource, e);
  for (const Wish& w : wishes(s, now, *rule->bracket(), slot.row.rule, targets))
    if (w.changes) found[s.deployments[s.at(w.target).deployment].row.id] = w.version;
  return found;
}

// ---- What a person could do ------------------------------------------------------------------------------

bool is_held(const State& s, Time now, GroupIx g) {
  const GroupSlot& slot = s.groups[g];
  return std::any_of(slot.members.begin(), slot.members.end(), [&](const MemberSlot& m) {
    const TargetIx t = takes_part(m) && m.version ? target_of(s, slot, m) : TargetIx{};
    const bool left = m.row.outcome != MemberOutcome::kSucceeded && m.row.outcome != MemberOutcome::kSkipped;
    return left && t && policy::frozen_by(s, now, t, m.version, g);
  });
}

std::vector<std::string_view> actions_on(const State& s, Time now, GroupIx g) {
  const GroupSlot& slot = s.groups[g];
  const BracketGroup& row = slot.row;
  std::vector<std::string_view> all;
  auto any = [&](auto&& is) {
    return std::any_of(slot.members.begin(), slot.members.end(),
                       [&](const MemberSlot& m) { return takes_part(m) && is(m); });
  };
  const bool failed = any([](const MemberSlot& m) { return m.row.outcome == MemberOutcome::kFailed; });
  const bool can_be_left_out = any([&](const MemberSlot& m) {
    const bool open = m.row.outcome == MemberOutcome::kWaiting || m.row.outcome == MemberOutcome::kFailed;
    return open && !is_running(s, slot, m);
  });
  if (row.status == GroupStatus::kCollecting) all.push_back("close_now");
  if (row.active() && failed) all.push_back("retry");
  if (!row.ended() && row.ready_at && can_be_left_out) all.push_back("skip_member");
  if (row.active() && row.finish_by.empty() && is_held(s, now, g)) all.push_back("finish");
  if (!row.ended()) all.push_back("abort");
  if (s.quarantine(row.rule, row.resource)) all.push_back("clear_quarantine");
  return all;
}

// ---- The timeline ----------------------------------------------------------------------------------------

struct Moment {
  Time at;
  int order = 0;  // of what happens at the same time
  std::string_view event;
  const BracketMember* member = nullptr;
};

std::vector<Moment> timeline_of(const GroupRows& group) {
  const BracketGroup& row = group.row;
  std::vector<Moment> all = {{row.created_at, 0, "opened"}};
  auto add = [&](const std::optional<Time>& at, int order, std::string_view event,
                 const BracketMember* m = nullptr) {
    if (at) all.push_back({*at, order, event, m});
  };
  add(row.ready_at, 1, "closed");
  add(row.started_at, 2, "started");
  for (const BracketMember& m : group.members) {
    const bool at_once = m.started_at == m.finished_at;
    add(m.started_at, 4, "member_started", &m);
    add(m.finished_at, at_once ? 5 : 3, "member_finished", &m);  // who waited for it starts then
  }
  add(row.stuck_since, 6, "stuck");
  add(row.finished_at, 7, "ended");
  std::stable_sort(all.begin(), all.end(), [](const Moment& a, const Moment& b) {
    return std::tie(a.at, a.order) < std::tie(b.at, b.order);
  });
  return all;
}

void write_timeline(JsonWriter& w, const State& s, const GroupRows& group) {
  w.open_array();
  for (const Moment& m : timeline_of(group)) {
    w.open().member("at", m.at).member("event", m.event);
    if (m.member) {
      w.member("deploymentId", m.member->deployment);
      w.member_unless_empty("deploymentName", deployment_name(s, m.member->deployment));
      if (m.event == "member_finished") w.member("outcome", to_string(m.member->outcome));
    }
    if (m.event == "closed") w.member_unless_empty("by", group.row.closed_by);
    if (m.event == "stuck") w.member_unless_empty("note", group.row.note);
    if (m.event == "ended")
      w.member("status", to_string(group.row.status)).member_unless_empty("note", group.row.note);
    w.close();
  }
  w.close_array();
}

// ---- In full ---------------------------------------------------------------------------------------------

void write_member(JsonWriter& w, const State& s, const GroupRows& group, const BracketMember& m) {
  write_member_head(w, s, group, m);
  w.member("lockedAt", m.locked_at).member("nextVersionId", m.next_version);
  w.member_unless_empty("nextTag", tag_of(s, group, m.next_version));
  w.member_unless_empty("previousTag", tag_of(s, group, m.previous));
  w.member("attempts", m.attempts).member("lastJobId", m.last_job);
  w.member("startedAt", m.started_at).member("finishedAt", m.finished_at);
  std::vector<std::string> names;
  for (const MemberEdge& edge : m.depends_on) {
    const std::string name = deployment_name(s, edge.on);
    names.push_back(name.empty() ? edge.on.str() : name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  w.key("dependsOn").open_array();
  for (const std::string& name : names) w.value(name);
  w.close_array();
}

void write_members(JsonWriter& w, const State& s, Time now, const GroupRows& group, GroupIx g) {
  std::map<DeploymentId, VersionIx> would_lock;
  if (g) would_lock = candidates(s, now, s.groups[g]);
  w.open_array();
  for (const BracketMember& m : group.members) {
    w.open();
    write_member(w, s, group, m);
    if (auto it = would_lock.find(m.deployment); it != would_lock.end()) {
      const Version& v = s.versions[it->second].row;
      w.key("candidate").open().member("id", v.id).member("tag", v.tag).close();
    }
    if (const MemberSlot* slot = g ? s.groups[g].member(m.deployment) : nullptr)
      w.member_unless_empty("waitingFor", waits_for(s, now, g, *slot));
    w.close();
  }
  w.close_array();
}

void write_quarantine(JsonWriter& w, const State& s, const GroupRows& group) {
  const Quarantine* now = s.quarantine(group.row.rule, group.row.resource);
  const bool concerns_it = now && (!group.row.ended() || now->group == group.row.id);
  const Quarantine* q = concerns_it ? now : group.quarantine ? &*group.quarantine : nullptr;
  if (!q) return;
  w.key("quarantine").open().member("groupId", q->group).member("since", q->since);
  w.member_unless_empty("clearedBy", q->cleared_by).member("clearedAt", q->cleared_at).close();
}

// As they were when the window closed; before that, as they are now.
Json terms_of(const State& s, const BracketGroup& row) {
  if (row.ready_at) return row.terms;
  if (PolicyIx p = s.policy_of(row.rule))
    for (const PolicyRule& rule : s.policies[p].row.rules)
      if (rule.id == row.rule) return rule.body;
  return row.terms;
}

}  // namespace

// ---- Rows ------------------------------------------------------------------------------------------------

GroupRows rows_of(const GroupSlot& slot) {
  GroupRows rows{.row = slot.row, .members = {}};
  for (const MemberSlot& m : slot.members) rows.members.push_back(m.row);
  return rows;
}

Status add_members(store::Store& store, WorkspaceId workspace, std::vector<GroupRows>& groups) {
  if (groups.empty()) return {};
  std::map<GroupId, GroupRows*> by_id;
  std::vector<store::CellView> ids;
  for (GroupRows& g : groups) {
    by_id[g.row.id] = &g;
    ids.push_back(store::CellView(g.row.id.uuid));
  }
  store::ColdQuery query;
  query.among = {{"group_id", std::move(ids)}};
  query.limit = kMostMembers;
  std::set<VersionId> versions;
  for (BracketMember& m : TRY(rows<BracketMember>(store, workspace, query))) {
    for (const auto& v : {m.version, m.next_version, m.previous})
      if (v) versions.insert(*v);
    by_id.at(m.group)->members.push_back(std::move(m));
  }
  auto found = TRY((rows_by_id<Version>(store, workspace, versions)));
  for (GroupRows& g : groups) {
    std::sort(g.members.begin(), g.members.end(),
              [](const auto& a, const auto& b) { return a.deployment < b.deployment; });
    for (const BracketMember& m : g.members)
      for (const auto& v : {m.version, m.next_version, m.previous})
        if (auto it = v ? found.find(*v) : found.end(); it != found.end()) g.tags[*v] = it->second.tag;
  }
  return {};
}

Result<GroupRows> stored_group(Call& call, GroupId id) {
  auto row = TRY(api::row<BracketGroup>(call.store(), call.workspace(), id.uuid));
  if (!row) return fail(ErrorCode::kNotFound, fmt::format("no bracket group {}", id.str()));
  std::vector<GroupRows> one(1);
  one[0].row = *std::move(row);
  TRY(add_members(call.store(), call.workspace(), one));
  if (one[0].row.status != GroupStatus::kFailed) return std::move(one[0]);
  store::ColdQuery query;
  query.equals = {{"rule_id", store::CellView(one[0].row.rule.uuid)},
                  {"resource_id", store::CellView(one[0].row.resource.uuid)},
                  {"group_id", store::CellView(id.uuid)}};
  for (Quarantine& q : TRY(rows<Quarantine>(call.store(), call.workspace(), query)))
    one[0].quarantine = std::move(q);
  return std::move(one[0]);
}

// ---- Texts -----------------------------------------------------------------------------------------------

void write_rule_and_policy(JsonWriter& w, const State& s, RuleId rule) {
  w.member("ruleId", rule);
  if (PolicyIx p = s.policy_of(rule))
    w.member("policyId", s.policies[p].row.id).member("policyName", s.policies[p].row.name);
}

void write_resource(JsonWriter& w, const State& s, ResourceId id) {
  w.open().member("id", id);
  if (ResourceIx r = s.resources.find(id))
    w.member("identifier", s.resources[r].row.identifier).member("name", s.resources[r].row.name);
  w.close();
}

void write_group(JsonWriter& w, const State& s, Time now, const GroupRows& group) {
  w.open();
  write_head(w, s, now, group.row);
  w.key("members").open_array();
  for (const BracketMember& m : group.members) {
    w.open();
    write_member_head(w, s, group, m);
    w.close();
  }
  w.close_array().close();
}

std::string group_text(const State& s, Time now, const GroupRows& group) {
  const GroupIx g = s.groups.find(group.row.id);
  JsonWriter w;
  w.open();
  write_head(w, s, now, group.row);
  w.member("terms", terms_of(s, group.row));
  write_members(w.key("members"), s, now, group, g);
  write_timeline(w.key("timeline"), s, group);
  w.key("actions").open_array();
  if (g)
    for (std::string_view action : actions_on(s, now, g)) w.value(action);
  w.close_array();
  write_quarantine(w, s, group);
  return w.close().take();
}

}  // namespace ctrlplane::api
