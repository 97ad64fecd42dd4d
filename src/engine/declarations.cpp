// Environments, deployments and job agents.
#include <algorithm>

#include <fmt/core.h>

#include "engine/entities.h"
#include "engine/validate.h"

namespace ctrlplane {
namespace {

constexpr Duration kMaxTimeout = hours(24 * 366);

Status name_is_free(std::string_view name, bool taken_by_other, std::string_view kind) {
  if (taken_by_other) return fail(ErrorCode::kConflict, fmt::format("{} '{}' exists already", kind, name));
  return {};
}

bool has_active_jobs(const State& state, AgentId agent) {
  bool found = false;
  state.jobs.each(
      [&](JobIx, const JobSlot& j) { found |= j.row.agent == agent && !is_terminal(j.row.status); });
  return found;
}

// Approvals, skips and dependencies of a version that goes.
void erase_what_was_said(Tx& tx, VersionIx v) {
  const VersionSlot& said = tx.state.versions[v];
  for (const Approval& a : std::vector(said.approvals)) tx.erase(a);
  for (const PolicySkip& s : std::vector(said.skips)) tx.erase(s);
  for (const VersionDependency& d : std::vector(said.dependencies)) tx.erase(d);
}

}  // namespace

Reply upsert_environment(Tx& tx, const UpsertEnvironment& c) {
  TRY(required_text("name", c.name));
  TRY(optional_text("description", c.description));
  TRY(valid_selector("resourceSelector", c.resource_selector, Selector::Subject::kResource));
  TRY(valid_metadata("metadata", c.metadata));
  EnvironmentIx e = c.id ? tx.state.environments.find(*c.id) : EnvironmentIx{};
  EnvironmentIx named = tx.state.environment_named(c.name);
  TRY(name_is_free(c.name, named && named != e, "environment"));
  Environment row{
      .id = c.id ? *c.id : tx.ids.make<EnvironmentId>(), .name = c.name, .description = c.description};
  row.resource_selector = c.resource_selector;
  row.metadata = c.metadata;
  row.created_at = e ? tx.state.environments[e].row.created_at : tx.now;
  if (!e || tx.state.environments[e].row != row) tx.put(row);
  return Answer{.id = row.id.uuid, .created = !e};
}

Reply delete_environment(Tx& tx, const DeleteEnvironment& c) {
  EnvironmentIx e = tx.state.environments.find(c.id);
  if (!e) return fail(ErrorCode::kNotFound, fmt::format("no environment {}", c.id.str()));

  for (SystemIx s : std::vector(tx.state.environments[e].members.systems))
    tx.erase(SystemEnvironment{tx.state.systems[s].row.id, c.id});
  tx.erase(Environment{.id = c.id});
  return Answer{.id = c.id.uuid};
}

Reply upsert_deployment(Tx& tx, const UpsertDeployment& c) {
  TRY(required_text("name", c.name));
  TRY(optional_text("slug", c.slug, kMaxName));
  TRY(optional_text("description", c.description));
  TRY(valid_selector("resourceSelector", c.resource_selector, Selector::Subject::kResource));
  TRY(valid_selector("jobAgentSelector", c.agent_selector, Selector::Subject::kAgent));
  TRY(valid_document("jobAgentConfig", c.agent_config));
  TRY(valid_metadata("metadata", c.metadata));
  if (c.job_timeout && c.job_timeout->us <= 0) return invalid("jobTimeout", "must be positive");
  if (c.job_timeout && *c.job_timeout > kMaxTimeout) return invalid("jobTimeout", "is longer than a year");
  DeploymentIx d = c.id ? tx.state.deployments.find(*c.id) : DeploymentIx{};
  DeploymentIx named = tx.state.deployment_named(c.name);
  TRY(name_is_free(c.name, named && named != d, "deployment"));
  Deployment row{.id = c.id ? *c.id : tx.ids.make<DeploymentId>(), .name = c.name};
  row.slug = c.slug.empty() ? c.name : c.slug;
  row.description = c.description;
  row.resource_selector = c.resource_selector;
  row.agent_selector = c.agent_selector;
  row.agent_config = c.agent_config;
  row.job_timeout = c.job_timeout;
  row.metadata = c.metadata;
  row.created_at = d ? tx.state.deployments[d].row.created_at : tx.now;
  if (!d || tx.state.deployments[d].row != row) tx.put(row);
  return Answer{.id = row.id.uuid, .created = !d};
}

Reply delete_deployment(Tx& tx, const DeleteDeployment& c) {
  DeploymentIx d = tx.state.deployments.find(c.id);
  if (!d) return fail(ErrorCode::kNotFound, fmt::format("no deployment {}", c.id.str()));
  for (SystemIx s : std::vector(tx.state.deployments[d].members.systems))
    tx.erase(SystemDeployment{tx.state.systems[s].row.id, c.id});
  for (VersionIx v : std::vector(tx.state.deployments[d].versions)) {
    erase_what_was_said(tx, v);
    tx.erase(Version{.id = tx.state.versions[v].row.id});
  }
  tx.erase(Deployment{.id = c.id});
  return Answer{.id = c.id.uuid};
}

Reply upsert_agent(Tx& tx, const UpsertAgent& c) {
  TRY(required_text("name", c.name));
  TRY(required_text("type", c.type));
  TRY(valid_document("config", c.config));
  TRY(valid_metadata("metadata", c.metadata));
  AgentIx a = c.id ? tx.state.agents.find(*c.id) : AgentIx{};
  AgentIx named = tx.state.agent_named(c.name);
  TRY(name_is_free(c.name, named && named != a, "job agent"));
  if (a && tx.state.agents[a].row.type != c.type && has_active_jobs(tx.state, *c.id))
    return fail(ErrorCode::kConflict, "the job agent has active jobs: its type cannot change now");
  JobAgent row{.id = c.id ? *c.id : tx.ids.make<AgentId>(), .name = c.name, .type = c.type};
  row.config = c.config;
  row.metadata = c.metadata;
  row.created_at = a ? tx.state.agents[a].row.created_at : tx.now;
  if (!a || tx.state.agents[a].row != row) tx.put(row);
  return Answer{.id = row.id.uuid, .created = !a};
}

Reply delete_agent(Tx& tx, const DeleteAgent& c) {
  AgentIx a = tx.state.agents.find(c.id);
  if (!a) return fail(ErrorCode::kNotFound, fmt::format("no job agent {}", c.id.str()));
  if (has_active_jobs(tx.state, c.id))
    return fail(ErrorCode::kConflict, "the job agent has active jobs: cancel them first");
  tx.erase(JobAgent{.id = c.id});
  return Answer{.id = c.id.uuid};
}

}  // namespace ctrlplane
