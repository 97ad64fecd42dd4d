#include "api/freeze_views.h"

#include <algorithm>

#include <fmt/core.h>

#include "api/cold.h"
#include "api/words.h"
#include "model/agent_type.h"
#include "policy/freezes.h"

namespace ctrlplane::api {
namespace {

constexpr int64_t kMaxEvents = 1000;
// Targets and jobs of one step: a selector over resources is asked for each of them.
constexpr size_t kSelectedPerStep = 2000, kPlainPerStep = 20'000;

bool is_being_sent(const State& s, JobId job) {
  auto id = s.outbox_of(job);
  if (!id) return false;
  const OutboxItem& item = s.outbox.at(*id);
  return item.kind == OutboxKind::kStart && item.status == OutboxStatus::kSending;
}

void write_job(JsonWriter& w, const State& s, const Job& job) {
  AgentIx a = s.agents.find(job.agent);
  const bool pulled = a && agent_type(s.agents[a].row.type).delivery == Delivery::kPull;
  w.open().member("id", job.id).member("status", wire(job.status, pulled));
  w.member("releaseTargetKey", job.target.str()).member("versionId", job.version);
  w.member("jobAgentId", job.agent);
  if (is_being_sent(s, job.id)) w.member("sending", true);
  w.close();
}

size_t step_of(const FreezeOutline& freeze) {
  return freeze.selector && freeze.selector->uses("resource") ? kSelectedPerStep : kPlainPerStep;
}

}  // namespace

Result<std::optional<Duration>> duration_in(const Body& body, std::string_view name) {
  auto text = body.maybe_text(name);
  if (!text) return std::optional<Duration>();
  auto duration = parse_iso8601_duration(*text);
  if (!duration)
    return invalid(std::string(name),
                   fmt::format("must be an ISO 8601 duration such as PT4H, not \"{}\"", text->substr(0, 60)));
  return duration;
}

std::string freeze_text(WorkspaceId workspace, const Freeze& row, Time now) {
  JsonWriter w;
  write_freeze(w, workspace, row, now);
  return w.take();
}

void write(JsonWriter& w, const FreezeEvent& event) {
  w.open().member("id", event.id).member("action", to_string(event.action));
  w.member_unless_empty("actor", event.actor).member_unless_empty("note", event.note);
  w.member("metadata", event.metadata).member("createdAt", event.created_at).close();
}

void write_brief(JsonWriter& w, const Freeze& row) {
  w.open().member("id", row.id).member("reason", row.reason).member("scope", to_string(row.scope));
  w.member("expiresAt", row.expires_at).close();
}

const Freeze* freeze_over(const State& state, Time now, TargetIx target) {
  if (!state.any_open_freezes()) return nullptr;
  const TargetSlot& slot = state.at(target);
  auto first = [&](VersionIx v) -> const Freeze* {
    if (!v) return nullptr;
    for (const policy::Covering& c : policy::freezes_over(state, now, target, v))
      if (!c.exemption) return &state.freezes[c.freeze].row;
    return nullptr;
  };
  const VersionIx newest = state.newest_for(target);
  if (const Freeze* f = first(newest)) return f;
  return slot.desired_version == newest ? nullptr : first(slot.desired_version);
}

Result<Freeze> stored_freeze(Call& call, FreezeId id) {
  auto found = TRY(row<Freeze>(call.store(), call.workspace(), id.uuid));
  if (!found) return fail(ErrorCode::kNotFound, fmt::format("no freeze {}", id.str()));
  return *std::move(found);
}

Result<std::vector<FreezeEvent>> events_of(store::Store& store, WorkspaceId workspace, FreezeId id) {
  store::ColdQuery query;
  query.equals = {{"freeze_id", store::CellView(id.uuid)}};
  query.order_by = "id";  // they are made in order
  query.limit = kMaxEvents;
  return rows<FreezeEvent>(store, workspace, query);
}

// ---- Impact ----------------------------------------------------------------------------------------------

std::string in_flight_text(const State& state, const FreezeOutline& freeze) {
  JsonWriter w;
  w.open_array();
  for (JobIx j : jobs_in_flight_under(state, freeze)) write_job(w, state, state.jobs[j].row);
  return w.close_array().take();
}

std::string open_brackets_text(const State& state, const FreezeOutline& freeze) {
  JsonWriter w;
  w.open_array();
  for (const OpenBracket& open : open_brackets_under(state, freeze)) {
    const BracketGroup& row = state.groups[open.group].row;
    w.open().member("id", row.id).member("resourceId", row.resource);
    if (ResourceIx r = state.resources.find(row.resource))
      w.member("resourceName", state.resources[r].row.name);
    w.member("status", to_string(row.status)).member("membersLeft", open.members_left).close();
  }
  return w.close_array().take();
}

void Impact::begin(const State& state, FreezeOutline freeze) {
  in_flight = in_flight_text(state, freeze);
  open_brackets = open_brackets_text(state, freeze);
  outline = std::move(freeze);
}

std::string Impact::numbers() const {
  return fmt::format(R"("targets":{},"undetermined":{},"heldJobs":{}{})", count.targets, count.undetermined,
                     count.held_jobs, done ? "" : R"(,"incomplete":true)");
}

std::string Impact::text() const {
  return fmt::format(R"({{{},"inFlightJobs":{},"openBrackets":{}}})", numbers(), in_flight, open_brackets);
}

void count_impact(Call& call, std::shared_ptr<Impact> impact, std::function<void(Call&, Status)> then) {
  Query step{[impact](const State& s, Time) -> Result<std::string> {
    impact->done =
        !impact->outline || count_some(s, *impact->outline, impact->count, step_of(*impact->outline));
    return std::string();
  }};
  auto status = call.submit(call.workspace(), std::move(step), {}, [impact, then](Call& c, Reply reply) {
    if (!reply) return then(c, std::unexpected(reply.error()));
    if (impact->done || --impact->steps_left == 0) return then(c, {});
    count_impact(c, impact, then);
  });
  if (!status) then(call, status);
}

}  // namespace ctrlplane::api
