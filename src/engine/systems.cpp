// Systems and their links.
#include <fmt/core.h>

#include "engine/entities.h"
#include "engine/validate.h"

namespace ctrlplane {

Reply upsert_system(Tx& tx, const UpsertSystem& c) {
  TRY(required_text("name", c.name));
  TRY(optional_text("slug", c.slug, kMaxName));
  TRY(optional_text("description", c.description));
  TRY(valid_metadata("metadata", c.metadata));
  SystemIx s = c.id ? tx.state.systems.find(*c.id) : SystemIx{};
  System row{
      .id = c.id ? *c.id : tx.ids.make<SystemId>(), .name = c.name, .slug = c.slug.empty() ? c.name : c.slug};
  row.description = c.description;
  row.metadata = c.metadata;
  row.created_at = s ? tx.state.systems[s].row.created_at : tx.now;
  if (!s || tx.state.systems[s].row != row) tx.put(row);
  return Answer{.id = row.id.uuid, .created = !s};
}

Reply delete_system(Tx& tx, const DeleteSystem& c) {
  SystemIx s = tx.state.systems.find(c.id);
  if (!s) return fail(ErrorCode::kNotFound, fmt::format("no system {}", c.id.str()));
  SystemSlot slot = tx.state.systems[s];
  for (DeploymentIx d : slot.deployments) tx.erase(SystemDeployment{c.id, tx.state.deployments[d].row.id});
  for (EnvironmentIx e : slot.environments)
    tx.erase(SystemEnvironment{c.id, tx.state.environments[e].row.id});
  tx.erase(System{.id = c.id});
  return Answer{.id = c.id.uuid};
}

Reply link_deployment(Tx& tx, const LinkDeployment& c) {
  SystemIx s = tx.state.systems.find(c.system);
  DeploymentIx d = tx.state.deployments.find(c.deployment);
  if (!s) return fail(ErrorCode::kNotFound, fmt::format("no system {}", c.system.str()));
  if (!d) return fail(ErrorCode::kNotFound, fmt::format("no deployment {}", c.deployment.str()));
  const auto& linked = tx.state.systems[s].deployments;
  bool is_linked = std::find(linked.begin(), linked.end(), d) != linked.end();
  if (is_linked == c.linked) return Answer{.id = c.deployment.uuid};
  SystemDeployment row{c.system, c.deployment};
  c.linked ? tx.put(row) : tx.erase(row);
  return Answer{.id = c.deployment.uuid, .created = c.linked};
}

Reply link_environment(Tx& tx, const LinkEnvironment& c) {
  SystemIx s = tx.state.systems.find(c.system);
  EnvironmentIx e = tx.state.environments.find(c.environment);
  if (!s) return fail(ErrorCode::kNotFound, fmt::format("no system {}", c.system.str()));
  if (!e) return fail(ErrorCode::kNotFound, fmt::format("no environment {}", c.environment.str()));
  const auto& linked = tx.state.systems[s].environments;
  bool is_linked = std::find(linked.begin(), linked.end(), e) != linked.end();
  if (is_linked == c.linked) return Answer{.id = c.environment.uuid};
  SystemEnvironment row{c.system, c.environment};
  c.linked ? tx.put(row) : tx.erase(row);
  return Answer{.id = c.environment.uuid, .created = c.linked};
}

}  // namespace ctrlplane
