// Four operations of an earlier API that a CI plugin still speaks. They name no workspace in the path.
#include <fmt/core.h>

#include "api/anywhere.h"
#include "api/families.h"
#include "api/job_views.h"
#include "api/views.h"
#include "api/words.h"

namespace ctrlplane::api {
namespace {

std::string instance_of(AgentId agent) { return "agent-" + agent.str(); }

std::string agent_text(const State& s, const JobAgent& agent) {
  // Exactly these members: the client refuses any other.
  JsonWriter w;
  w.open().member("id", agent.id).member("name", agent.name).member("workspaceId", s.id());
  w.member("type", agent.type).member("config", agent.config).close();
  return w.take();
}

// Finds the agent, or makes it. One that is there stays as it is.
Status register_agent(Call& c) {
  auto workspace = c.api().directory().workspace(c.who(), c.body().text("workspaceId"));
  if (!workspace) return fail(ErrorCode::kNotFound, "no such workspace");
  TRY(c.api().directory().allows(c.who(), permission::kAgentRegister, workspace->id));
  WorkspaceId id = workspace->id;
  Query known{[name = c.body().text("name")](const State& s, Time) -> Result<std::string> {
    AgentIx a = s.agent_named(name);
    return a ? agent_text(s, s.agents[a].row) : std::string();
  }};
  return c.submit(id, std::move(known), {}, [id](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    if (!reply->text.empty()) return void(call.reply(std::move(reply->text)));
    UpsertAgent fresh{.id = {},
                      .name = call.body().text("name"),
                      .type = call.body().text("type"),
                      .config = {},
                      .metadata = {}};
    auto made = call.write_to(id, std::move(fresh), [](const State& s, Time, const Answer& answer) {
      return agent_text(s, s.agents[s.agents.find(AgentId{answer.id})].row);
    });
    if (!made) call.refuse(made.error());
  });
}

constexpr int64_t kOffered = 100;

// The oldest that wait for the agent; under a freeze those that it would get.
Result<std::vector<Job>> waiting_for(Call& call, WorkspaceId workspace, AgentId agent, const Offer& offer) {
  store::ColdQuery query;
  query.equals = {{"agent_id", store::CellView(agent.uuid)},
                  {"status", store::CellView(to_string(JobStatus::kPending))}};
  if (offer) {
    std::vector<store::CellView> ids;
    for (JobId id : *offer)
      if (ids.size() < static_cast<size_t>(kOffered)) ids.push_back(store::CellView(id.uuid));
    query.among = {{"id", std::move(ids)}};
  }
  query.order_by = "created_at";
  query.limit = kOffered;
  return rows<Job>(call.store(), workspace, query);
}

Status show_waiting(Call& call, WorkspaceId workspace, AgentId agent, const Offer& offer) {
  auto jobs = TRY(waiting_for(call, workspace, agent, offer));
  auto contexts =
      TRY(JobContexts::read(call.store(), workspace, jobs, {.resources = true, .entities = false}));
  JsonWriter w;
  w.open().key("jobs").open_array();
  for (const Job& job : jobs)
    contexts.write_job(w, job, true, "pending");  // this client looks for its own word
  w.close_array().close();
  return call.reply(w.take());
}

// Waiting jobs are offered, not handed over: the report `in_progress` takes them.
Status next(Call& c) {
  AgentId id = TRY(c.id<AgentId>("jobAgentId"));
  return c.later([id](Call& call) -> Status {
    auto found = TRY(find_anywhere<JobAgent>(call, id.uuid, permission::kJobWork, "job agent"));
    const WorkspaceId workspace = found.first;
    auto offer = std::make_shared<Offer>();
    Query ask{[offer, id](const State& s, Time now) -> Result<std::string> {
      if (AgentIx a = s.agents.find(id)) *offer = offered(s, now, a);
      return std::string();
    }};
    return call.submit(workspace, std::move(ask), {}, [=](Call& asked, Reply reply) {
      if (!reply) return asked.refuse(reply.error());
      auto status = asked.later([=](Call& last) { return show_waiting(last, workspace, id, *offer); });
      if (!status) asked.refuse(status.error());
    });
  });
}

// Everything about the job at the top, and what it is about beside it.
Status get_job(Call& c) {
  JobId id = TRY(c.id<JobId>("jobId"));
  return c.later([id](Call& call) -> Status {
    auto [workspace, job] = TRY(find_anywhere<Job>(call, id.uuid, permission::kRead, "job"));
    auto contexts =
        TRY(JobContexts::read(call.store(), workspace, {job}, {.resources = true, .entities = true}));
    JsonWriter w, about;
    contexts.write_job(w, job, true);
    contexts.write_about(about.open(), job);
    about.close();
    std::string text = w.take();
    text.back() = ',';
    return call.reply(text + about.text().substr(1));
  });
}

Status update_job(Call& c) {
  JobId id = TRY(c.id<JobId>("jobId"));
  std::optional<JobStatus> status;
  if (auto word = c.body().maybe_text("status")) {
    status = parse_job_status(*word);
    if (!status) return invalid("status", fmt::format("'{}' is no job status", *word));
  }
  return c.later([id, status](Call& call) -> Status {
    auto [workspace, job] = TRY(find_anywhere<Job>(call, id.uuid, permission::kJobWork, "job"));
    ReportJob report{.job = id,
                     .instance = instance_of(job.agent),
                     .status = status.value_or(JobStatus::kInProgress),
                     .message = call.body().text("message"),
                     .external_id = call.body().text("externalId")};
    auto render = [id](const State&, Time, const Answer&) {
      return fmt::format(R"({{"id":"{}"}})", id.str());
    };
    if (job.handed_over_at || is_terminal(job.status))
      return call.write_to(workspace, std::move(report), render);
    ClaimJob claim{.agent = job.agent, .job = id, .instance = instance_of(job.agent)};
    return call.submit(
        workspace, std::move(claim), {},
        [workspace = workspace, report = std::move(report), render](Call& then, Reply reply) mutable {
          if (!reply) return then.refuse(reply.error());
          auto sent = then.write_to(workspace, std::move(report), render);
          if (!sent) then.refuse(sent.error());
        });
  });
}

}  // namespace

Family legacy_family() {
  using namespace permission;
  return {"Earlier API",
          {
              {.method = "PATCH",
               .path = "/api/v1/job-agents/name",
               .id = "registerAgentLegacy",
               .summary = "Find or make a job agent by its name",
               .permission = kSelf,
               .body = "LegacyAgentRequest",
               .outcomes = {{200, "LegacyAgent"}},
               .handler = register_agent},
              {.method = "GET",
               .path = "/api/v1/job-agents/{jobAgentId}/queue/next",
               .id = "nextJobsLegacy",
               .summary = "Jobs that wait for the agent",
               .permission = kSelf,
               .outcomes = {{200, "LegacyQueue"}},
               .handler = next},
              {.method = "GET",
               .path = "/api/v1/jobs/{jobId}",
               .id = "getJobLegacy",
               .summary = "A job",
               .permission = kSelf,
               .outcomes = {{200, "LegacyJob"}},
               .handler = get_job},
              {.method = "PATCH",
               .path = "/api/v1/jobs/{jobId}",
               .id = "updateJobLegacy",
               .summary = "Take a job, or report on it",
               .permission = kSelf,
               .body = "LegacyJobUpdate",
               .outcomes = {{200, "LegacyUpdated"}},
               .handler = update_job},
          }};
}

}  // namespace ctrlplane::api
