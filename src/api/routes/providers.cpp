// Resource providers: whoever keeps a set of resources up to date.
#include <fmt/core.h>

#include "api/call.h"
#include "api/families.h"
#include "api/views.h"
#include "engine/resources.h"

namespace ctrlplane::api {
namespace {

Result<const Provider*> find(const State& s, const std::string& name) {
  if (const Provider* p = s.provider_named(name)) return p;
  return fail(ErrorCode::kNotFound, fmt::format("no resource provider '{}'", name));
}

Status list(Call& c) {
  return c.read([page = c.page()](const State& s, Time) -> Result<std::string> {
    std::vector<const Provider*> all;
    for (const auto& [id, p] : s.providers) all.push_back(&p);
    std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->name < b->name; });
    return page_of(all, page, [&](JsonWriter& w, const Provider* p) { write(w, s.id(), *p); });
  });
}

Status upsert(Call& c) {
  UpsertProvider u{.id = {}, .name = c.body().text("name"), .metadata = c.body().metadata("metadata")};
  if (std::string id = c.body().text("id"); !id.empty()) {
    u.id = ProviderId::parse(id);
    if (!u.id) return invalid("id", "must be a UUID, or empty");
  }
  return c.write(std::move(u), [](const State& s, Time, const Answer& answer) {
    return text_of(s.id(), s.providers.at(ProviderId{answer.id}));
  });
}

Status get(Call& c) {
  return c.read([name = std::string(c.argument("name"))](const State& s, Time) -> Result<std::string> {
    return text_of(s.id(), *TRY(find(s, name)));
  });
}

Status remove(Call& c) {
  using Found = std::pair<ProviderId, std::string>;
  return c.ask<Found>(
      [name = std::string(c.argument("name"))](const State& s, Time) -> Result<Found> {
        const Provider* p = TRY(find(s, name));
        return Found{p->id, text_of(s.id(), *p)};
      },
      [](Call& call, Found found) {
        return call.write(DeleteProvider{found.first},
                          [text = found.second](const State&, Time, const Answer&) { return text; });
      });
}

// In the order of the last set as far as it can be told: the order in which they were first seen.
Status resources(Call& c) {
  return c.read([name = std::string(c.argument("name"))](const State& s, Time) -> Result<std::string> {
    const Provider* p = TRY(find(s, name));
    std::vector<const Resource*> owned;
    for (ResourceIx r : s.resources_of(p->id)) owned.push_back(&s.resources[r].row);
    std::sort(owned.begin(), owned.end(), [](auto* a, auto* b) {
      return std::tie(a->created_at, a->id) < std::tie(b->created_at, b->id);
    });
    JsonWriter w;
    w.open().key("items").open_array();
    for (const Resource* r : owned) write(w, s.id(), *r);
    w.close_array().member("total", owned.size()).close();
    return w.take();
  });
}

Status set(Call& c) {
  SetProviderResources command{.provider = TRY(c.id<ProviderId>("providerId")), .resources = {}};
  std::vector<Body> items = c.body().objects("resources");
  command.resources.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const Body& b = items[i];
    auto config = b.document("config");
    if (!config) return invalid(fmt::format("resources[{}].config", i), config.error().message);
    command.resources.push_back({.identifier = b.text("identifier"),
                                 .name = b.text("name"),
                                 .kind = b.text("kind"),
                                 .version = b.text("version"),
                                 .config = std::move(*config),
                                 .metadata = b.metadata("metadata")});
  }
  TRY(ProviderSet(command).validate());  // here, before it waits for its turn
  return c.write(std::move(command), [](const State&, Time, const Answer& answer) {
    return fmt::format(R"({{"ok":true,"method":"direct","skipped":{}}})", answer.skipped);
  });
}

}  // namespace

Family provider_family() {
  using namespace permission;
  constexpr std::string_view kAll = CTRLPLANE_W "/resource-providers";
  constexpr std::string_view kOne = CTRLPLANE_W "/resource-providers/name/{name}";
  return {"Resource providers",
          {
              {.method = "GET",
               .path = kAll,
               .id = "listResourceProviders",
               .summary = "Resource providers by name",
               .permission = kRead,
               .query = paged(),
               .outcomes = {{200, "ResourceProviderPage"}},
               .handler = list},
              {.method = "PUT",
               .path = kAll,
               .id = "upsertResourceProvider",
               .summary = "Make, rename or update a resource provider",
               .permission = kResourceWrite,
               .body = "UpsertResourceProviderRequest",
               .outcomes = {{202, "ResourceProvider"}},
               .handler = upsert},
              {.method = "GET",
               .path = kOne,
               .id = "getResourceProvider",
               .summary = "A resource provider by its name",
               .permission = kRead,
               .outcomes = {{200, "ResourceProvider"}},
               .handler = get},
              {.method = "DELETE",
               .path = kOne,
               .id = "deleteResourceProvider",
               .summary = "Delete a resource provider that owns nothing",
               .permission = kResourceWrite,
               .outcomes = {{202, "ResourceProvider"}},
               .handler = remove},
              {.method = "GET",
               .path = CTRLPLANE_W "/resource-providers/name/{name}/resources",
               .id = "listProviderResources",
               .summary = "Resources of a provider",
               .permission = kRead,
               .outcomes = {{200, "ResourceList"}},
               .handler = resources},
              {.method = "PUT",
               .path = CTRLPLANE_W "/resource-providers/{providerId}/set",
               .id = "setProviderResources",
               .summary =
                   "Make the provider's resources exactly these; what belongs to another provider is skipped",
               .permission = kResourceWrite,
               .body = "SetResourcesRequest",
               .bulk = true,
               .outcomes = {{202, "SetResourcesAccepted"}},
               .handler = set},
          }};
}

}  // namespace ctrlplane::api
