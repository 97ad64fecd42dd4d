#include "api/resource_search.h"

#include <algorithm>
#include <optional>

#include "api/views.h"

namespace ctrlplane::api {
namespace {

constexpr size_t kSlice = 4000;  // resources looked at in one turn: about a millisecond of CEL

bool among(const std::vector<std::string>& list, const std::string& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool contains(std::string_view text, std::string_view part) {
  auto same = [](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

// What a search has found so far. Slices are apart in time, so it keeps ids and sort keys, not places.
struct Search {
  struct Hit {
    std::string key;
    ResourceId id;
  };
  ResourceFilter filter;
  Page page;
  std::vector<Hit> hits;

  std::string key_of(const Resource& r) const {
    using Order = ResourceFilter::Order;
    auto time = [](Time t) {
      std::string bytes(8, '\0');
      for (int i = 0; i < 8; ++i) bytes[static_cast<size_t>(i)] = static_cast<char>(t.us >> (56 - 8 * i));
      return bytes;
    };
    switch (filter.order) {
      case Order::kSlot: return {};
      case Order::kCreatedAt: return time(r.created_at) + r.identifier;
      case Order::kUpdatedAt: return time(r.updated_at.value_or(r.created_at)) + r.identifier;
      case Order::kName: return r.name + '\0' + r.identifier;
      case Order::kKind: return r.kind + '\0' + r.identifier;
    }
    return {};
  }
};

std::string page_text(const State& s, Search& search) {
  if (search.filter.order != ResourceFilter::Order::kSlot)
    std::sort(search.hits.begin(), search.hits.end(), [&](const auto& a, const auto& b) {
      return search.filter.descending ? b.key < a.key : a.key < b.key;
    });
  return page_of(search.hits, search.page, [&](JsonWriter& w, const Search::Hit& hit) {
    if (ResourceIx r = s.resources.find(hit.id)) write(w, s.id(), s.resources[r].row);
  });
}

struct Slices {
  ResourceLook what;
  std::optional<ResourceWalk> walk;  // once it has begun
};

void next_slice(Call& call, std::shared_ptr<Slices> all) {
  Query slice{[all](const State& s, Time) -> Result<std::string> {
    if (!all->walk) all->walk.emplace(ResourceWalk{s.candidates(all->what.among, all->what.sought)});
    size_t budget = kSlice;
    bool done = s.walk(*all->walk, budget, [&](ResourceIx r) { all->what.look(s.resources[r].row); });
    return done ? all->what.answer(s) : std::string();
  }};
  auto status = call.submit(call.workspace(), std::move(slice), {}, [all](Call& c, Reply reply) {
    if (!reply) return c.refuse(reply.error());
    if (reply->text.empty()) return next_slice(c, all);
    c.reply(std::move(reply->text));
  });
  if (!status) call.refuse(status.error());
}

Narrowing one_of(ResourceField field, const std::vector<std::string>& texts) {
  return Narrowing::term(field, {}, texts);
}

}  // namespace

bool ResourceFilter::fits(const Resource& r) const {
  if (!among(identifiers, r.identifier) || !among(kinds, r.kind) || !among(versions, r.version)) return false;
  if (!providers.empty() || no_provider_fits)
    if (!r.provider || std::find(providers.begin(), providers.end(), *r.provider) == providers.end())
      return false;
  for (const auto& [key, value] : metadata) {
    const std::string* own = r.metadata.find(key);
    if (!own || *own != value) return false;
  }
  if (!text.empty() && !contains(r.name, text) && !contains(r.identifier, text)) return false;
  return !selector || selector->match(r) == ctrlplane::Match::kYes;
}

Narrowing ResourceFilter::narrowing() const {
  std::vector<Narrowing> all;
  if (!identifiers.empty()) all.push_back(one_of(ResourceField::kIdentifier, identifiers));
  if (!kinds.empty()) all.push_back(one_of(ResourceField::kKind, kinds));
  if (!versions.empty()) all.push_back(one_of(ResourceField::kVersion, versions));
  if (!providers.empty() || no_provider_fits) {
    std::vector<std::string> ids;
    for (ProviderId id : providers) ids.push_back(id.str());
    all.push_back(one_of(ResourceField::kProvider, ids));
  }
  for (const auto& [key, value] : metadata)
    all.push_back(Narrowing::term(ResourceField::kMetadata, key, {value}));
  if (selector) all.push_back(selector->narrowing());
  return Narrowing::all(std::move(all));
}

Status search_resources(Call& call, ResourceFilter filter, Page page) {
  auto search = std::make_shared<Search>(Search{.filter = std::move(filter), .page = page, .hits = {}});
  auto look = [search](const Resource& r) {
    if (search->filter.fits(r)) search->hits.push_back({search->key_of(r), r.id});
  };
  auto answer = [search](const State& s) { return page_text(s, *search); };
  look_at_resources(call, {.among = search->filter.narrowing(), .look = look, .answer = answer});
  return {};
}

void look_at_resources(Call& call, ResourceLook look) {
  next_slice(call, std::make_shared<Slices>(Slices{std::move(look), std::nullopt}));
}

Result<std::shared_ptr<const Selector>> compile_query(std::string_view cel) {
  auto compiled = Selector::compile(cel, Selector::Subject::kResource);
  if (!compiled) {
    auto again = net::percent_decode(cel, true);
    auto second = again ? Selector::compile(*again, Selector::Subject::kResource) : std::move(compiled);
    if (!second) return invalid("cel", (compiled ? second : compiled).error().message);
    compiled = std::move(second);
  }
  return std::make_shared<const Selector>(std::move(*compiled));
}

}  // namespace ctrlplane::api
