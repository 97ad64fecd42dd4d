// Bracket groups and slots: what people do about them, and how to look at them.
#include <set>

#include "describe.h"
#include "verbs.h"

namespace ctrlplane::scenario {
namespace {

constexpr std::string_view kFormOfGroup = "[first|second|third|last] group on <resource>";

// All groups ever on the resource, oldest first.
std::vector<BracketGroup> groups_on(World& world, const std::string& resource) {
  std::vector<BracketGroup> all = world.rows<BracketGroup>();
  std::erase_if(all, [&](const BracketGroup& g) { return world.names.of(g.resource) != resource; });
  std::sort(all.begin(), all.end(), [](const BracketGroup& a, const BracketGroup& b) {
    return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
  });
  return all;
}

PolicyIx policy_named(const World& world, const std::string& name) {
  return world.state().policies.find(world.names.id<PolicyId>(name));
}

bool is_of_policy(const World& world, RuleId rule, const std::string& policy) {
  const PolicyIx p = policy_named(world, policy);
  return p && world.state().policy_of(rule) == p;
}

// `[first|second|third|last] group on node-3 [in prod] [of nodes]`: by age; without a number the one that is
// open, or else the last that was.
Result<BracketGroup> read_group(Call& call) {
  constexpr std::string_view kPlaces[] = {"first", "second", "third"};
  std::optional<size_t> place;
  for (size_t i = 0; i < std::size(kPlaces); ++i)
    if (call.words.take(kPlaces[i])) place = i;
  const bool last = !place && call.words.take("last");
  TRY(call.words.must("group on"));
  const std::string resource = TRY(call.words.next("a resource"));
  std::vector<BracketGroup> all = groups_on(call.world, resource);
  if (call.words.take("in")) {
    const std::string environment = TRY(call.words.next("an environment"));
    std::erase_if(all,
                  [&](const BracketGroup& g) { return call.world.names.of(g.environment) != environment; });
  }
  if (call.words.take("of")) {
    const std::string policy = TRY(call.words.next("a policy"));
    std::erase_if(all, [&](const BracketGroup& g) { return !is_of_policy(call.world, g.rule, policy); });
  }
  if (all.empty() || (place && *place >= all.size()))
    return mistake(fmt::format("there are {} groups on {}", all.size(), resource));
  if (place) return all[*place];
  std::vector<BracketGroup> open;
  std::copy_if(all.begin(), all.end(), std::back_inserter(open),
               [](const BracketGroup& g) { return !g.ended(); });
  if (last || open.empty()) return all.back();
  if (open.size() > 1) return mistake(fmt::format("{} groups are open: say {}", open.size(), kFormOfGroup));
  return open.front();
}

// In the order they began.
std::vector<BracketMember> members_of(World& world, GroupId group) {
  std::vector<BracketMember> all = world.rows<BracketMember>();
  std::erase_if(all, [&](const BracketMember& m) { return m.group != group; });
  auto order = [&](const BracketMember& m) {
    return std::tuple(m.started_at.value_or(Time::never()), world.names.of(m.deployment));
  };
  std::sort(all.begin(), all.end(),
            [&](const BracketMember& a, const BracketMember& b) { return order(a) < order(b); });
  return all;
}

// `kubelet, work: changed v2 failed after 3 attempts, day 1 00:00:10 to day 1 00:01:00`
std::string describe_member(World& world, const BracketMember& m) {
  std::string out =
      fmt::format("{}, {}: {}", world.names.of(m.deployment), to_string(m.role), to_string(m.participation));
  if (m.participation == Participation::kSkipped) return out;
  out += fmt::format(" {} {}", m.version ? world.names.tag(*m.version) : "nothing", to_string(m.outcome));
  if (m.attempts > 1) out += fmt::format(" after {} attempts", m.attempts);
  if (m.next_version) out += fmt::format(", then {}", world.names.tag(*m.next_version));
  if (m.started_at) out += ", " + world.day_of(*m.started_at);
  if (m.started_at && m.finished_at) out += " to " + world.day_of(*m.finished_at);
  return out;
}

std::string describe_group(World& world, const BracketGroup& g) {
  std::string out = fmt::format("{}, collected {} to {}", to_string(g.status),
                                world.day_of(g.collection_started_at), world.day_of(g.collection_ends_at));
  if (g.ready_at) out += ", ready " + world.day_of(*g.ready_at);
  if (g.started_at) out += ", started " + world.day_of(*g.started_at);
  if (g.finished_at) out += ", ended " + world.day_of(*g.finished_at);
  return out + (g.note.empty() ? "" : fmt::format(" \"{}\"", world.names.readable(g.note)));
}

Output act(Call& call, ActOnGroup c) {
  c.reason = call.words.rest();
  TRY(call.send(std::move(c)));
  return "accepted\n";
}

Result<DeploymentId> read_member(Call& call) {
  return call.world.names.id<DeploymentId>(TRY(call.words.next("a deployment")));
}

Output differs(std::string_view what, std::string_view is, std::string_view expected) {
  return fail(ErrorCode::kInternal, fmt::format("{} is {}, not {}", what, is, expected));
}

std::string names_or_nothing(std::vector<std::string> names) {
  if (names.empty()) return "nothing";
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// After `slots` or `waiting`: ` of nodes: node-1, node-2` or `: node-1, node-2`
struct Expected {
  std::string policy, names;
};
Result<Expected> read_expected(Call& call) {
  Expected e;
  if (call.words.take("of")) e.policy = TRY(call.words.label("policy"));
  e.names = call.words.rest();
  return e;
}

struct Stretch {
  Time from, to;
  std::string resource;
};

// When each resource was disturbed: from a job's making to its end, and while a group was at work.
std::vector<Stretch> work_of(World& world) {
  std::vector<Stretch> all;
  for (const Job& j : world.jobs())
    all.push_back({j.created_at, j.ended_at.value_or(Time::never()), world.names.of(j.target.resource)});
  for (const BracketGroup& g : world.rows<BracketGroup>())
    if (g.started_at)
      all.push_back({*g.started_at, g.finished_at.value_or(Time::never()), world.names.of(g.resource)});
  return all;
}

size_t at_work_at(const std::vector<Stretch>& all, Time t) {
  std::set<std::string> busy;
  for (const Stretch& s : all)
    if (s.from <= t && t < s.to) busy.insert(s.resource);
  return busy.size();
}

}  // namespace

// ---- What people do --------------------------------------------------------------------------------------

// `retry group on node-3 [member kubelet] [relock] ["why"]`
Output retry_group(Call& call) {
  ActOnGroup c{.group = TRY(read_group(call)).id, .action = GroupAction::kRetry};
  if (call.words.take("member")) c.deployment = TRY(read_member(call));
  c.relock = call.words.take("relock");
  return act(call, std::move(c));
}

// `skip member kubelet of group on node-3 ["why"]`
Output skip_member(Call& call) {
  ActOnGroup c{.group = {}, .action = GroupAction::kSkipMember};
  c.deployment = TRY(read_member(call));
  TRY(call.words.must("of"));
  c.group = TRY(read_group(call)).id;
  return act(call, std::move(c));
}

// `abort group on node-3 [with post hooks] ["why"]`
Output abort_group(Call& call) {
  ActOnGroup c{.group = TRY(read_group(call)).id, .action = GroupAction::kAbort};
  c.run_post_hooks = call.words.take("with post hooks");
  return act(call, std::move(c));
}

Output finish_group(Call& call) {
  return act(call, {.group = TRY(read_group(call)).id, .action = GroupAction::kFinish});
}

Output close_group(Call& call) {
  return act(call, {.group = TRY(read_group(call)).id, .action = GroupAction::kCloseNow});
}

// `clear quarantine of group on node-3 ["why"]`
Output clear_quarantine(Call& call) {
  TRY(call.words.must("of"));
  return act(call, {.group = TRY(read_group(call)).id, .action = GroupAction::kClearQuarantine});
}

// ---- Looking ---------------------------------------------------------------------------------------------

// `show group on node-3`: the group, and its members in the order they began.
Output show_group(Call& call) {
  const BracketGroup g = TRY(read_group(call));
  std::vector<std::string> lines{describe_group(call.world, g)};
  for (const BracketMember& m : members_of(call.world, g.id)) lines.push_back(describe_member(call.world, m));
  return lines_or_nothing(lines);
}

// `show groups on node-3`: all there ever were, oldest first.
Output show_groups(Call& call) {
  TRY(call.words.must("on"));
  std::vector<std::string> lines;
  for (const BracketGroup& g : groups_on(call.world, TRY(call.words.next("a resource"))))
    lines.push_back(describe_group(call.world, g));
  return lines_or_nothing(lines);
}

// `expect group on node-3 is stuck [saying "kubelet failed"]`
Output expect_group(Call& call) {
  const BracketGroup g = TRY(read_group(call));
  TRY(call.words.must("is"));
  const GroupStatus expected = TRY(read_word<GroupStatus>(call, "status of a group"));
  const std::string note = call.world.names.readable(g.note);
  if (g.status != expected)
    return differs("the group", fmt::format("{} \"{}\"", to_string(g.status), note), to_string(expected));
  if (!call.words.take("saying")) return "";
  const std::string part = TRY(call.words.next("part of the note"));
  if (note.find(part) != std::string::npos) return "";
  return fail(ErrorCode::kInternal, fmt::format("the group says: {}", note));
}

// `expect member kubelet of group on node-3 is changed v2 failed`: as `show group` puts it, or a part of that
Output expect_member(Call& call) {
  const DeploymentId d = TRY(read_member(call));
  TRY(call.words.must("of"));
  const BracketGroup g = TRY(read_group(call));
  TRY(call.words.must("is"));
  const std::string expected = call.words.rest();
  for (const BracketMember& m : members_of(call.world, g.id)) {
    if (m.deployment != d) continue;
    const std::string is = describe_member(call.world, m);
    if (is.find(expected) != std::string::npos) return "";
    return differs("the member", is, expected);
  }
  return differs("it", "no member of the group", expected);
}

// `expect no group on node-3`: none that is open.
Output expect_no_group(Call& call) {
  TRY(call.words.must("on"));
  for (const BracketGroup& g : groups_on(call.world, TRY(call.words.next("a resource"))))
    if (!g.ended()) return differs("a group", describe_group(call.world, g), "ended");
  return "";
}

// After `expect 2 [completed] groups`: `[on node-3]`; all there ever were.
Output expect_groups(Call& call, int64_t expected, std::optional<GroupStatus> status) {
  std::string resource;
  if (call.words.take("on")) resource = TRY(call.words.next("a resource"));
  int64_t is = 0;
  for (const BracketGroup& g : call.world.rows<BracketGroup>())
    is +=
        (resource.empty() || call.world.names.of(g.resource) == resource) && (!status || g.status == *status);
  return is == expected ? "" : differs("number of groups", std::to_string(is), std::to_string(expected));
}

// `expect slots [of nodes]: node-1, node-2`, or `nothing`
Output expect_slots(Call& call) {
  const Expected e = TRY(read_expected(call));
  std::set<std::string> holders;
  for (const auto& [rule, of] : call.world.state().all_holders())
    if (e.policy.empty() || is_of_policy(call.world, rule, e.policy))
      for (const auto& [resource, slot] : of) holders.insert(call.world.names.of(resource));
  const std::string is = names_or_nothing({holders.begin(), holders.end()});
  return is == e.names ? "" : differs("who holds a slot", is, e.names);
}

// `expect waiting [of nodes]: node-3, node-4`: in line, the first first; or `nothing`
Output expect_waiting(Call& call) {
  const Expected e = TRY(read_expected(call));
  std::vector<std::string> waiting;
  for (const auto& [rule, line] : call.world.state().lines())
    if (e.policy.empty() || is_of_policy(call.world, rule, e.policy))
      for (const LineKey& place : line.order()) waiting.push_back(call.world.names.of(place.resource));
  const std::string is = names_or_nothing(std::move(waiting));
  return is == e.names ? "" : differs("who waits", is, e.names);
}

// After `expect 2 resources`: `at work at most [since day 1 09:00] [among east-]`, over the whole scenario or
// since then; among: whose names begin so.
Output expect_at_work(Call& call, int64_t expected) {
  TRY(call.words.must("at work at most"));
  std::vector<Stretch> all = work_of(call.world);
  Time since;
  if (call.words.take("since")) since = call.world.wall_at(TRY(call.words.instant()));
  if (call.words.take("among")) {
    const std::string prefix = TRY(call.words.next("how names begin"));
    std::erase_if(all, [&](const Stretch& s) { return !s.resource.starts_with(prefix); });
  }
  size_t most = 0;
  for (const Stretch& s : all) most = std::max(most, at_work_at(all, std::max(s.from, since)));
  return most == static_cast<size_t>(expected)
             ? ""
             : differs("the most at work at once", std::to_string(most), std::to_string(expected));
}

// ---- Ids -------------------------------------------------------------------------------------------------

// An id for a bracket rule under which the resource comes so many places behind the first of all.
Result<RuleId> rule_id_that_ranks(const World& world, const std::string& resource, int64_t position) {
  constexpr int kMostTries = 100'000;
  auto hash_of = [](const ResourceId& r, const RuleId& rule) {  // FNV-1a, 64 bits
    uint64_t h = 0xcbf29ce484222325u;
    for (char c : r.str() + rule.str()) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
    return h;
  };
  const ResourceId own = world.names.id<ResourceId>(resource);
  for (int i = 0; i < kMostTries; ++i) {
    const RuleId rule{derived_uuid(fmt::format("rule {}", i))};
    int64_t before = 0;
    world.state().resources.each(
        [&](ResourceIx, const ResourceSlot& r) { before += hash_of(r.row.id, rule) < hash_of(own, rule); });
    if (before == position) return rule;
  }
  return mistake(fmt::format("{} cannot be put at place {}", resource, position));
}

}  // namespace ctrlplane::scenario
