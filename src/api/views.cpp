#include "api/views.h"

#include <fmt/core.h>

#include "api/grants.h"
#include "engine/scope_count.h"

namespace ctrlplane::api {

void write(JsonWriter& w, const Workspace& row) {
  w.open().member("id", row.id).member("name", row.name).member("slug", row.slug);
  w.member("createdAt", row.created_at).close();
}

void write(JsonWriter& w, const User& row) {
  w.open().member("id", row.id).member("email", row.email).member("name", row.name);
  w.member("admin", row.admin).member("hasPassword", !row.password_hash.empty());
  w.member("createdAt", row.created_at).close();
}

void write(JsonWriter& w, const ApiKey& row, std::string_view secret_once) {
  w.open().member("id", row.id).member("name", row.name).member("prefix", row.prefix);
  w.member("userId", row.user);
  if (row.role) w.member("role", to_string(*row.role));
  w.member("workspaceId", row.workspace).member("expiresAt", row.expires_at);
  write_grants(w, row.grants);
  w.member("createdAt", row.created_at).member_unless_empty("key", secret_once).close();
}

void write(JsonWriter& w, WorkspaceId workspace, const System& row) {
  w.open().member("id", row.id).member("workspaceId", workspace).member("name", row.name);
  w.member("slug", row.slug).member_unless_empty("description", row.description);
  w.member("metadata", row.metadata).close();
}

void write(JsonWriter& w, WorkspaceId workspace, const Environment& row) {
  w.open().member("id", row.id).member("workspaceId", workspace).member("name", row.name);
  w.member_unless_empty("description", row.description).member("resourceSelector", row.resource_selector);
  w.member("metadata", row.metadata).member("createdAt", row.created_at).close();
}

void write(JsonWriter& w, WorkspaceId workspace, const Deployment& row) {
  w.open().member("id", row.id).member("workspaceId", workspace).member("name", row.name);
  w.member("slug", row.slug).member_unless_empty("description", row.description);
  w.member("resourceSelector", row.resource_selector).member("jobAgentSelector", row.agent_selector);
  w.member("jobAgentConfig", row.agent_config);
  if (row.job_timeout) w.member("jobTimeout", format_iso8601(*row.job_timeout));
  w.member("metadata", row.metadata).member("createdAt", row.created_at).close();
}

void write(JsonWriter& w, WorkspaceId workspace, const Provider& row) {
  w.open().member("id", row.id).member("workspaceId", workspace).member("name", row.name);
  w.member("createdAt", row.created_at).member("metadata", row.metadata).close();
}

void write(JsonWriter& w, WorkspaceId workspace, const Resource& row) {
  w.open().member("id", row.id).member("workspaceId", workspace).member("identifier", row.identifier);
  w.member("name", row.name).member("kind", row.kind).member("version", row.version);
  w.member("config", row.config).member("metadata", row.metadata).member("providerId", row.provider);
  w.member("createdAt", row.created_at).member("updatedAt", row.updated_at).close();
}

void write(JsonWriter& w, WorkspaceId workspace, const JobAgent& row) {
  w.open().member("id", row.id).member("workspaceId", workspace).member("name", row.name);
  w.member("type", row.type).member("config", row.config).member("metadata", row.metadata).close();
}

namespace {

void write_members(JsonWriter& w, const Version& row) {
  w.open().member("id", row.id).member("name", row.name).member("tag", row.tag);
  w.member("config", row.config).member("jobAgentConfig", row.agent_config);
  w.member("deploymentId", row.deployment).member("status", to_string(row.status));
  w.member_unless_empty("message", row.message).member("createdAt", row.created_at);
  w.member("metadata", row.metadata);
  if (row.target_selector)
    w.member("targetSelector", *row.target_selector)
        .member("onSelectorError", to_string(row.on_selector_error));
  if (row.bypass_freeze) w.member("bypassFreeze", true);
  if (row.bypass_freeze_ids.empty()) return;
  w.key("bypassFreezeIds").open_array();
  for (FreezeId id : row.bypass_freeze_ids) w.value(id);
  w.close_array();
}

}  // namespace

void write(JsonWriter& w, const Version& row) {
  write_members(w, row);
  w.close();
}

std::optional<ScopeNumbers> scope_of(const State& state, VersionIx v, std::optional<uint64_t> total) {
  const VersionScope* s = state.versions[v].scope.get();
  if (!s) return std::nullopt;
  ScopeNumbers n{.undetermined = s->undetermined.cardinality(),
                 .total = total ? *total : targets_of(state, state.versions[v].deployment),
                 .counting = s->counting};
  n.matched = s->targets.cardinality();
  if (s->on_error == OnSelectorError::kInclude) n.matched -= n.undetermined;
  return n;
}

void write(JsonWriter& w, const ScopeNumbers& scope) {
  w.open().member("matched", scope.matched).member("undetermined", scope.undetermined);
  w.member("total", scope.total);
  if (scope.counting) w.member("counting", true);
  w.close();
}

std::string scope_warning(const ScopeNumbers& scope, OnSelectorError on_error) {
  if (scope.undetermined == 0) return {};
  return fmt::format("targetSelector cannot be evaluated on {} of {} targets: the version is {}",
                     scope.undetermined, scope.total,
                     on_error == OnSelectorError::kInclude
                         ? "for them all the same (onSelectorError: include)"
                         : "not for them (onSelectorError: exclude)");
}

std::vector<std::string> scope_warnings(const State& state, TargetIx target) {
  std::vector<std::string> all;
  const TargetSlot& slot = state.at(target);
  if (state.deployments[slot.deployment].scoped.empty()) return all;
  for (VersionIx v : state.deployments[slot.deployment].versions) {
    const VersionScope* s = state.versions[v].scope.get();
    if (s && s->undetermined.contains(target.n))
      all.push_back(fmt::format("the targetSelector of {} cannot be evaluated here: the version is {}",
                                state.versions[v].row.tag,
                                s->on_error == OnSelectorError::kInclude ? "included" : "left out"));
    if (v == slot.current_version) break;
  }
  return all;
}

void write_warnings(JsonWriter& w, const std::vector<std::string>& warnings) {
  if (warnings.empty()) return;
  w.key("warnings").open_array();
  for (const std::string& warning : warnings) w.value(warning);
  w.close_array();
}

void write(JsonWriter& w, const Version& row, const std::vector<VersionDependency>& dependencies,
           const std::optional<ScopeNumbers>& scope) {
  write_members(w, row);
  if (scope) {
    write(w.key("scope"), *scope);
    if (std::string warning = scope_warning(*scope, row.on_selector_error); !warning.empty())
      write_warnings(w, {warning});
  }
  w.key("dependencies").open();
  for (const VersionDependency& d : dependencies)
    w.key(d.on.str()).open().member("versionSelector", d.selector).close();
  w.close().close();
}

void write(JsonWriter& w, const AuditEntry& row) {
  w.open().member("id", row.id).member("at", row.at).member("actor", row.actor);
  w.member("action", row.action).member("subject", row.subject);
  w.key("details").raw(row.details).close();
}

void write(JsonWriter& w, const TargetKey& key) {
  w.open().member("resourceId", key.resource).member("environmentId", key.environment);
  w.member("deploymentId", key.deployment).member("key", key.str()).close();
}

void write(JsonWriter& w, const Release& row, const Version* version) {
  w.open().member("id", row.id).member("createdAt", row.created_at).key("releaseTarget");
  write(w, row.target);
  w.key("variables").open().close().key("encryptedVariables").open_array().close_array();
  if (version) write(w.key("version"), *version);
  w.close();
}

std::string with_member(std::string object, std::string_view name, std::string_view value) {
  object.back() = ',';
  append_json_string(object, name);
  object += ':';
  object += value;
  object += '}';
  return object;
}

}  // namespace ctrlplane::api
