#include <fmt/core.h>

#include "api/call.h"
#include "api/families.h"
#include "api/views.h"

namespace ctrlplane::api {
namespace {

std::string with_systems(const State& s, EnvironmentIx e) {
  JsonWriter w;
  std::string environment = text_of(s.id(), s.environments[e].row);
  environment.pop_back();
  w.raw(environment).key("systems").open_array();
  for (SystemIx system : s.environments[e].members.systems) write(w, s.id(), s.systems[system].row);
  w.close_array().close();
  return w.take();
}

Status list(Call& c) {
  return c.read([page = c.page()](const State& s, Time) -> Result<std::string> {
    return page_of(sorted<EnvironmentIx>(s.environments, kByName), page,
                   [&](JsonWriter& w, const EnvironmentSlot* slot) { write(w, s.id(), slot->row); });
  });
}

Status get(Call& c) {
  EnvironmentId id = TRY(c.id<EnvironmentId>("environmentId"));
  return c.read([id](const State& s, Time) -> Result<std::string> {
    EnvironmentIx e = s.environments.find(id);
    if (!e) return fail(ErrorCode::kNotFound, fmt::format("no environment {}", id.str()));
    return with_systems(s, e);
  });
}

Status get_by_name(Call& c) {
  return c.read([name = std::string(c.argument("name"))](const State& s, Time) -> Result<std::string> {
    EnvironmentIx e = s.environment_named(name);
    if (!e) return fail(ErrorCode::kNotFound, fmt::format("no environment '{}'", name));
    return with_systems(s, e);
  });
}

UpsertEnvironment from_body(const Body& b) {
  UpsertEnvironment u{.id = {}, .name = b.text("name"), .description = b.text("description")};
  if (!b.text("resourceSelector").empty()) u.resource_selector = b.text("resourceSelector");
  u.metadata = b.metadata("metadata");
  return u;
}

Status create(Call& c) { return c.write(from_body(c.body()), accepted("Environment creation requested")); }

Status put(Call& c) {
  UpsertEnvironment u = from_body(c.body());
  u.id = TRY(c.id<EnvironmentId>("environmentId"));
  return c.write(std::move(u), accepted("Environment update requested"));
}

Status remove(Call& c) {
  return c.write(DeleteEnvironment{TRY(c.id<EnvironmentId>("environmentId"))},
                 accepted("Environment delete requested"));
}

}  // namespace

Family environment_family() {
  using namespace permission;
  constexpr std::string_view kAll = CTRLPLANE_W "/environments";
  constexpr std::string_view kOne = CTRLPLANE_W "/environments/{environmentId}";
  return {"Environments",
          {
              {.method = "GET",
               .path = kAll,
               .id = "listEnvironments",
               .summary = "Environments by name",
               .permission = kRead,
               .query = paged(),
               .outcomes = {{200, "EnvironmentPage"}},
               .handler = list},
              {.method = "POST",
               .path = kAll,
               .id = "createEnvironment",
               .summary = "Make an environment",
               .permission = kEnvironmentWrite,
               .body = "UpsertEnvironmentRequest",
               .outcomes = {{202, "Accepted"}},
               .handler = create},
              {.method = "GET",
               .path = CTRLPLANE_W "/environments/name/{name}",
               .id = "getEnvironmentByName",
               .summary = "An environment by its name",
               .permission = kRead,
               .outcomes = {{200, "EnvironmentWithSystems"}},
               .handler = get_by_name},
              {.method = "GET",
               .path = kOne,
               .id = "getEnvironment",
               .summary = "An environment",
               .permission = kRead,
               .outcomes = {{200, "EnvironmentWithSystems"}},
               .handler = get},
              {.method = "PUT",
               .path = kOne,
               .id = "upsertEnvironment",
               .summary = "Make or replace an environment",
               .permission = kEnvironmentWrite,
               .body = "UpsertEnvironmentRequest",
               .outcomes = {{202, "Accepted"}},
               .handler = put},
              {.method = "DELETE",
               .path = kOne,
               .id = "deleteEnvironment",
               .summary = "Delete an environment; its release targets go",
               .permission = kEnvironmentWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = remove},
          }};
}

}  // namespace ctrlplane::api
