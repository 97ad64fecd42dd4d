#include "api/job_views.h"

#include <algorithm>

#include <boost/json.hpp>

#include "api/views.h"
#include "api/words.h"
#include "model/agent_type.h"
#include "policy/freezes.h"

namespace ctrlplane::api {
namespace {

constexpr size_t kMaxLooked = 4000;  // jobs that an agent's list looks at, under a freeze

Uuid as_uuid(const Digest& d) { return Uuid{d.bytes}; }

Result<std::map<Digest, std::string>> read_parts(store::Store& store, WorkspaceId workspace,
                                                 const std::set<Digest>& wanted) {
  std::map<Digest, std::string> found;
  if (wanted.empty()) return found;
  std::vector<store::CellView> digests;
  for (const Digest& d : wanted) digests.push_back(store::CellView(as_uuid(d)));
  store::ColdQuery query;
  query.among = {{"digest", std::move(digests)}};
  query.limit = static_cast<int64_t>(wanted.size());
  for (ContextPart& p : TRY(rows<ContextPart>(store, workspace, query)))
    found.emplace(p.digest, std::move(p.body));
  return found;
}

std::string config_in(const std::string& shared_part) {
  boost::json::error_code error;
  boost::json::value v = boost::json::parse(shared_part, error);
  if (error || !v.is_object()) return "{}";
  const boost::json::value* config = v.get_object().if_contains("jobAgentConfig");
  return config ? boost::json::serialize(*config) : "{}";
}

// As the agent would be answered if it asked for the job.
FreezeIx held_by(const State& state, Time now, const JobSlot& job) {
  if (!job.target || !job.version) return {};
  const GroupIx group = job.row.group ? state.groups.find(*job.row.group) : GroupIx{};
  return policy::frozen_by(state, now, job.target, job.version, group);
}

}  // namespace

Holdings held_among(const State& state, Time now, const std::vector<JobId>& waiting) {
  Holdings held;
  if (!state.any_open_freezes()) return held;
  for (JobId id : waiting) {
    JobIx j = state.jobs.find(id);
    if (FreezeIx f = j ? held_by(state, now, state.jobs[j]) : FreezeIx{})
      held[id] = {state.freezes[f].row.id, state.freezes[f].row.reason};
  }
  return held;
}

Offer offered(const State& state, Time now, AgentIx agent) {
  if (!state.any_open_freezes()) return std::nullopt;
  std::vector<JobId> all;
  size_t looked = 0;
  for (JobId id : state.agents[agent].pending) {  // those set aside were refused
    if (looked++ == kMaxLooked) break;
    const JobSlot& job = state.jobs[state.jobs.find(id)];
    if (job.target && job.version && !held_by(state, now, job)) all.push_back(id);
  }
  return all;
}

Status with_held(Call& call, const std::vector<Job>& jobs, std::function<Status(Call&, Holdings)> then) {
  std::vector<JobId> waiting;
  for (const Job& job : jobs)
    if (job.status == JobStatus::kPending) waiting.push_back(job.id);
  if (waiting.empty()) return then(call, {});
  return call.ask<Holdings>(
      [waiting = std::move(waiting)](const State& s, Time now) -> Result<Holdings> {
        return held_among(s, now, waiting);
      },
      std::move(then));
}

Result<JobContexts> JobContexts::read(store::Store& store, WorkspaceId workspace,
                                      const std::vector<Job>& jobs, Want want) {
  JobContexts c;
  c.workspace_ = workspace;
  std::set<AgentId> agents;
  std::set<Digest> parts, shared;
  std::set<ReleaseId> releases;
  std::set<DeploymentId> deployments;
  std::set<EnvironmentId> environments;
  std::set<ResourceId> resources;
  for (const Job& j : jobs) {
    agents.insert(j.agent);
    shared.insert(j.shared_part);
    if (want.resources) parts.insert(j.resource_part);
    releases.insert(j.release);
    deployments.insert(j.target.deployment);
    environments.insert(j.target.environment);
    resources.insert(j.target.resource);
  }
  parts.insert(shared.begin(), shared.end());
  c.agents_ = TRY((rows_by_id<JobAgent>(store, workspace, agents)));
  c.parts_ = TRY(read_parts(store, workspace, parts));
  for (const Digest& d : shared)
    if (const std::string* body = c.part(d)) c.configs_[d] = config_in(*body);
  if (!want.entities) return c;
  TRY(c.add_releases(store, releases));
  c.deployments_ = TRY((rows_by_id<Deployment>(store, workspace, deployments)));
  c.environments_ = TRY((rows_by_id<Environment>(store, workspace, environments)));
  c.resources_ = TRY((rows_by_id<Resource>(store, workspace, resources)));
  return c;
}

Status JobContexts::add_releases(store::Store& store, const std::set<ReleaseId>& ids) {
  std::set<VersionId> versions;
  for (auto& [id, release] : TRY((rows_by_id<Release>(store, workspace_, ids)))) {
    versions.insert(release.version);
    releases_.emplace(id, release);
  }
  for (auto& [id, version] : TRY((rows_by_id<Version>(store, workspace_, versions))))
    versions_.emplace(id, version);
  return {};
}

const std::string* JobContexts::part(const Digest& digest) const {
  auto it = parts_.find(digest);
  return it == parts_.end() ? nullptr : &it->second;
}

void JobContexts::write_job(JsonWriter& w, const Job& job, bool with_context, std::string_view status) const {
  auto agent = agents_.find(job.agent);
  bool pulled = agent != agents_.end() && agent_type(agent->second.type).delivery == Delivery::kPull;
  auto config = configs_.find(job.shared_part);
  w.open().member("id", job.id).member("releaseId", job.release).member("jobAgentId", job.agent);
  w.key("jobAgentConfig").raw(config == configs_.end() ? "{}" : config->second);
  w.member("status", status.empty() ? wire(job.status, pulled) : status)
      .member("cause", to_string(job.cause));
  w.member("createdAt", job.created_at).member("updatedAt", job.updated_at);
  w.member("startedAt", job.started_at).member("completedAt", job.ended_at);
  w.member("cancelRequestedAt", job.cancel_requested_at);
  w.key("metadata").raw("{}").member_unless_empty("externalId", job.external_id);
  w.member_unless_empty("message", job.message).member_unless_empty("holder", job.holder);
  w.member("bracketGroupId", job.group);
  if (auto it = held_.find(job.id); it != held_.end() && job.status == JobStatus::kPending)
    w.key("held").open().member("freezeId", it->second.freeze).member("reason", it->second.reason).close();
  const std::string* shared = part(job.shared_part);
  if (with_context && shared) {
    const std::string* resource = part(job.resource_part);
    w.key("dispatchContext").raw(std::string_view(*shared).substr(0, shared->size() - 1));
    w.key("resource").raw(resource ? *resource : "null").key("variables").raw("{}").close();
  }
  w.close();
}

void JobContexts::write_release(JsonWriter& w, ReleaseId id) const {
  auto it = releases_.find(id);
  if (it == releases_.end()) {
    w.raw("null");
    return;
  }
  auto version = versions_.find(it->second.version);
  write(w, it->second, version == versions_.end() ? nullptr : &version->second);
}

void JobContexts::write_with_release(JsonWriter& w, const Job& job) const {
  w.open().key("job");
  write_job(w, job, false);
  write_about(w, job);
  w.close();
}

void JobContexts::write_about(JsonWriter& w, const Job& job) const {
  w.key("release");
  Release release{job.release, job.target, job.version, {}, job.created_at};
  if (has_release(job.release))
    write_release(w, job.release);
  else
    write(w, release, nullptr);
  if (auto it = deployments_.find(job.target.deployment); it != deployments_.end())
    write(w.key("deployment"), workspace_, it->second);
  if (auto it = environments_.find(job.target.environment); it != environments_.end())
    write(w.key("environment"), workspace_, it->second);
  if (auto it = resources_.find(job.target.resource); it != resources_.end())
    write(w.key("resource"), workspace_, it->second);
}

}  // namespace ctrlplane::api
