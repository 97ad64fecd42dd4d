#include <fmt/core.h>

#include "api/families.h"
#include "api/job_views.h"
#include "api/views.h"
#include "api/words.h"

namespace ctrlplane::api {
namespace {

constexpr int64_t kOutputAtOnce = 1024 * 1024;
constexpr size_t kMaxChunk = 256 * 1024;

Result<Job> find(Call& c, JobId id) {
  auto job = TRY(row<Job>(c.store(), c.workspace(), id.uuid));
  if (!job) return fail(ErrorCode::kNotFound, fmt::format("no job {}", id.str()));
  return *std::move(job);
}

Status list(Call& c) {
  auto deployment = TRY(c.query_id<DeploymentId>("deploymentId"));
  auto agent = TRY(c.query_id<AgentId>("jobAgentId"));
  return c.later([deployment, agent](Call& call) -> Status {
    store::ColdQuery query;
    std::vector<store::CellView> statuses;
    if (deployment) query.equals.push_back({"deployment_id", store::CellView(deployment->uuid)});
    if (agent) query.equals.push_back({"agent_id", store::CellView(agent->uuid)});
    if (auto word = call.query("status")) {
      for (JobStatus s : stored_as(*word)) statuses.push_back(store::CellView(to_string(s)));
      query.among = {{"status", statuses}};
    }
    query.order_by = "created_at";
    query.descending = true;
    auto found = TRY(cold_page<Job>(call.store(), call.workspace(), query, call.page()));
    return with_held(call, found.items, [found](Call& last, Holdings held) -> Status {
      auto contexts = TRY(JobContexts::read(last.store(), last.workspace(), found.items,
                                            {.resources = false, .entities = true}));
      contexts.show_held(std::move(held));
      return last.reply(
          cold_page_text(found.items, found.total, last.page(),
                         [&](JsonWriter& w, const Job& job) { contexts.write_with_release(w, job); }));
    });
  });
}

Status get(Call& c) {
  JobId id = TRY(c.id<JobId>("jobId"));
  return c.later([id](Call& call) -> Status {
    Job job = TRY(find(call, id));
    return with_held(call, {job}, [job](Call& last, Holdings held) -> Status {
      auto contexts = TRY(
          JobContexts::read(last.store(), last.workspace(), {job}, {.resources = true, .entities = false}));
      contexts.show_held(std::move(held));
      JsonWriter w;
      contexts.write_job(w, job, true);
      return last.reply(w.take());
    });
  });
}

Status get_with_release(Call& c) {
  JobId id = TRY(c.id<JobId>("jobId"));
  return c.later([id](Call& call) -> Status {
    Job job = TRY(find(call, id));
    return with_held(call, {job}, [job](Call& last, Holdings held) -> Status {
      auto contexts = TRY(
          JobContexts::read(last.store(), last.workspace(), {job}, {.resources = false, .entities = true}));
      contexts.show_held(std::move(held));
      JsonWriter w;
      contexts.write_with_release(w, job);
      return last.reply(w.take());
    });
  });
}

Status set_status(Call& c) {
  const Body& b = c.body();
  ReportJob report{.job = TRY(c.id<JobId>("jobId")),
                   .instance = b.text("instanceId"),
                   .status = *parse_job_status(b.text("status")),
                   .message = b.text("message"),
                   .external_id = b.text("externalId")};
  return c.write(std::move(report), accepted("Job status update requested"));
}

Status cancel(Call& c) {
  return c.write(CancelJob{TRY(c.id<JobId>("jobId"))}, accepted("Job cancel requested"));
}

Status decide(Call& c) {
  DecideJob decision{.job = TRY(c.id<JobId>("jobId")),
                     .status = *parse_job_status(c.body().text("status")),
                     .reason = c.body().text("reason")};
  return c.write(std::move(decision), accepted("Job decided"));
}

// ---- Output: beside the loop ----------------------------------------------------------------------------

Status append_output(Call& c) {
  JobId id = TRY(c.id<JobId>("jobId"));
  std::string text = c.body().text("text");
  if (text.size() > kMaxChunk)
    return invalid("text", fmt::format("has {} bytes; send at most {} at once", text.size(), kMaxChunk));
  if (text.find('\0') != std::string::npos) return invalid("text", "contains a NUL character");
  store::OutputChunk chunk{.job = id, .offset = *c.body().integer("offset"), .text = std::move(text)};
  return c.later([chunk = std::move(chunk)](Call& call) -> Status {
    TRY(find(call, chunk.job));
    if (!chunk.text.empty()) TRY(call.store().append_output(call.workspace(), {&chunk, 1}));
    return call.reply(fmt::format(R"({{"id":"{}","message":"Output appended"}})", chunk.job.str()));
  });
}

Status read_output(Call& c) {
  JobId id = TRY(c.id<JobId>("jobId"));
  int64_t from = c.query("offset") ? std::stoll(*c.query("offset")) : 0;
  return c.later([id, from](Call& call) -> Status {
    TRY(find(call, id));
    auto chunks = TRY(call.store().read_output(call.workspace(), id, from, kOutputAtOnce));
    JsonWriter w;
    int64_t end = from;
    bool gap = false;
    w.open().key("chunks").open_array();
    for (const store::OutputChunk& chunk : chunks) {
      gap |= chunk.offset > end;
      end = std::max(end, chunk.offset + static_cast<int64_t>(chunk.text.size()));
      w.open().member("offset", chunk.offset).member("text", chunk.text).close();
    }
    w.close_array().member("end", end).member("truncated", gap).close();
    return call.reply(w.take());
  });
}

}  // namespace

Family job_family() {
  using namespace permission;
  constexpr std::string_view kOne = CTRLPLANE_W "/jobs/{jobId}";
  return {"Jobs",
          {
              {.method = "GET",
               .path = CTRLPLANE_W "/jobs",
               .id = "listJobs",
               .summary = "Jobs, newest first",
               .permission = kRead,
               .query = paged({{"status", "JobStatus"}, {"deploymentId", "uuid"}, {"jobAgentId", "uuid"}}),
               .outcomes = {{200, "JobWithReleasePage"}},
               .handler = list},
              {.method = "GET",
               .path = kOne,
               .id = "getJob",
               .summary = "A job with its dispatch context",
               .permission = kRead,
               .outcomes = {{200, "Job"}},
               .handler = get},
              {.method = "GET",
               .path = CTRLPLANE_W "/jobs/{jobId}/with-release",
               .id = "getJobWithRelease",
               .summary = "A job with its release and what it is about",
               .permission = kRead,
               .outcomes = {{200, "JobWithRelease"}},
               .handler = get_with_release},
              {.method = "PUT",
               .path = CTRLPLANE_W "/jobs/{jobId}/status",
               .id = "setJobStatus",
               .summary = "Report on a job",
               .permission = kJobWork,
               .body = "JobStatusRequest",
               .outcomes = {{202, "Accepted"}},
               .handler = set_status},
              {.method = "POST",
               .path = CTRLPLANE_W "/jobs/{jobId}/cancel",
               .id = "cancelJob",
               .summary = "Cancel a job; a running one is told with its next heartbeat",
               .permission = kJobCancel,
               .outcomes = {{202, "Accepted"}},
               .handler = cancel},
              {.method = "POST",
               .path = CTRLPLANE_W "/jobs/{jobId}/decide",
               .id = "decideJob",
               .summary = "Say what became of a job that requires action",
               .permission = kJobCancel,
               .body = "JobDecisionRequest",
               .outcomes = {{202, "Accepted"}},
               .handler = decide},
              {.method = "POST",
               .path = CTRLPLANE_W "/jobs/{jobId}/output",
               .id = "appendJobOutput",
               .summary = "Append to a job's output",
               .permission = kJobWork,
               .body = "JobOutputRequest",
               .outcomes = {{202, "Accepted"}},
               .handler = append_output},
              {.method = "GET",
               .path = CTRLPLANE_W "/jobs/{jobId}/output",
               .id = "getJobOutput",
               .summary = "A job's output from an offset on",
               .permission = kRead,
               .query = {{"offset", "integer(0..)", "in bytes"}},
               .outcomes = {{200, "JobOutput"}},
               .handler = read_output},
          }};
}

}  // namespace ctrlplane::api
