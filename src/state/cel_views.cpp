#include "state/cel_views.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "state/json_view.h"

namespace ctrlplane {
namespace {

using cel::Value;

struct Field {
  std::string_view name, type;
};

// In the order of the switches below.
constexpr std::array<Field, 10> kResource = {{{"id", "string"},
                                              {"name", "string"},
                                              {"kind", "string"},
                                              {"version", "string"},
                                              {"identifier", "string"},
                                              {"config", "map(string, dyn)"},
                                              {"metadata", "map(string, string)"},
                                              {"providerId", "dyn"},
                                              {"createdAt", "timestamp"},
                                              {"updatedAt", "timestamp"}}};
constexpr std::array<Field, 6> kAgent = {{{"id", "string"},
                                          {"name", "string"},
                                          {"type", "string"},
                                          {"config", "map(string, dyn)"},
                                          {"metadata", "map(string, string)"},
                                          {"createdAt", "timestamp"}}};

template <size_t N>
cel::Env make_env(std::string_view type, std::string_view variable, const std::array<Field, N>& fields) {
  cel::Env env;
  cel::Env::Fields declared;
  for (const Field& f : fields) declared.emplace_back(f.name, f.type);
  CHECK(env.declare_struct(type, declared).has_value(), type);
  CHECK(env.declare(variable, type).has_value(), variable);
  return env;
}

// The declared index, or the place of a name that an expression computed.
template <size_t N>
int index_of(const std::array<Field, N>& fields, const cel::Name& name) {
  if (name.index >= 0) return name.index;
  auto it = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name.text; });
  return it == fields.end() ? -1 : static_cast<int>(it - fields.begin());
}

template <size_t N>
void all_names(const std::array<Field, N>& fields, std::span<std::string_view> out) {
  for (size_t i = 0; i < N; ++i) out[i] = fields[i].name;
}

}  // namespace

const cel::Env& resource_env() {
  static const cel::Env env = make_env("Resource", "resource", kResource);
  return env;
}

const cel::Env& agent_env() {
  static const cel::Env env = make_env("JobAgent", "jobAgent", kAgent);
  return env;
}

Value MetadataView::field(const cel::Name& name, cel::Arena&) const {
  const std::string* found = metadata_.find(name.text);
  return found ? Value::string(*found) : Value();
}

void MetadataView::keys(std::span<std::string_view> out) const {
  size_t n = 0;
  for (const auto& [key, value] : metadata_) out[n++] = key;
}

Value ResourceView::field(const cel::Name& name, cel::Arena& arena) const {
  switch (index_of(kResource, name)) {
    case 0: return Value::string(arena.copy(row_.id.str()));
    case 1: return Value::string(row_.name);
    case 2: return Value::string(row_.kind);
    case 3: return Value::string(row_.version);
    case 4: return Value::string(row_.identifier);
    case 5: return json_view(row_.config.text(), arena);
    case 6: return Value::map(metadata_);
    case 7: return row_.provider ? Value::string(arena.copy(row_.provider->str())) : Value::null();
    case 8: return Value::timestamp(row_.created_at);
    case 9: return Value::timestamp(row_.updated_at.value_or(row_.created_at));
    default: return {};
  }
}

size_t ResourceView::size() const { return kResource.size(); }
void ResourceView::keys(std::span<std::string_view> out) const { all_names(kResource, out); }

Value AgentView::field(const cel::Name& name, cel::Arena& arena) const {
  switch (index_of(kAgent, name)) {
    case 0: return Value::string(arena.copy(row_.id.str()));
    case 1: return Value::string(row_.name);
    case 2: return Value::string(row_.type);
    case 3: return json_view(row_.config.text(), arena);
    case 4: return Value::map(metadata_);
    case 5: return Value::timestamp(row_.created_at);
    default: return {};
  }
}

size_t AgentView::size() const { return kAgent.size(); }
void AgentView::keys(std::span<std::string_view> out) const { all_names(kAgent, out); }

}  // namespace ctrlplane
