// Job agents, and the protocol by which pull agents get their jobs.
#include <fmt/core.h>

#include "api/families.h"
#include "api/job_views.h"
#include "api/views.h"
#include "api/words.h"
#include "engine/settings.h"

namespace ctrlplane::api {
namespace {

constexpr Duration kHeartbeat = seconds(30);

Status exists(const State& s, AgentId id) {
  if (s.agents.find(id)) return {};
  return fail(ErrorCode::kNotFound, fmt::format("no job agent {}", id.str()));
}

Status list(Call& c) {
  return c.read([page = c.page()](const State& s, Time) -> Result<std::string> {
    return page_of(sorted<AgentIx>(s.agents, kByName), page,
                   [&](JsonWriter& w, const AgentSlot* slot) { write(w, s.id(), slot->row); });
  });
}

Status get(Call& c) {
  AgentId id = TRY(c.id<AgentId>("jobAgentId"));
  return c.read([id](const State& s, Time) -> Result<std::string> {
    TRY(exists(s, id));
    return text_of(s.id(), s.agents[s.agents.find(id)].row);
  });
}

Status put(Call& c) {
  const Body& b = c.body();
  UpsertAgent u{.id = TRY(c.id<AgentId>("jobAgentId")),
                .name = b.text("name"),
                .type = b.text("type"),
                .config = TRY(b.document("config")),
                .metadata = b.metadata("metadata")};
  return c.write(std::move(u), accepted("Job agent update requested"));
}

Status remove(Call& c) {
  return c.write(DeleteAgent{TRY(c.id<AgentId>("jobAgentId"))}, accepted("Job agent deleted"));
}

// ---- Work ------------------------------------------------------------------------------------------------

// Under a freeze an agent is not told of jobs that it would not get.
Status list_offered(Call& call, const std::vector<JobId>& all) {
  const Page page = call.page();
  std::set<JobId> cut;
  for (size_t i = page.offset; i < all.size() && cut.size() < page.limit; ++i)
    cut.insert(all[all.size() - 1 - i]);
  auto found = TRY((rows_by_id<Job>(call.store(), call.workspace(), cut)));
  std::vector<Job> jobs;
  for (auto it = found.rbegin(); it != found.rend(); ++it)
    if (it->second.status == JobStatus::kPending) jobs.push_back(it->second);
  bool with_context = call.query("includeDispatchContext") == "true";
  auto contexts = TRY(JobContexts::read(call.store(), call.workspace(), jobs,
                                        {.resources = with_context, .entities = false}));
  return call.reply(
      cold_page_text(jobs, static_cast<int64_t>(all.size()), page,
                     [&](JsonWriter& w, const Job& job) { contexts.write_job(w, job, with_context); }));
}

Status jobs(Call& c) {
  AgentId id = TRY(c.id<AgentId>("jobAgentId"));
  const std::string status = c.query("status").value_or("");
  const bool waiting = status == "queued" || status == "pending";
  return c.ask<Offer>(
      [id, waiting](const State& s, Time now) -> Result<Offer> {
        TRY(exists(s, id));
        return waiting ? offered(s, now, s.agents.find(id)) : Offer{};
      },
      [id](Call& call, Offer offer) -> Status {
        if (offer) return list_offered(call, *offer);
        store::ColdQuery query;
        query.equals = {{"agent_id", store::CellView(id.uuid)}};
        std::vector<store::CellView> statuses;
        if (auto word = call.query("status")) {
          for (JobStatus s : stored_as(*word)) statuses.push_back(store::CellView(to_string(s)));
          query.among = {{"status", statuses}};
        }
        query.order_by = "created_at";
        query.descending = true;
        auto found = TRY(cold_page<Job>(call.store(), call.workspace(), query, call.page()));
        return with_held(call, found.items, [found](Call& last, Holdings held) -> Status {
          bool with_context = last.query("includeDispatchContext") == "true";
          auto contexts = TRY(JobContexts::read(last.store(), last.workspace(), found.items,
                                                {.resources = with_context, .entities = false}));
          contexts.show_held(std::move(held));
          return last.reply(cold_page_text(
              found.items, found.total, last.page(),
              [&](JsonWriter& w, const Job& job) { contexts.write_job(w, job, with_context); }));
        });
      });
}

// The claimed job as it stands in the store: also for a claim that was repeated.
Status reply_with_job(Call& call, JobId id) {
  auto job = TRY(row<Job>(call.store(), call.workspace(), id.uuid));
  if (!job) return fail(ErrorCode::kNotFound, fmt::format("no job {}", id.str()));
  auto contexts =
      TRY(JobContexts::read(call.store(), call.workspace(), {*job}, {.resources = true, .entities = false}));
  JsonWriter w;
  contexts.write_job(w, *job, true);
  return call.reply(200, w.take());
}

Status claim_job(Call& c, ClaimJob command) {
  return c.submit(c.workspace(), std::move(command), {}, [](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    if (reply->id.is_nil()) return void(call.reply(204, ""));
    auto status = call.later([id = JobId{reply->id}](Call& later) { return reply_with_job(later, id); });
    if (!status) call.refuse(status.error());
  });
}

Status claim_next(Call& c) {
  return claim_job(c, {.agent = TRY(c.id<AgentId>("jobAgentId")),
                       .job = {},
                       .instance = c.body().text("instanceId"),
                       .fences_itself = c.body().flag("fencesItself")});
}

Status claim_one(Call& c) {
  std::string instance = c.body().text("instanceId");
  // Clients that know nothing of instances are told apart by who they are.
  if (instance.empty()) instance = (c.who().key ? "key-" + c.who().key->str() : "user-" + c.who().user.str());
  return claim_job(c, {.agent = TRY(c.id<AgentId>("jobAgentId")),
                       .job = TRY(c.id<JobId>("jobId")),
                       .instance = std::move(instance),
                       .fences_itself = c.body().flag("fencesItself")});
}

std::string heartbeat_text(const State&, Time, const Answer& answer) {
  JsonWriter w;
  w.open().key("stop").open_array();
  for (JobId id : answer.jobs) w.value(id);
  w.close_array().member("leaseSeconds", kAgentLease.us / 1'000'000);
  w.member("heartbeatSeconds", kHeartbeat.us / 1'000'000).close();
  return w.take();
}

Status heartbeat(Call& c) {
  AgentId agent = TRY(c.id<AgentId>("jobAgentId"));
  Query known{[agent](const State& s, Time) -> Result<std::string> {
    TRY(exists(s, agent));
    return std::string();
  }};
  return c.submit(c.workspace(), std::move(known), {}, [](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    Heartbeat beat{.instance = call.body().text("instanceId"), .jobs = {}};
    for (const std::string& id : call.body().texts("jobIds")) beat.jobs.push_back(*JobId::parse(id));
    if (auto sent = call.write(std::move(beat), heartbeat_text); !sent) call.refuse(sent.error());
  });
}

}  // namespace

Family agent_family() {
  using namespace permission;
  constexpr std::string_view kAll = CTRLPLANE_W "/job-agents";
  constexpr std::string_view kOne = CTRLPLANE_W "/job-agents/{jobAgentId}";
  return {"Job agents",
          {
              {.method = "GET",
               .path = kAll,
               .id = "listJobAgents",
               .summary = "Job agents by name",
               .permission = kRead,
               .query = paged(),
               .outcomes = {{200, "JobAgentPage"}},
               .handler = list},
              {.method = "GET",
               .path = kOne,
               .id = "getJobAgent",
               .summary = "A job agent",
               .permission = kRead,
               .outcomes = {{200, "JobAgent"}},
               .handler = get},
              {.method = "PUT",
               .path = kOne,
               .id = "upsertJobAgent",
               .summary = "Make or replace a job agent",
               .permission = kAgentRegister,
               .body = "UpsertJobAgentRequest",
               .outcomes = {{202, "Accepted"}},
               .handler = put},
              {.method = "DELETE",
               .path = kOne,
               .id = "deleteJobAgent",
               .summary = "Delete a job agent without active jobs",
               .permission = kAgentWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = remove},
              {.method = "GET",
               .path = CTRLPLANE_W "/job-agents/{jobAgentId}/jobs",
               .id = "listJobAgentJobs",
               .summary = "Jobs of an agent, newest first",
               .permission = kRead,
               .query = paged({{"status", "JobStatus"}, {"includeDispatchContext", "boolean"}}),
               .outcomes = {{200, "JobPage"}},
               .handler = jobs},
              {.method = "POST",
               .path = CTRLPLANE_W "/job-agents/{jobAgentId}/claim",
               .id = "claimNextJob",
               .summary = "Take the oldest waiting job; 204 if none waits",
               .permission = kJobWork,
               .body = "ClaimNextRequest",
               .repeat = Repeat::kFreely,
               .outcomes = {{200, "Job"}, {204}},
               .handler = claim_next},
              {.method = "POST",
               .path = CTRLPLANE_W "/job-agents/{jobAgentId}/jobs/{jobId}/claim",
               .id = "claimJob",
               .summary = "Take this job",
               .permission = kJobWork,
               .body = "ClaimRequest",
               .body_optional = true,
               .repeat = Repeat::kFreely,
               .outcomes = {{200, "Job"}},
               .handler = claim_one},
              {.method = "POST",
               .path = CTRLPLANE_W "/job-agents/{jobAgentId}/heartbeat",
               .id = "heartbeat",
               .summary = "Keep the leases of these jobs; answers what to stop",
               .permission = kJobWork,
               .body = "HeartbeatRequest",
               .repeat = Repeat::kFreely,
               .outcomes = {{200, "HeartbeatAnswer"}},
               .handler = heartbeat},
          }};
}

}  // namespace ctrlplane::api
