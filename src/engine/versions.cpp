// Versions: immutable builds whose status may change.
#include <algorithm>

#include <fmt/core.h>

#include "engine/entities.h"
#include "engine/settings.h"
#include "engine/validate.h"

namespace ctrlplane {
namespace {

// Memory must not grow with history. A version that nothing refers to is kept in SQL only, once there are
// kHotVersions newer ones that could be selected before it, or it is old and cannot be selected itself.
void retire_old_versions(Tx& tx, DeploymentIx d) {
  const auto& list = tx.state.deployments[d].versions;
  if (list.size() <= kHotVersions) return;
  std::vector<Version> old;
  size_t selectable = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const VersionSlot& v = tx.state.versions[list[i]];
    bool can_go = selectable >= kHotVersions || v.row.status != VersionStatus::kReady;
    if (i >= kHotVersions && can_go && v.references == 0) old.push_back(v.row);
    if (v.row.status == VersionStatus::kReady) ++selectable;
  }
  for (Version& v : old) {
    v.retired = true;
    tx.put(std::move(v));
  }
}

// Two versions published at one instant (a clock that was set back stands still for a while) keep the order
// in which they came: the later one must never pass for the older.
Time after_the_newest(const Tx& tx, DeploymentIx d) {
  const auto& list = tx.state.deployments[d].versions;
  if (list.empty()) return tx.now;
  return std::max(tx.now, tx.state.versions[list.front()].row.created_at + microseconds(1));
}

}  // namespace

Reply create_version(Tx& tx, const CreateVersion& c) {
  TRY(required_text("tag", c.tag));
  TRY(optional_text("name", c.name, kMaxName));
  TRY(optional_text("message", c.message));
  TRY(valid_document("config", c.config));
  TRY(valid_document("jobAgentConfig", c.agent_config));
  TRY(valid_metadata("metadata", c.metadata));
  DeploymentIx d = tx.state.deployments.find(c.deployment);
  if (!d) return fail(ErrorCode::kNotFound, fmt::format("no deployment {}", c.deployment.str()));
  if (VersionIx other = tx.state.version_tagged(d, c.tag))
    return fail(ErrorCode::kConflict, fmt::format("tag '{}' exists already: version {}", c.tag,
                                                  tx.state.versions[other].row.id.str()));
  Version row{.id = tx.ids.make<VersionId>(), .deployment = c.deployment, .tag = c.tag};
  row.name = c.name.empty() ? c.tag : c.name;
  row.message = c.message;
  row.status = c.status;
  row.config = c.config;
  row.agent_config = c.agent_config;
  row.metadata = c.metadata;
  row.created_at = c.created_at ? *c.created_at : after_the_newest(tx, d);
  tx.put(row);
  retire_old_versions(tx, d);
  return Answer{.id = row.id.uuid, .created = true};
}

Reply set_version_status(Tx& tx, const SetVersionStatus& c) {
  TRY(optional_text("message", c.message));
  VersionIx v = tx.state.versions.find(c.id);
  if (!v) return fail(ErrorCode::kNotFound, fmt::format("no version {}", c.id.str()));
  Version row = tx.state.versions[v].row;
  if (row.status == c.status && row.message == c.message) return Answer{.id = c.id.uuid};
  row.status = c.status;
  row.message = c.message;
  tx.put(row);
  tx.audit("version.status", c.id.str(), fmt::format(R"({{"status":"{}"}})", to_string(c.status)));
  return Answer{.id = c.id.uuid};
}

}  // namespace ctrlplane
