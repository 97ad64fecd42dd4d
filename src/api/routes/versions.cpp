#include <limits>
#include <map>

#include <fmt/core.h>

#include "api/api.h"
#include "api/cold.h"
#include "api/families.h"
#include "api/views.h"

namespace ctrlplane::api {
namespace {

Status deployment_exists(const State& s, DeploymentId id) {
  if (s.deployments.find(id)) return {};
  return fail(ErrorCode::kNotFound, fmt::format("no deployment {}", id.str()));
}

// What these versions depend on.
Result<std::map<VersionId, std::vector<VersionDependency>>> dependencies_of(
    Call& call, const std::vector<Version>& versions) {
  std::map<VersionId, std::vector<VersionDependency>> found;
  if (versions.empty()) return found;
  std::vector<store::CellView> ids;
  for (const Version& v : versions) ids.push_back(store::CellView(v.id.uuid));
  store::ColdQuery query;
  query.among = {{"version_id", std::move(ids)}};
  query.limit = std::numeric_limits<int64_t>::max();  // a version has few
  for (VersionDependency& d : TRY(rows<VersionDependency>(call.store(), call.workspace(), query)))
    found[d.version].push_back(std::move(d));
  return found;
}

// One that is in memory.
std::string text_of_hot(const State& s, VersionId id) {
  const VersionIx v = s.versions.find(id);
  return text_of(s.versions[v].row, s.dependencies_of(v));
}

// All of them, also those that are only in the store.
Status list(Call& c) {
  DeploymentId id = TRY(c.id<DeploymentId>("deploymentId"));
  bool ascending = c.query("order") == "asc";
  return c.ask<bool>(
      [id](const State& s, Time) -> Result<bool> {
        TRY(deployment_exists(s, id));
        return true;
      },
      [id, ascending](Call& call, bool) -> Status {
        store::ColdQuery query;
        query.equals = {{"deployment_id", store::CellView(id.uuid)}};
        query.order_by = "created_at";
        query.descending = !ascending;
        auto found = TRY(cold_page<Version>(call.store(), call.workspace(), query, call.page()));
        auto needs = TRY(dependencies_of(call, found.items));
        return call.reply(cold_page_text(found.items, found.total, call.page(),
                                         [&](JsonWriter& w, const Version& v) { write(w, v, needs[v.id]); }));
      });
}

Status create(Call& c) {
  const Body& b = c.body();
  CreateVersion v{.deployment = TRY(c.id<DeploymentId>("deploymentId"))};
  v.tag = b.text("tag");
  v.name = b.text("name");
  v.message = b.text("message");
  if (auto status = b.maybe_text("status")) v.status = *parse_enum<VersionStatus>(*status);
  v.config = TRY(b.document("config"));
  v.agent_config = TRY(b.document("jobAgentConfig"));
  v.metadata = b.metadata("metadata");
  if (auto dependencies = b.object("dependencies"))
    for (const std::string& id : dependencies->names()) {
      auto deployment = DeploymentId::parse(id);
      if (!deployment) return invalid("dependencies", fmt::format("'{}' is no deployment id", id));
      v.dependencies.emplace_back(*deployment, dependencies->object(id)->text("versionSelector"));
    }
  v.bypass_freeze = b.flag("bypassFreeze");
  for (const std::string& id : b.texts("bypassFreezeIds"))
    v.bypass_freeze_ids.push_back(*FreezeId::parse(id));
  if (v.bypass_freeze || !v.bypass_freeze_ids.empty())
    TRY(c.api().directory().allows(c.who(), permission::kFreezeBypass, c.workspace()));
  // createdAt is checked and not used: the order of versions is the order in which they came.
  return c.write(std::move(v), [](const State& s, Time, const Answer& answer) {
    return text_of_hot(s, VersionId{answer.id});
  });
}

Status get(Call& c) {
  VersionId id = TRY(c.id<VersionId>("versionId"));
  return c.later([id](Call& call) -> Status {
    auto version = TRY(row<Version>(call.store(), call.workspace(), id.uuid));
    if (!version) return fail(ErrorCode::kNotFound, fmt::format("no version {}", id.str()));
    auto needs = TRY(dependencies_of(call, {*version}));
    return call.reply(text_of(*version, needs[id]));
  });
}

Status update(Call& c) {
  VersionId id = TRY(c.id<VersionId>("versionId"));
  for (const std::string& name : c.body().names())
    if (name != "status" && name != "message" && name != "id")
      return invalid(name, "a version is immutable: only its status and message can change");
  if (!c.body().has("status") && !c.body().has("message")) return invalid("status", "is required");
  return c.later([id](Call& call) -> Status {
    auto known = TRY(row<Version>(call.store(), call.workspace(), id.uuid));
    if (!known) return fail(ErrorCode::kNotFound, fmt::format("no version {}", id.str()));
    auto status = call.body().maybe_text("status");
    SetVersionStatus command{id, status ? *parse_enum<VersionStatus>(*status) : known->status,
                             call.body().maybe_text("message").value_or(known->message), known};
    auto needs = std::move(TRY(dependencies_of(call, {*known}))[id]);
    known->status = command.status;
    known->message = command.message;
    return call.write(std::move(command), [known = *known, needs](const State& s, Time, const Answer&) {
      return s.versions.find(known.id) ? text_of_hot(s, known.id) : text_of(known, needs);
    });
  });
}

}  // namespace

Family version_family() {
  using namespace permission;
  constexpr std::string_view kAll = CTRLPLANE_W "/deployments/{deploymentId}/versions";
  constexpr std::string_view kOne = CTRLPLANE_W "/deployment-versions/{versionId}";
  return {"Versions",
          {
              {.method = "GET",
               .path = kAll,
               .id = "listDeploymentVersions",
               .summary = "Versions of a deployment, newest first",
               .permission = kRead,
               .query = paged({{"order", "\"asc\" | \"desc\"", "by time of creation"}}),
               .outcomes = {{200, "DeploymentVersionPage"}},
               .handler = list},
              {.method = "POST",
               .path = kAll,
               .id = "createDeploymentVersion",
               .summary = "Register a version",
               .permission = kVersionWrite,
               .body = "CreateDeploymentVersionRequest",
               .outcomes = {{200, "DeploymentVersion"}},
               .handler = create},
              {.method = "GET",
               .path = kOne,
               .id = "getDeploymentVersion",
               .summary = "A version",
               .permission = kRead,
               .outcomes = {{200, "DeploymentVersion"}},
               .handler = get},
              {.method = "PATCH",
               .path = kOne,
               .id = "updateDeploymentVersion",
               .summary = "Change a version's status",
               .permission = kVersionWrite,
               .body = "UpdateDeploymentVersionRequest",
               .outcomes = {{202, "DeploymentVersion"}},
               .handler = update},
              {.method = "PATCH",
               .path = CTRLPLANE_W "/deploymentversions/{versionId}",
               .id = "updateDeploymentVersionOldPath",
               .summary = "The same under its older path",
               .permission = kVersionWrite,
               .body = "UpdateDeploymentVersionRequest",
               .outcomes = {{202, "DeploymentVersion"}},
               .handler = update},
          }};
}

}  // namespace ctrlplane::api
