// Entities as CEL sees them, without copies, and the environments that declare their shape.
#pragma once

#include <span>

#include "cel/cel.h"
#include "model/entities.h"

namespace ctrlplane {

// The variables an expression may name:
//   resource    {id, name, kind, version, identifier, config, metadata, providerId, createdAt, updatedAt}
//   jobAgent    {id, name, type, config, metadata, createdAt}
//   deployment  {id, name, slug, description, metadata, jobAgentSelector, jobAgentConfig, createdAt}
//   environment {id, name, description, metadata, createdAt}
//   version     {id, tag, name, status, message, metadata, config, createdAt, deploymentId}
enum class CelVariable : uint8_t { kResource, kAgent, kDeployment, kEnvironment, kVersion };
std::string_view name_of(CelVariable v);

// Declares these, in this order: the first has slot 0.
cel::Env make_env(std::span<const CelVariable> variables);

class MetadataView final : public cel::Object {
 public:
  explicit MetadataView(const Metadata& metadata) : metadata_(metadata) {}
  cel::Value field(const cel::Name& name, cel::Arena& arena) const override;
  size_t size() const override { return metadata_.size(); }
  void keys(std::span<std::string_view> out) const override;

 private:
  const Metadata& metadata_;
};

// A row with metadata.
template <class Row>
class RowView final : public cel::Object {
 public:
  explicit RowView(const Row& row) : row_(row), metadata_(row.metadata) {}
  cel::Value field(const cel::Name& name, cel::Arena& arena) const override;
  size_t size() const override;
  void keys(std::span<std::string_view> out) const override;

 private:
  const Row& row_;
  MetadataView metadata_;
};

using ResourceView = RowView<Resource>;
using AgentView = RowView<JobAgent>;
using DeploymentView = RowView<Deployment>;
using EnvironmentView = RowView<Environment>;
using VersionView = RowView<Version>;

extern template class RowView<Resource>;
extern template class RowView<JobAgent>;
extern template class RowView<Deployment>;
extern template class RowView<Environment>;
extern template class RowView<Version>;

}  // namespace ctrlplane
