// Brackets: the rules that are in force, and what a person does about a group.
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "api/api.h"
#include "api/bracket_views.h"
#include "api/families.h"
#include "api/views.h"
#include "policy/judge.h"

namespace ctrlplane::api {
namespace {

constexpr size_t kMostShown = 200;  // groups and quarantines of a rule

constexpr std::array kOpen = {GroupStatus::kStuck, GroupStatus::kExecuting, GroupStatus::kReady,
                              GroupStatus::kQueued, GroupStatus::kCollecting};

// ---- The rules -------------------------------------------------------------------------------------------

using GroupsByRule = std::map<RuleId, std::vector<GroupIx>>;

// Those that have not ended: what asks for people first, then by age.
GroupsByRule open_groups(const State& s) {
  GroupsByRule all;
  s.groups.each([&](GroupIx g, const GroupSlot& slot) {
    if (!slot.row.ended()) all[slot.row.rule].push_back(g);
  });
  auto place = [&](GroupIx g) {
    const BracketGroup& row = s.groups[g].row;
    return std::tuple(std::find(kOpen.begin(), kOpen.end(), row.status), row.created_at, row.id);
  };
  for (auto& [rule, groups] : all)
    std::sort(groups.begin(), groups.end(), [&](GroupIx a, GroupIx b) { return place(a) < place(b); });
  return all;
}

void write_quarantines(JsonWriter& w, const State& s, RuleId rule) {
  size_t count = 0;
  w.key("quarantines").open_array();
  const auto& all = s.quarantines();
  for (auto it = all.lower_bound({rule, ResourceId{}}); it != all.end() && it->first.first == rule; ++it) {
    if (count++ >= kMostShown) continue;
    write_resource(w.open().key("resource"), s, it->second.resource);
    w.member("groupId", it->second.group).member("since", it->second.since).close();
  }
  w.close_array().member("quarantined", count);
}

void write_bracket(JsonWriter& w, const State& s, Time now, const PolicyRule& rule,
                   const std::vector<GroupIx>& open) {
  w.open();
  write_rule_and_policy(w, s, rule.id);
  w.member("terms", rule.body).key("counts").open();
  for (GroupStatus status : kOpen)
    w.member(to_string(status), std::count_if(open.begin(), open.end(),
                                              [&](GroupIx g) { return s.groups[g].row.status == status; }));
  w.close();
  write_quarantines(w, s, rule.id);
  w.key("groups").open_array();
  for (size_t i = 0; i < open.size() && i < kMostShown; ++i)
    write_group(w, s, now, rows_of(s.groups[open[i]]));
  w.close_array().close();
}

Status list_brackets(Call& c) {
  return c.read([](const State& s, Time now) -> Result<std::string> {
    GroupsByRule open = open_groups(s);
    JsonWriter w;
    w.open().key("items").open_array();
    for (const PolicySlot* p : sorted<PolicyIx>(s.policies, kByName)) {
      if (!p->row.enabled) continue;
      for (const PolicyRule& rule : p->row.rules) {
        const policy::Rule* read = policy::rule_of(s, s.policies.find(p->row.id), rule.id);
        if (read && read->bracket()) write_bracket(w, s, now, rule, open[rule.id]);
      }
    }
    return w.close_array().close().take();
  });
}

// ---- What people do --------------------------------------------------------------------------------------

constexpr std::array<std::pair<std::string_view, GroupAction>, 6> kActions = {{
    {"close_now", GroupAction::kCloseNow},
    {"retry", GroupAction::kRetry},
    {"skip_member", GroupAction::kSkipMember},
    {"finish", GroupAction::kFinish},
    {"abort", GroupAction::kAbort},
    {"clear_quarantine", GroupAction::kClearQuarantine},
}};

Result<ActOnGroup> command_from(GroupId id, const Body& b) {
  ActOnGroup command{.group = id,
                     .deployment = b.id<DeploymentId>("deploymentId"),
                     .relock = b.flag("relock"),
                     .run_post_hooks = b.flag("runPostHooks"),
                     .reason = b.text("reason")};
  const std::string word = b.text("action");
  for (const auto& [name, action] : kActions)
    if (name == word) command.action = action;
  const bool retries = command.action == GroupAction::kRetry;
  const bool skips = command.action == GroupAction::kSkipMember;
  if (skips && !command.deployment) return invalid("deploymentId", "must say which member is left out");
  if (command.deployment && !retries && !skips)
    return invalid("deploymentId", fmt::format("is for retry and skip_member: {} is about the group", word));
  if (command.relock && !retries) return invalid("relock", "is for retry");
  if (command.run_post_hooks && command.action != GroupAction::kAbort)
    return invalid("runPostHooks", "is for abort");
  return command;
}

std::string acted_text(const State& s, Time now, const Answer& answer) {
  const GroupIx g = s.groups.find(GroupId{answer.id});
  return g ? group_text(s, now, rows_of(s.groups[g])) : std::string();
}

// A group that has left memory: it was before, or it ended by what was done.
Status answer_from_store(Call& call, GroupId id, bool was_done) {
  return call.later([id, was_done](Call& c) -> Status {
    GroupRows group = TRY(stored_group(c, id));
    if (!was_done)
      return fail(ErrorCode::kConflict, fmt::format("the group is {}", to_string(group.row.status)));
    return c.ask<std::string>(
        [group](const State& s, Time now) -> Result<std::string> { return group_text(s, now, group); },
        [](Call& last, std::string text) { return last.reply(std::move(text)); });
  });
}

Status act(Call& c) {
  const GroupId id = TRY(c.id<GroupId>("groupId"));
  ActOnGroup command = TRY(command_from(id, c.body()));
  if (command.action == GroupAction::kFinish)
    TRY(c.api().directory().allows(c.who(), permission::kFreezeBypass, c.workspace()));
  return c.submit(c.workspace(), std::move(command), acted_text, [id](Call& call, Reply reply) {
    const bool unknown = !reply && reply.error().code == ErrorCode::kNotFound;
    if (reply && !reply->text.empty()) return void(call.reply(std::move(reply->text)));
    if (!reply && !unknown) return call.refuse(reply.error());
    if (auto status = answer_from_store(call, id, !unknown); !status) call.refuse(status.error());
  });
}

}  // namespace

Family bracket_family() {
  using namespace permission;
  return {"Brackets",
          {
              {.method = "GET",
               .path = CTRLPLANE_W "/brackets",
               .id = "listBrackets",
               .summary = "Bracket rules in force, each with its groups that have not ended (200 at most: "
                          "bracket-groups has all), those that wait for people first",
               .permission = kRead,
               .outcomes = {{200, "BracketList"}},
               .handler = list_brackets},
              {.method = "POST",
               .path = CTRLPLANE_W "/bracket-groups/{groupId}/actions",
               .id = "actOnBracketGroup",
               .summary = "Close a group's window, retry, leave a member out, let it finish under a freeze "
                          "(deployment_freeze.bypass), abort it, or clear its quarantine; what follows from "
                          "it may not show in the answer yet",
               .permission = kBracketAct,
               .body = "BracketActionRequest",
               .outcomes = {{200, "BracketGroupDetail"}},
               .handler = act},
          }};
}

}  // namespace ctrlplane::api
