#include <fmt/core.h>

#include "api/families.h"
#include "api/resource_search.h"
#include "api/views.h"

namespace ctrlplane::api {
namespace {

Result<ResourceIx> find(const State& s, const std::string& identifier) {
  if (ResourceIx r = s.resource_identified(identifier)) return r;
  return fail(ErrorCode::kNotFound, fmt::format("no resource '{}'", identifier));
}

std::string identifier_of(const Call& c) { return std::string(c.argument("identifier")); }

Status list(Call& c) {
  ResourceFilter filter;
  if (auto cel = c.query("cel")) filter.selector = TRY(compile_query(*cel));
  return search_resources(c, std::move(filter), c.page());
}

Status search(Call& c) {
  const Body& b = c.body();
  ResourceFilter f;
  f.identifiers = b.texts("identifiers");
  f.kinds = b.texts("kinds");
  f.versions = b.texts("versions");
  for (const std::string& id : b.texts("providerIds")) {
    if (auto parsed = ProviderId::parse(id))
      f.providers.push_back(*parsed);
    else
      f.no_provider_fits = true;
  }
  f.metadata = b.metadata("metadata");
  f.text = b.text("query");
  if (auto cel = b.maybe_text("cel")) f.selector = TRY(compile_query(*cel));
  std::string by = b.text("sortBy");
  using Order = ResourceFilter::Order;
  f.order = by == "name"        ? Order::kName
            : by == "kind"      ? Order::kKind
            : by == "updatedAt" ? Order::kUpdatedAt
                                : Order::kCreatedAt;
  f.descending = b.text("order") == "desc";
  Page page{.limit = static_cast<size_t>(b.integer("limit").value_or(500)),
            .offset = static_cast<size_t>(b.integer("offset").value_or(0))};
  return search_resources(c, std::move(f), page);
}

Status get(Call& c) {
  return c.read([identifier = identifier_of(c)](const State& s, Time) -> Result<std::string> {
    return text_of(s.id(), s.resources[TRY(find(s, identifier))].row);
  });
}

Status no_variables(const Body& body, std::string_view path) {
  if (body.names().empty()) return {};
  return invalid(std::string(path),
                 "resource variables are not resolved into releases yet, so they are not accepted");
}

Status put(Call& c) {
  const Body& b = c.body();
  if (auto variables = b.object("variables")) TRY(no_variables(*variables, "variables"));
  UpsertResource u;
  u.resource = {.identifier = identifier_of(c),
                .name = b.text("name"),
                .kind = b.text("kind"),
                .version = b.text("version"),
                .config = TRY(b.document("config")),
                .metadata = b.metadata("metadata")};
  u.provider = b.id<ProviderId>("providerId");
  return c.write(std::move(u), accepted("Resource upsert requested"));
}

Status remove(Call& c) { return c.write(DeleteResource{identifier_of(c)}, accepted("Resource deleted")); }

Status list_variables(Call& c) {
  return c.read(
      [identifier = identifier_of(c), page = c.page()](const State& s, Time) -> Result<std::string> {
        TRY(find(s, identifier));
        return page_of(std::vector<int>(), page, [](JsonWriter&, int) {});
      });
}

// Clients clear the variables of every resource they apply; there is nothing to clear.
Status set_variables(Call& c) {
  TRY(no_variables(c.body(), "body"));
  return c.read([identifier = identifier_of(c)](const State& s, Time) -> Result<std::string> {
    JsonWriter w;
    w.open().member("id", s.resources[TRY(find(s, identifier))].row.id);
    w.member("message", "Resource variables update requested").close();
    return w.take();
  });
}

Status deployments(Call& c) {
  return c.read(
      [identifier = identifier_of(c), page = c.page()](const State& s, Time) -> Result<std::string> {
        ResourceIx r = TRY(find(s, identifier));
        std::vector<const Deployment*> found;
        s.deployments.each([&](DeploymentIx, const DeploymentSlot& d) {
          if (d.members.resources.contains(r.n)) found.push_back(&d.row);
        });
        std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->name < b->name; });
        return page_of(found, page, [&](JsonWriter& w, const Deployment* d) { write(w, s.id(), *d); });
      });
}

Status target_of_deployment(Call& c) {
  DeploymentId deployment = TRY(c.id<DeploymentId>("deploymentId"));
  return c.read([identifier = identifier_of(c), deployment](const State& s, Time) -> Result<std::string> {
    ResourceIx r = TRY(find(s, identifier));
    for (TargetIx t : s.resources[r].targets)
      if (s.at(t).exists && s.deployments[s.at(t).deployment].row.id == deployment)
        return text_of(s.key_of(t));
    return fail(ErrorCode::kNotFound, "the resource is no release target of this deployment");
  });
}

}  // namespace

Family resource_family() {
  using namespace permission;
  constexpr std::string_view kOne = CTRLPLANE_W "/resources/identifier/{identifier}";
  constexpr std::string_view kVariables = CTRLPLANE_W "/resources/identifier/{identifier}/variables";
  return {
      "Resources",
      {
          {.method = "GET",
           .path = CTRLPLANE_W "/resources",
           .id = "listResources",
           .summary = "Resources",
           .permission = kRead,
           .query = paged({{"cel", "string", "an expression over `resource`"}}),
           .outcomes = {{200, "ResourcePage"}},
           .handler = list},
          {.method = "POST",
           .path = CTRLPLANE_W "/resources/search",
           .id = "searchResources",
           .summary = "Resources by filters",
           .permission = kRead,
           .body = "ListResourcesFilters",
           .outcomes = {{200, "ResourcePage"}},
           .handler = search},
          {.method = "GET",
           .path = kOne,
           .id = "getResource",
           .summary = "A resource",
           .permission = kRead,
           .outcomes = {{200, "Resource"}},
           .handler = get},
          {.method = "PUT",
           .path = kOne,
           .id = "upsertResource",
           .summary = "Make or replace a resource",
           .permission = kResourceWrite,
           .body = "UpsertResourceRequest",
           .outcomes = {{202, "Accepted"}},
           .handler = put},
          {.method = "DELETE",
           .path = kOne,
           .id = "deleteResource",
           .summary = "Delete a resource; its release targets go",
           .permission = kResourceWrite,
           .outcomes = {{202, "Accepted"}},
           .handler = remove},
          {.method = "GET",
           .path = kVariables,
           .id = "listResourceVariables",
           .summary = "Variables of a resource",
           .permission = kRead,
           .query = paged(),
           .outcomes = {{200, "ResourceVariablePage"}},
           .handler = list_variables},
          {.method = "PATCH",
           .path = kVariables,
           .id = "setResourceVariables",
           .summary = "Replace the variables of a resource (only an empty set yet)",
           .permission = kResourceWrite,
           .body = "ResourceVariables",
           .outcomes = {{202, "Accepted"}},
           .handler = set_variables},
          {.method = "GET",
           .path = CTRLPLANE_W "/resources/identifier/{identifier}/deployments",
           .id = "listResourceDeployments",
           .summary = "Deployments whose selector matches the resource",
           .permission = kRead,
           .query = paged(),
           .outcomes = {{200, "BareDeploymentPage"}},
           .handler = deployments},
          {.method = "GET",
           .path = CTRLPLANE_W "/resources/identifier/{identifier}/release-targets/deployment/{deploymentId}",
           .id = "getResourceReleaseTarget",
           .summary = "The resource's release target of a deployment",
           .permission = kRead,
           .outcomes = {{200, "ReleaseTarget"}},
           .handler = target_of_deployment},
          {.method = "GET",
           .path = CTRLPLANE_W "/resources/{identifier}/release-targets/deployment/{deploymentId}",
           .id = "getResourceReleaseTargetOldPath",
           .summary = "The same under its older path",
           .permission = kRead,
           .outcomes = {{200, "ReleaseTarget"}},
           .handler = target_of_deployment},
      }};
}

}  // namespace ctrlplane::api
