// Systems and their links.
#include <algorithm>

#include <fmt/core.h>

#include "api/call.h"
#include "api/families.h"
#include "api/views.h"

namespace ctrlplane::api {
namespace {

Result<SystemIx> find(const State& s, SystemId id) {
  if (SystemIx ix = s.systems.find(id)) return ix;
  return fail(ErrorCode::kNotFound, fmt::format("no system {}", id.str()));
}

Status list(Call& c) {
  return c.read([page = c.page()](const State& s, Time) -> Result<std::string> {
    return page_of(sorted<SystemIx>(s.systems, kByName), page,
                   [&](JsonWriter& w, const SystemSlot* slot) { write(w, s.id(), slot->row); });
  });
}

Status get(Call& c) {
  SystemId id = TRY(c.id<SystemId>("systemId"));
  return c.read([id](const State& s, Time) -> Result<std::string> {
    const SystemSlot& slot = s.systems[TRY(find(s, id))];
    JsonWriter w;
    std::string system = text_of(s.id(), slot.row);
    system.pop_back();  // two more members
    w.raw(system).key("environments").open_array();
    for (EnvironmentIx e : slot.environments) write(w, s.id(), s.environments[e].row);
    w.close_array().key("deployments").open_array();
    for (DeploymentIx d : slot.deployments) write(w, s.id(), s.deployments[d].row);
    w.close_array().close();
    return w.take();
  });
}

Result<UpsertSystem> from_body(const Body& b) {
  return UpsertSystem{.id = {},
                      .name = b.text("name"),
                      .slug = b.text("slug"),
                      .description = b.text("description"),
                      .metadata = b.metadata("metadata")};
}

Status create(Call& c) { return c.write(TRY(from_body(c.body())), accepted("System creation requested")); }

Status put(Call& c) {
  UpsertSystem u = TRY(from_body(c.body()));
  u.id = TRY(c.id<SystemId>("systemId"));
  return c.write(std::move(u), accepted("System update requested"));
}

Status remove(Call& c) {
  return c.write(DeleteSystem{TRY(c.id<SystemId>("systemId"))}, accepted("System delete requested"));
}

// ---- Links ---------------------------------------------------------------------------------------------

template <class Link>
RenderFn linked(const Link& link, std::string_view what) {
  return [id = link.system, message = fmt::format("{} requested", what)](const State&, Time, const Answer&) {
    JsonWriter w;
    w.open().member("id", id).member("message", message).close();
    return w.take();
  };
}

struct LinkedPair {
  static Result<LinkDeployment> deployment(Call& c, bool on) {
    return LinkDeployment{TRY(c.id<SystemId>("systemId")), TRY(c.id<DeploymentId>("deploymentId")), on};
  }
  static Result<LinkEnvironment> environment(Call& c, bool on) {
    return LinkEnvironment{TRY(c.id<SystemId>("systemId")), TRY(c.id<EnvironmentId>("environmentId")), on};
  }
};

bool has_link(const State& s, const LinkDeployment& l) {
  SystemIx system = s.systems.find(l.system);
  DeploymentIx d = s.deployments.find(l.deployment);
  return system && d && std::ranges::count(s.systems[system].deployments, d) > 0;
}
bool has_link(const State& s, const LinkEnvironment& l) {
  SystemIx system = s.systems.find(l.system);
  EnvironmentIx e = s.environments.find(l.environment);
  return system && e && std::ranges::count(s.systems[system].environments, e) > 0;
}

template <class Link, class Other>
Status show_link(Call& c, Link link, std::string_view name, Other other) {
  return c.read([=](const State& s, Time) -> Result<std::string> {
    if (!has_link(s, link)) return fail(ErrorCode::kNotFound, "they are not linked");
    JsonWriter w;
    w.open().member("systemId", link.system).member(name, other).close();
    return w.take();
  });
}

// A link that is not there cannot be taken away: the caller is told.
template <class Link>
Status unlink(Call& c, Link link, std::string_view what) {
  Query is_there{[link](const State& s, Time) -> Result<std::string> {
    if (!has_link(s, link)) return fail(ErrorCode::kNotFound, "they are not linked");
    return std::string();
  }};
  return c.submit(c.workspace(), std::move(is_there), {}, [link, what](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    if (auto status = call.write(link, linked(link, what)); !status) call.refuse(status.error());
  });
}

Status get_deployment_link(Call& c) {
  auto link = TRY(LinkedPair::deployment(c, true));
  return show_link(c, link, "deploymentId", link.deployment);
}
Status put_deployment_link(Call& c) {
  auto link = TRY(LinkedPair::deployment(c, true));
  return c.write(link, linked(link, "Deployment link"));
}
Status delete_deployment_link(Call& c) {
  return unlink(c, TRY(LinkedPair::deployment(c, false)), "Deployment unlink");
}
Status get_environment_link(Call& c) {
  auto link = TRY(LinkedPair::environment(c, true));
  return show_link(c, link, "environmentId", link.environment);
}
Status put_environment_link(Call& c) {
  auto link = TRY(LinkedPair::environment(c, true));
  return c.write(link, linked(link, "Environment link"));
}
Status delete_environment_link(Call& c) {
  return unlink(c, TRY(LinkedPair::environment(c, false)), "Environment unlink");
}

}  // namespace

Family system_family() {
  using namespace permission;
  constexpr std::string_view kAll = CTRLPLANE_W "/systems";
  constexpr std::string_view kOne = CTRLPLANE_W "/systems/{systemId}";
  constexpr std::string_view kDeployment = CTRLPLANE_W "/systems/{systemId}/deployments/{deploymentId}";
  constexpr std::string_view kEnvironment = CTRLPLANE_W "/systems/{systemId}/environments/{environmentId}";
  return {"Systems",
          {
              {.method = "GET",
               .path = kAll,
               .id = "listSystems",
               .summary = "Systems by name",
               .permission = kRead,
               .query = paged(),
               .outcomes = {{200, "SystemPage"}},
               .handler = list},
              {.method = "POST",
               .path = kAll,
               .id = "createSystem",
               .summary = "Make a system",
               .permission = kSystemWrite,
               .body = "UpsertSystemRequest",
               .outcomes = {{202, "Accepted"}},
               .handler = create},
              {.method = "GET",
               .path = kOne,
               .id = "getSystem",
               .summary = "A system with what it links",
               .permission = kRead,
               .outcomes = {{200, "SystemWithLinkedEntities"}},
               .handler = get},
              {.method = "PUT",
               .path = kOne,
               .id = "upsertSystem",
               .summary = "Make or replace a system",
               .permission = kSystemWrite,
               .body = "UpsertSystemRequest",
               .outcomes = {{202, "Accepted"}},
               .handler = put},
              {.method = "DELETE",
               .path = kOne,
               .id = "deleteSystem",
               .summary = "Delete a system; what it linked stays",
               .permission = kSystemWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = remove},
              {.method = "GET",
               .path = kDeployment,
               .id = "getDeploymentLink",
               .summary = "Are they linked?",
               .permission = kRead,
               .outcomes = {{200, "SystemDeploymentLink"}},
               .handler = get_deployment_link},
              {.method = "PUT",
               .path = kDeployment,
               .id = "linkDeployment",
               .summary = "Put a deployment into the system",
               .permission = kSystemWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = put_deployment_link},
              {.method = "DELETE",
               .path = kDeployment,
               .id = "unlinkDeployment",
               .summary = "Take a deployment out of the system",
               .permission = kSystemWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = delete_deployment_link},
              {.method = "GET",
               .path = kEnvironment,
               .id = "getEnvironmentLink",
               .summary = "Are they linked?",
               .permission = kRead,
               .outcomes = {{200, "SystemEnvironmentLink"}},
               .handler = get_environment_link},
              {.method = "PUT",
               .path = kEnvironment,
               .id = "linkEnvironment",
               .summary = "Put an environment into the system",
               .permission = kSystemWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = put_environment_link},
              {.method = "DELETE",
               .path = kEnvironment,
               .id = "unlinkEnvironment",
               .summary = "Take an environment out of the system",
               .permission = kSystemWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = delete_environment_link},
          }};
}

}  // namespace ctrlplane::api
