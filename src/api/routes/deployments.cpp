#include <fmt/core.h>

#include "api/call.h"
#include "api/families.h"
#include "api/views.h"

namespace ctrlplane::api {
namespace {

void write_with_systems(JsonWriter& w, const State& s, const DeploymentSlot& slot) {
  write(w.key("deployment"), s.id(), slot.row);
  w.key("systems").open_array();
  for (SystemIx system : slot.members.systems) write(w, s.id(), s.systems[system].row);
  w.close_array();
}

std::string whole(const State& s, DeploymentIx d) {
  JsonWriter w;
  w.open();
  write_with_systems(w, s, s.deployments[d]);
  w.key("variables").open_array().close_array().close();
  return w.take();
}

Status list(Call& c) {
  return c.read([page = c.page()](const State& s, Time) -> Result<std::string> {
    return page_of(sorted<DeploymentIx>(s.deployments, kByName), page,
                   [&](JsonWriter& w, const DeploymentSlot* slot) {
                     w.open();
                     write_with_systems(w, s, *slot);
                     w.close();
                   });
  });
}

Status get(Call& c) {
  DeploymentId id = TRY(c.id<DeploymentId>("deploymentId"));
  return c.read([id](const State& s, Time) -> Result<std::string> {
    DeploymentIx d = s.deployments.find(id);
    if (!d) return fail(ErrorCode::kNotFound, fmt::format("no deployment {}", id.str()));
    return whole(s, d);
  });
}

Status get_by_name(Call& c) {
  return c.read([name = std::string(c.argument("name"))](const State& s, Time) -> Result<std::string> {
    DeploymentIx d = s.deployment_named(name);
    if (!d) return fail(ErrorCode::kNotFound, fmt::format("no deployment '{}'", name));
    return whole(s, d);
  });
}

Result<UpsertDeployment> from_body(const Body& b) {
  UpsertDeployment u{
      .id = {}, .name = b.text("name"), .slug = b.text("slug"), .description = b.text("description")};
  if (!b.text("resourceSelector").empty()) u.resource_selector = b.text("resourceSelector");
  u.agent_selector = b.text("jobAgentSelector");
  u.agent_config = TRY(b.document("jobAgentConfig"));
  u.metadata = b.metadata("metadata");
  if (auto text = b.maybe_text("jobTimeout")) {
    u.job_timeout = parse_iso8601_duration(*text);
    if (!u.job_timeout) return invalid("jobTimeout", "must be an ISO 8601 duration such as PT30M");
  }
  return u;
}

Status create(Call& c) {
  return c.write(TRY(from_body(c.body())), accepted("Deployment creation requested"));
}

Status put(Call& c) {
  UpsertDeployment u = TRY(from_body(c.body()));
  u.id = TRY(c.id<DeploymentId>("deploymentId"));
  return c.write(std::move(u), accepted("Deployment update requested"));
}

Status remove(Call& c) {
  return c.write(DeleteDeployment{TRY(c.id<DeploymentId>("deploymentId"))},
                 accepted("Deployment delete requested"));
}

}  // namespace

Family deployment_family() {
  using namespace permission;
  constexpr std::string_view kAll = CTRLPLANE_W "/deployments";
  constexpr std::string_view kOne = CTRLPLANE_W "/deployments/{deploymentId}";
  return {"Deployments",
          {
              {.method = "GET",
               .path = kAll,
               .id = "listDeployments",
               .summary = "Deployments by name",
               .permission = kRead,
               .query = paged(),
               .outcomes = {{200, "DeploymentPage"}},
               .handler = list},
              {.method = "POST",
               .path = kAll,
               .id = "createDeployment",
               .summary = "Make a deployment",
               .permission = kDeploymentWrite,
               .body = "UpsertDeploymentRequest",
               .outcomes = {{202, "Accepted"}},
               .handler = create},
              {.method = "GET",
               .path = CTRLPLANE_W "/deployments/name/{name}",
               .id = "getDeploymentByName",
               .summary = "A deployment by its name",
               .permission = kRead,
               .outcomes = {{200, "DeploymentWithVariablesAndSystems"}},
               .handler = get_by_name},
              {.method = "GET",
               .path = kOne,
               .id = "getDeployment",
               .summary = "A deployment",
               .permission = kRead,
               .outcomes = {{200, "DeploymentWithVariablesAndSystems"}},
               .handler = get},
              {.method = "PUT",
               .path = kOne,
               .id = "upsertDeployment",
               .summary = "Make or replace a deployment",
               .permission = kDeploymentWrite,
               .body = "UpsertDeploymentRequest",
               .outcomes = {{202, "Accepted"}},
               .handler = put},
              {.method = "DELETE",
               .path = kOne,
               .id = "deleteDeployment",
               .summary = "Delete a deployment with its versions and release targets",
               .permission = kDeploymentWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = remove},
          }};
}

}  // namespace ctrlplane::api
