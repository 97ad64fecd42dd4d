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

// A deployment and an environment are put into a system in the same way, but for these names.
template <class Link>
struct Side;
template <>
struct Side<LinkDeployment> {
  static constexpr std::string_view kParameter = "deploymentId", kWord = "Deployment";
  static constexpr auto kId = &LinkDeployment::deployment;
  static constexpr auto kTable = &State::deployments;
  static constexpr auto kLinked = &SystemSlot::deployments;
};
template <>
struct Side<LinkEnvironment> {
  static constexpr std::string_view kParameter = "environmentId", kWord = "Environment";
  static constexpr auto kId = &LinkEnvironment::environment;
  static constexpr auto kTable = &State::environments;
  static constexpr auto kLinked = &SystemSlot::environments;
};

template <class Link>
Result<Link> link_in(const Call& c, bool linked) {
  using Other = std::remove_cvref_t<decltype(std::declval<Link>().*Side<Link>::kId)>;
  return Link{TRY(c.id<SystemId>("systemId")), TRY(c.id<Other>(Side<Link>::kParameter)), linked};
}

template <class Link>
Status must_exist(const State& s, const Link& link) {
  SystemIx system = s.systems.find(link.system);
  auto other = (s.*Side<Link>::kTable).find(link.*Side<Link>::kId);
  if (system && other && std::ranges::count(s.systems[system].*Side<Link>::kLinked, other) > 0) return {};
  return fail(ErrorCode::kNotFound, "they are not linked");
}

template <class Link>
Status write_link(Call& c, const Link& link) {
  std::string message = fmt::format("{} {} requested", Side<Link>::kWord, link.linked ? "link" : "unlink");
  return c.write(link, [id = link.system, message](const State&, Time, const Answer&) {
    JsonWriter w;
    w.open().member("id", id).member("message", message).close();
    return w.take();
  });
}

template <class Link>
Status get_link(Call& c) {
  Link link = TRY(link_in<Link>(c, true));
  return c.read([link](const State& s, Time) -> Result<std::string> {
    TRY(must_exist(s, link));
    JsonWriter w;
    w.open().member("systemId", link.system).member(Side<Link>::kParameter, link.*Side<Link>::kId).close();
    return w.take();
  });
}

template <class Link>
Status put_link(Call& c) {
  return write_link(c, TRY(link_in<Link>(c, true)));
}

// A link that is not there cannot be taken away: the caller is told.
template <class Link>
Status delete_link(Call& c) {
  Link link = TRY(link_in<Link>(c, false));
  Query is_there{[link](const State& s, Time) -> Result<std::string> {
    TRY(must_exist(s, link));
    return std::string();
  }};
  return c.submit(c.workspace(), std::move(is_there), {}, [link](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    if (auto status = write_link(call, link); !status) call.refuse(status.error());
  });
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
               .handler = get_link<LinkDeployment>},
              {.method = "PUT",
               .path = kDeployment,
               .id = "linkDeployment",
               .summary = "Put a deployment into the system",
               .permission = kSystemWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = put_link<LinkDeployment>},
              {.method = "DELETE",
               .path = kDeployment,
               .id = "unlinkDeployment",
               .summary = "Take a deployment out of the system",
               .permission = kSystemWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = delete_link<LinkDeployment>},
              {.method = "GET",
               .path = kEnvironment,
               .id = "getEnvironmentLink",
               .summary = "Are they linked?",
               .permission = kRead,
               .outcomes = {{200, "SystemEnvironmentLink"}},
               .handler = get_link<LinkEnvironment>},
              {.method = "PUT",
               .path = kEnvironment,
               .id = "linkEnvironment",
               .summary = "Put an environment into the system",
               .permission = kSystemWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = put_link<LinkEnvironment>},
              {.method = "DELETE",
               .path = kEnvironment,
               .id = "unlinkEnvironment",
               .summary = "Take an environment out of the system",
               .permission = kSystemWrite,
               .outcomes = {{202, "Accepted"}},
               .handler = delete_link<LinkEnvironment>},
          }};
}

}  // namespace ctrlplane::api
