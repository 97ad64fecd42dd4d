// Entities as CEL sees them, without copies, and the environments that declare their shape.
#pragma once

#include "cel/cel.h"
#include "model/entities.h"

namespace ctrlplane {

// `resource {id, name, kind, version, identifier, config, metadata, providerId, createdAt, updatedAt}`
const cel::Env& resource_env();
// `jobAgent {id, name, type, config, metadata, createdAt}`
const cel::Env& agent_env();

class MetadataView final : public cel::Object {
 public:
  explicit MetadataView(const Metadata& metadata) : metadata_(metadata) {}
  cel::Value field(const cel::Name& name, cel::Arena& arena) const override;
  size_t size() const override { return metadata_.size(); }
  void keys(std::span<std::string_view> out) const override;

 private:
  const Metadata& metadata_;
};

class ResourceView final : public cel::Object {
 public:
  explicit ResourceView(const Resource& r) : row_(r), metadata_(r.metadata) {}
  cel::Value field(const cel::Name& name, cel::Arena& arena) const override;
  size_t size() const override;
  void keys(std::span<std::string_view> out) const override;

 private:
  const Resource& row_;
  MetadataView metadata_;
};

class AgentView final : public cel::Object {
 public:
  explicit AgentView(const JobAgent& a) : row_(a), metadata_(a.metadata) {}
  cel::Value field(const cel::Name& name, cel::Arena& arena) const override;
  size_t size() const override;
  void keys(std::span<std::string_view> out) const override;

 private:
  const JobAgent& row_;
  MetadataView metadata_;
};

}  // namespace ctrlplane
