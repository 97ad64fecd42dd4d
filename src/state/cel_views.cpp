#include "state/cel_views.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "state/json_view.h"

namespace ctrlplane {
namespace {

using cel::Value;

// A field of a row: its name, its type and how it is read.
template <class Row>
struct Field {
  std::string_view name, type;
  Value (*read)(const Row& row, const MetadataView& metadata, cel::Arena& arena);
};

constexpr std::string_view kText = "string", kTime = "timestamp", kAny = "dyn";
constexpr std::string_view kDocument = "map(string, dyn)", kTexts = "map(string, string)";

template <auto Member, class Row>
Value id(const Row& row, const MetadataView&, cel::Arena& arena) {
  return Value::string(arena.copy((row.*Member).str()));
}
template <auto Member, class Row>
Value text(const Row& row, const MetadataView&, cel::Arena&) {
  return Value::string(row.*Member);
}
template <auto Member, class Row>
Value document(const Row& row, const MetadataView&, cel::Arena& arena) {
  return json_view((row.*Member).text(), arena);
}
template <class Row>
Value metadata(const Row&, const MetadataView& view, cel::Arena&) {
  return Value::map(view);
}
template <class Row>
Value created_at(const Row& row, const MetadataView&, cel::Arena&) {
  return Value::timestamp(row.created_at);
}
Value updated_at(const Resource& row, const MetadataView&, cel::Arena&) {
  return Value::timestamp(row.updated_at.value_or(row.created_at));
}
Value provider(const Resource& row, const MetadataView&, cel::Arena& arena) {
  return row.provider ? Value::string(arena.copy(row.provider->str())) : Value::null();
}
Value status(const Version& row, const MetadataView&, cel::Arena&) {
  return Value::string(to_string(row.status));
}

constexpr auto fields_of(const Resource*) {
  using R = Resource;
  return std::to_array<Field<R>>({{"id", kText, id<&R::id, R>},
                                  {"name", kText, text<&R::name, R>},
                                  {"kind", kText, text<&R::kind, R>},
                                  {"version", kText, text<&R::version, R>},
                                  {"identifier", kText, text<&R::identifier, R>},
                                  {"config", kDocument, document<&R::config, R>},
                                  {"metadata", kTexts, metadata<R>},
                                  {"providerId", kAny, provider},
                                  {"createdAt", kTime, created_at<R>},
                                  {"updatedAt", kTime, updated_at}});
}
constexpr auto fields_of(const JobAgent*) {
  using R = JobAgent;
  return std::to_array<Field<R>>({{"id", kText, id<&R::id, R>},
                                  {"name", kText, text<&R::name, R>},
                                  {"type", kText, text<&R::type, R>},
                                  {"config", kDocument, document<&R::config, R>},
                                  {"metadata", kTexts, metadata<R>},
                                  {"createdAt", kTime, created_at<R>}});
}
constexpr auto fields_of(const Deployment*) {
  using R = Deployment;
  return std::to_array<Field<R>>({{"id", kText, id<&R::id, R>},
                                  {"name", kText, text<&R::name, R>},
                                  {"slug", kText, text<&R::slug, R>},
                                  {"description", kText, text<&R::description, R>},
                                  {"metadata", kTexts, metadata<R>},
                                  {"jobAgentSelector", kText, text<&R::agent_selector, R>},
                                  {"jobAgentConfig", kDocument, document<&R::agent_config, R>},
                                  {"createdAt", kTime, created_at<R>}});
}
constexpr auto fields_of(const Environment*) {
  using R = Environment;
  return std::to_array<Field<R>>({{"id", kText, id<&R::id, R>},
                                  {"name", kText, text<&R::name, R>},
                                  {"description", kText, text<&R::description, R>},
                                  {"metadata", kTexts, metadata<R>},
                                  {"createdAt", kTime, created_at<R>}});
}
constexpr auto fields_of(const Version*) {
  using R = Version;
  return std::to_array<Field<R>>({{"id", kText, id<&R::id, R>},
                                  {"tag", kText, text<&R::tag, R>},
                                  {"name", kText, text<&R::name, R>},
                                  {"status", kText, status},
                                  {"message", kText, text<&R::message, R>},
                                  {"metadata", kTexts, metadata<R>},
                                  {"config", kDocument, document<&R::config, R>},
                                  {"createdAt", kTime, created_at<R>},
                                  {"deploymentId", kText, id<&R::deployment, R>}});
}
template <class Row>
constexpr auto kFields = fields_of(static_cast<const Row*>(nullptr));

template <class Row>
void declare(cel::Env& env, std::string_view type, std::string_view variable) {
  cel::Env::Fields declared;
  for (const Field<Row>& f : kFields<Row>) declared.emplace_back(f.name, f.type);
  CHECK(env.declare_struct(type, declared).has_value(), type);
  CHECK(env.declare(variable, type).has_value(), variable);
}

// The declared index, or the place of a name that an expression computed.
template <class Row>
const Field<Row>* find(const cel::Name& name) {
  const auto& fields = kFields<Row>;
  if (name.index >= 0) return static_cast<size_t>(name.index) < fields.size() ? &fields[name.index] : nullptr;
  auto it =
      std::find_if(fields.begin(), fields.end(), [&](const Field<Row>& f) { return f.name == name.text; });
  return it == fields.end() ? nullptr : &*it;
}

}  // namespace

std::string_view name_of(CelVariable v) {
  switch (v) {
    case CelVariable::kResource: return "resource";
    case CelVariable::kAgent: return "jobAgent";
    case CelVariable::kDeployment: return "deployment";
    case CelVariable::kEnvironment: return "environment";
    case CelVariable::kVersion: return "version";
  }
  return {};
}

cel::Env make_env(std::span<const CelVariable> variables) {
  cel::Env env;
  for (CelVariable v : variables) switch (v) {
      case CelVariable::kResource: declare<Resource>(env, "Resource", name_of(v)); break;
      case CelVariable::kAgent: declare<JobAgent>(env, "JobAgent", name_of(v)); break;
      case CelVariable::kDeployment: declare<Deployment>(env, "Deployment", name_of(v)); break;
      case CelVariable::kEnvironment: declare<Environment>(env, "Environment", name_of(v)); break;
      case CelVariable::kVersion: declare<Version>(env, "Version", name_of(v)); break;
    }
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

template <class Row>
Value RowView<Row>::field(const cel::Name& name, cel::Arena& arena) const {
  const Field<Row>* f = find<Row>(name);
  return f ? f->read(row_, metadata_, arena) : Value();
}

template <class Row>
size_t RowView<Row>::size() const {
  return kFields<Row>.size();
}

template <class Row>
void RowView<Row>::keys(std::span<std::string_view> out) const {
  for (size_t i = 0; i < kFields<Row>.size(); ++i) out[i] = kFields<Row>[i].name;
}

template class RowView<Resource>;
template class RowView<JobAgent>;
template class RowView<Deployment>;
template class RowView<Environment>;
template class RowView<Version>;

}  // namespace ctrlplane
