// Freezes: what people do with them, and how to look at them.
#include "describe.h"
#include "engine/freeze_impact.h"
#include "policy/freezes.h"
#include "verbs.h"

namespace ctrlplane::scenario {
namespace {

constexpr size_t kCountStep = 100;

Result<Time> read_moment(Call& call) { return call.world.wall_at(TRY(call.words.instant())); }

// `workspace`, `system shop`, `environment prod`, `deployment api`
Status read_scope(Call& call, CreateFreeze& c) {
  c.scope = TRY(read_word<FreezeScope>(call, "scope"));
  if (c.scope == FreezeScope::kWorkspace) return {};
  const std::string name = TRY(call.words.next("a name"));
  const Names& names = call.world.names;
  switch (c.scope) {
    case FreezeScope::kWorkspace: break;
    case FreezeScope::kSystem: c.entity = names.id<SystemId>(name).uuid; break;
    case FreezeScope::kEnvironment: c.entity = names.id<EnvironmentId>(name).uuid; break;
    case FreezeScope::kDeployment: c.entity = names.id<DeploymentId>(name).uuid; break;
  }
  return {};
}

// `[role operator | granted extend]`: what a member of that role, or with that grant alone, may do with
// freezes of others; an operator if it is not said.
Result<FreezeRights> read_rights(Call& call) {
  if (call.words.take("granted extend")) return FreezeRights{.extend = true};
  Role role = Role::kOperator;
  if (call.words.take("role")) role = TRY(read_word<Role>(call, "role"));
  const bool operates = role >= Role::kOperator;
  return FreezeRights{.extend = operates, .thaw = operates, .admin = role == Role::kAdmin};
}

// `freeze settings [max 8h] [ttl required] [thaw needs reason] [second person] [warn 10m]`
Output change_settings(Call& call) {
  FreezeSettings s;
  if (call.words.take("max")) s.max_ttl = TRY(call.words.duration());
  s.ttl_required = call.words.take("ttl required");
  s.thaw_needs_reason = call.words.take("thaw needs reason");
  s.second_person_thaws = call.words.take("second person");
  if (call.words.take("warn")) s.warn_before = TRY(call.words.duration());
  return outcome(TRY(call.send(SetFreezeSettings{s})));
}

FreezeIx find_freeze(const World& world, const std::string& name) {
  return world.state().freezes.find(world.names.id<FreezeId>(name));
}

// As the answer to the one who made it lists them: exact at the commit.
std::string ids_in_flight(const State& state, const Answer& answer) {
  auto outline = FreezeOutline::of(state.freezes[state.freezes.find(FreezeId{answer.id})].row);
  std::string out;
  if (!outline) return out;
  for (JobIx j : jobs_in_flight_under(state, *outline)) out += state.jobs[j].row.id.str() + "\n";
  return out;
}

std::string describe_in_flight(World& world, const std::string& ids) {
  std::string out;
  for (const Job& job : world.jobs())
    if (ids.find(job.id.str()) != std::string::npos)
      out += fmt::format("in flight: {} {}\n", world.names.of(job.target), world.names.tag(job.version));
  return out;
}

std::string scope_of(const World& world, const Freeze& f) {
  std::string out(to_string(f.scope));
  return f.scope_entity ? out + " " + world.names.of(*f.scope_entity) : out;
}

std::string status_of(const Freeze& f, Time now) {
  return f.active(now) ? "active" : f.scheduled(now) ? "scheduled" : "ended";
}

std::string quoted(const std::string& text) { return text.empty() ? "" : fmt::format(" \"{}\"", text); }

// `halt over environment prod "why": active from day 1 00:00:00 to day 1 02:00:00`
std::string describe_freeze(const World& world, const Freeze& f) {
  std::string line = fmt::format("{} over {}{}: {} from {}", world.names.of(f.id), scope_of(world, f),
                                 quoted(f.reason), status_of(f, world.now()), world.day_of(f.effective_at));
  if (f.end() != Time::never()) line += " to " + world.day_of(f.end());
  if (f.ended() && !f.thawed_by.empty()) line += " by " + f.thawed_by + quoted(f.thaw_reason);
  return line + (f.selector ? " where " + *f.selector : "");
}

std::vector<FreezeEvent> events_of(World& world, FreezeId id) {
  std::vector<FreezeEvent> events = world.rows<FreezeEvent>();
  std::erase_if(events, [&](const FreezeEvent& e) { return e.freeze != id; });
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
  });
  return events;
}

std::string describe_event(World& world, const FreezeEvent& e) {
  std::string line = fmt::format("{}: {}{}{}", world.day_of(e.created_at), to_string(e.action),
                                 e.actor.empty() ? "" : " by " + e.actor, quoted(e.note));
  if (e.metadata.text() != "{}") line += " " + with_days(world, world.names.readable(e.metadata.text()));
  return line;
}

// The freezes that stop it, most specific first: `halt,all`.
std::string stopping(const World& world, TargetIx t, VersionIx v) {
  std::string out;
  for (const policy::Covering& c : policy::freezes_over(world.state(), world.now(), t, v))
    if (!c.exemption)
      out += (out.empty() ? "" : ",") + world.names.of(world.state().freezes[c.freeze].row.id);
  return out;
}

Result<VersionIx> version_asked_about(Call& call, TargetIx t) {
  const State& state = call.world.state();
  const DeploymentIx d = state.at(t).deployment;
  const auto& newest_first = state.deployments[d].versions;
  VersionIx v = newest_first.empty() ? VersionIx{} : newest_first.front();
  if (call.words.take("of")) v = state.version_tagged(d, TRY(call.words.next("a tag")));
  if (!v) return mistake("there is no such version");
  return v;
}

}  // namespace

// `freeze halt over SCOPE "reason" [from day 1 09:00] [for 2h | until day 2 09:00] [in flight cancel]
// [incident URL] [where <selector>]`: prints what agents have at that moment.
Output freeze(Call& call) {
  if (call.words.take("settings")) return change_settings(call);
  const std::string name = TRY(call.words.next("a name"));
  TRY(call.words.must("over"));
  CreateFreeze c;
  TRY(read_scope(call, c));
  c.reason = TRY(call.words.next("a reason"));
  if (call.words.take("from")) c.effective_at = TRY(read_moment(call));
  if (call.words.take("for")) c.expires_in = TRY(call.words.duration());
  if (call.words.take("until")) c.expires_at = TRY(read_moment(call));
  if (call.words.take("in flight")) c.in_flight = TRY(read_word<InFlight>(call, "way with work in flight"));
  if (call.words.take("incident")) c.incident_url = TRY(call.words.next("a URL"));
  if (call.words.take("where")) c.selector = call.words.rest();
  Request request{.command = std::move(c), .actor = call.actor, .idempotency = call.key};
  request.render = [](const State& state, Time, const Answer& a) { return ids_in_flight(state, a); };
  Answer answer = TRY(call.world.send(std::move(request)));
  call.world.names.learn<FreezeId>(name, answer.id);
  return outcome(answer) + describe_in_flight(call.world, answer.text);
}

// `thaw halt [cascade] [resume 10/minute] [role admin] ["why"]`
Output thaw(Call& call) {
  ThawFreeze c{.id = call.world.names.id<FreezeId>(TRY(call.words.next("a freeze")))};
  c.cascade = call.words.take("cascade");
  if (call.words.take("resume")) {
    Words pace(split(TRY(call.words.next("a pace")), "/minute")[0]);
    c.resume_per_minute = TRY(pace.number("a pace like 10/minute"));
  }
  c.rights = TRY(read_rights(call));
  c.reason = call.words.rest();
  TRY(call.send(std::move(c)));
  return "thawed\n";
}

// `extend halt [from day 1 09:00] [for 2h | until day 2 09:00 | forever] [incident URL] [role operator |
// granted extend] [saying "why"] [where <selector> | everywhere]`; `change` is the same.
Output change_freeze(Call& call) {
  UpdateFreeze c{.id = call.world.names.id<FreezeId>(TRY(call.words.next("a freeze")))};
  if (call.words.take("from")) c.effective_at = TRY(read_moment(call));
  if (call.words.take("for")) c.expires_in = TRY(call.words.duration());
  if (call.words.take("until")) c.expires_at = TRY(read_moment(call));
  if (call.words.take("forever")) c.expires_at.emplace(std::nullopt);
  if (call.words.take("incident")) c.incident_url = TRY(call.words.next("a URL"));
  c.rights = TRY(read_rights(call));
  if (call.words.take("saying")) c.reason = TRY(call.words.next("why"));
  if (call.words.take("everywhere")) c.selector.emplace(std::nullopt);
  if (call.words.take("where")) c.selector.emplace(call.words.rest());
  return outcome(TRY(call.send(std::move(c))));
}

// `[bypassing freezes | bypassing only halt,other]`
Status read_bypass(Call& call, CreateVersion& c) {
  if (!call.words.take("bypassing")) return {};
  c.bypass_freeze = true;
  if (call.words.take("freezes")) return {};
  TRY(call.words.must("only"));
  for (const std::string& name : split(TRY(call.words.next("freezes")), ","))
    c.bypass_freeze_ids.push_back(call.world.names.id<FreezeId>(name));
  return {};
}

// ---- Looking -------------------------------------------------------------------------------------------

Output show_freezes(Call& call) {
  std::vector<Freeze> all = call.world.rows<Freeze>();
  std::sort(all.begin(), all.end(), [](const Freeze& a, const Freeze& b) {
    return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
  });
  std::vector<std::string> lines;
  for (const Freeze& f : all) lines.push_back(describe_freeze(call.world, f));
  return lines_or_nothing(lines);
}

// `show history of halt`
Output show_history(Call& call) {
  TRY(call.words.must("of"));
  FreezeId id = call.world.names.id<FreezeId>(TRY(call.words.next("a freeze")));
  std::vector<std::string> lines;
  for (const FreezeEvent& e : events_of(call.world, id)) lines.push_back(describe_event(call.world, e));
  return lines_or_nothing(lines);
}

// `show impact of halt`
Output show_impact(Call& call) {
  TRY(call.words.must("of"));
  const State& state = call.world.state();
  FreezeIx f = find_freeze(call.world, TRY(call.words.next("a freeze")));
  if (!f) return "nothing\n";
  FreezeOutline outline = TRY(FreezeOutline::of(state.freezes[f].row));
  FreezeCount count;
  while (!count_some(state, outline, count, kCountStep)) continue;
  return fmt::format("{} targets, {} undetermined, {} held jobs, {} in flight\n", count.targets,
                     count.undetermined, count.held_jobs, jobs_in_flight_under(state, outline).size());
}

// `expect [not] frozen api on prod/node-1 [of v2] [by halt,other]`: the newest version if it is not said.
Output expect_frozen(Call& call, bool frozen) {
  const TargetKey key = TRY(read_target(call));
  const State& state = call.world.state();
  const TargetIx t = state.target(key);
  if (!t) return mistake("there is no such target");
  const VersionIx v = TRY(version_asked_about(call, t));
  const std::string by = stopping(call.world, t, v);
  const bool is_frozen = bool(policy::frozen_by(state, call.world.now(), t, v));
  if (is_frozen == by.empty()) return fail(ErrorCode::kInternal, "frozen_by and freezes_over disagree");
  if (is_frozen != frozen)
    return fail(ErrorCode::kInternal, is_frozen ? fmt::format("it is frozen by {}", by) : "it is not frozen");
  if (!call.words.take("by")) return "";
  const std::string expected = TRY(call.words.next("freezes"));
  if (by == expected) return "";
  return fail(ErrorCode::kInternal, fmt::format("it is frozen by {}, not by {}", by, expected));
}

// `expect freeze halt is active`
Output expect_freeze(Call& call) {
  const std::string name = TRY(call.words.next("a freeze"));
  TRY(call.words.must("is"));
  const std::string expected = TRY(call.words.next("active, scheduled or ended"));
  for (const Freeze& f : call.world.rows<Freeze>()) {
    if (f.id != call.world.names.id<FreezeId>(name)) continue;
    const std::string is = status_of(f, call.world.now());
    if (is == expected) return "";
    return fail(ErrorCode::kInternal, fmt::format("freeze {} is {}, not {}", name, is, expected));
  }
  return mistake(fmt::format("there is no freeze '{}'", name));
}

// `expect event halt activated once`, or `twice`, or `never`
Output expect_event(Call& call) {
  FreezeId id = call.world.names.id<FreezeId>(TRY(call.words.next("a freeze")));
  const FreezeAction action = TRY(read_word<FreezeAction>(call, "event"));
  const int64_t expected = call.words.take("never") ? 0 : call.words.take("twice") ? 2 : 1;
  if (expected == 1) TRY(call.words.must("once"));
  int64_t is = 0;
  for (const FreezeEvent& e : events_of(call.world, id)) is += e.action == action;
  if (is == expected) return "";
  return fail(ErrorCode::kInternal, fmt::format("there are {} of it", is));
}

}  // namespace ctrlplane::scenario
