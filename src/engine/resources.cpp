// Resources and providers.
#include <fmt/core.h>

#include "engine/entities.h"
#include "engine/resources.h"
#include "engine/validate.h"

namespace ctrlplane {

Status validate_resource(std::string_view path, const ResourceInput& r) {
  auto at = [&](std::string_view member) {
    return path.empty() ? std::string(member) : fmt::format("{}.{}", path, member);
  };
  TRY(required_text(at("identifier"), r.identifier, kMaxIdentifier));
  TRY(required_text(at("name"), r.name, kMaxIdentifier));
  TRY(required_text(at("kind"), r.kind));
  TRY(required_text(at("version"), r.version));
  TRY(valid_document(at("config"), r.config));
  TRY(valid_metadata(at("metadata"), r.metadata));
  return {};
}

bool put_resource(Tx& tx, const ResourceInput& in, std::optional<ProviderId> provider, Uuid& id,
                  Time created_at) {
  ResourceIx r = tx.state.resource_identified(in.identifier);
  Resource row;
  if (r) row = tx.state.resources[r].row;
  Resource before = row;
  row.identifier = in.identifier;
  row.name = in.name;
  row.kind = in.kind;
  row.version = in.version;
  row.config = in.config;
  row.metadata = in.metadata;
  if (provider) row.provider = provider;
  if (r && row == before) {
    id = row.id.uuid;
    return false;
  }
  if (r) {
    row.updated_at = tx.now;
  } else {
    row.id = tx.ids.make<ResourceId>();
    row.created_at = created_at;
  }
  id = row.id.uuid;
  tx.put(std::move(row));
  return !r;
}

void remove_resource(Tx& tx, ResourceIx r) {
  std::vector<TargetKey> stored;
  for (TargetIx t : tx.state.resources[r].targets)
    if (tx.state.at(t).has_row) stored.push_back(tx.state.key_of(t));
  ResourceId id = tx.state.resources[r].row.id;
  // Jobs nobody has been handed yet must not start for what is about to go.
  for (TargetIx t : std::vector(tx.state.resources[r].targets)) cancel_waiting_jobs(tx, t);
  for (const TargetKey& key : stored) tx.erase(TargetState{.key = key});
  tx.erase(Resource{.id = id});
}

Reply upsert_provider(Tx& tx, const UpsertProvider& c) {
  TRY(required_text("name", c.name));
  TRY(valid_metadata("metadata", c.metadata));
  const Provider* named = tx.state.provider_named(c.name);
  const Provider* known = named;
  if (c.id)
    if (auto it = tx.state.providers.find(*c.id); it != tx.state.providers.end()) {
      known = &it->second;
      if (named && named != known)
        return fail(ErrorCode::kConflict, fmt::format("resource provider '{}' exists already", c.name));
    }
  Provider row{.id = known ? known->id : c.id ? *c.id : tx.ids.make<ProviderId>(), .name = c.name};
  row.metadata = c.metadata;
  row.created_at = known ? known->created_at : tx.now;
  bool created = !known;
  if (!known || *known != row) tx.put(row);
  return Answer{.id = row.id.uuid, .created = created};
}

Reply delete_provider(Tx& tx, const DeleteProvider& c) {
  auto it = tx.state.providers.find(c.id);
  if (it == tx.state.providers.end())
    return fail(ErrorCode::kNotFound, fmt::format("no resource provider {}", c.id.str()));
  if (size_t owned = tx.state.resource_count_of(c.id))
    return fail(ErrorCode::kConflict, fmt::format("resource provider '{}' owns {} resource{}: set it to none "
                                                  "or delete them first",
                                                  it->second.name, owned, owned == 1 ? "" : "s"));
  tx.erase(Provider{.id = c.id});
  tx.audit("provider.delete", c.id.str());
  return Answer{.id = c.id.uuid};
}

Reply upsert_resource(Tx& tx, const UpsertResource& c) {
  TRY(validate_resource("", c.resource));
  if (c.provider && !tx.state.providers.contains(*c.provider))
    return fail(ErrorCode::kNotFound, fmt::format("no resource provider {}", c.provider->str()));
  Answer answer;
  answer.created = put_resource(tx, c.resource, c.provider, answer.id, tx.now);
  return answer;
}

Reply delete_resource(Tx& tx, const DeleteResource& c) {
  ResourceIx r = tx.state.resource_identified(c.identifier);
  if (!r) return fail(ErrorCode::kNotFound, fmt::format("no resource '{}'", c.identifier));
  Uuid id = tx.state.resources[r].row.id.uuid;
  remove_resource(tx, r);
  return Answer{.id = id};
}

// ---- Bulk set ----------------------------------------------------------------------------------------

constexpr size_t kCheckedInAStep = 64;  // well under a tenth of a turn

Status ProviderSet::check_next() {
  const size_t i = checked_;
  const ResourceInput& in = command_.resources[i];
  if (!wanted_.insert(in.identifier).second)
    return invalid(fmt::format("resources[{}].identifier", i), "stands twice in this set");
  TRY(validate_resource(fmt::format("resources[{}]", i), in));
  ++checked_;
  return {};
}

Status ProviderSet::validate() {
  while (checked_ < command_.resources.size()) TRY(check_next());
  return {};
}

bool ProviderSet::owned_by_another(const State& state, std::string_view identifier) const {
  ResourceIx r = state.resource_identified(identifier);
  if (!r) return false;
  const std::optional<ProviderId>& owner = state.resources[r].row.provider;
  return owner && *owner != command_.provider;
}

bool ProviderSet::step(Tx& tx) {
  if (!tx.state.providers.contains(command_.provider)) {
    reply_ = fail(ErrorCode::kNotFound, fmt::format("no resource provider {}", command_.provider.str()));
    return true;
  }
  if (checked_ < command_.resources.size()) {
    for (size_t n = 0; n < kCheckedInAStep && checked_ < command_.resources.size(); ++n)
      if (auto ok = check_next(); !ok) {
        reply_ = std::unexpected(ok.error());
        return true;
      }
    return false;
  }
  if (next_ < command_.resources.size()) {
    const ResourceInput in = std::move(command_.resources[next_++]);  // freed here, not all at the end
    if (owned_by_another(tx.state, in.identifier)) {
      ++skipped_;
      return false;
    }
    // Strictly rising, so that the provider's resources can be shown in the order they were given.
    last_created_ = std::max(tx.now, last_created_ + microseconds(1));
    Uuid id;
    put_resource(tx, in, command_.provider, id, last_created_);
    return false;
  }
  if (!leaving_) {
    leaving_.emplace();
    for (ResourceIx r : tx.state.resources_of(command_.provider))
      if (!wanted_.contains(tx.state.resources[r].row.identifier))
        leaving_->push_back(tx.state.resources[r].row.id);
  }
  if (!leaving_->empty()) {
    ResourceId id = leaving_->back();
    leaving_->pop_back();
    // Slices are apart in time: it may have gone, or belong to somebody else by now.
    if (ResourceIx r = tx.state.resources.find(id);
        r && tx.state.resources[r].row.provider == command_.provider)
      remove_resource(tx, r);
  }
  if (!leaving_->empty()) return false;
  reply_ = Answer{.id = command_.provider.uuid, .skipped = skipped_};
  return true;
}

}  // namespace ctrlplane
