// Versions: immutable builds whose status may change.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "engine/entities.h"
#include "engine/freezes.h"
#include "engine/settings.h"
#include "engine/validate.h"
#include "model/json_writer.h"
#include "policy/judge.h"

namespace ctrlplane {
namespace {

// Memory must not grow with history. A version that nothing refers to is kept in SQL only, once there are
// kHotVersions newer ones that could be selected before it wherever it is for, or it is old and cannot be
// selected itself.
void retire_old_versions(Tx& tx, DeploymentIx d) {
  const auto& list = tx.state.deployments[d].versions;
  if (list.size() <= kHotVersions) return;
  std::vector<Version> old;
  std::vector<PolicySkip> skips;                 // nothing is left that they could let through
  size_t for_all = 0, scoped = 0, unscoped = 0;  // for_all: of the unscoped those that could be selected
  std::map<std::string_view, size_t> for_the_same;
  for (size_t i = 0; i < list.size(); ++i) {
    const VersionSlot& v = tx.state.versions[list[i]];
    const auto& selector = v.row.target_selector;
    const size_t before_it = for_all + (selector ? for_the_same[*selector] : 0);
    const bool can_go = before_it >= kHotVersions || v.row.status != VersionStatus::kReady ||
                        (selector && scoped >= kHotScopedVersions);
    const bool is_late = (selector ? i : unscoped) < kHotVersions;
    if (!is_late && can_go && v.references == 0) {
      old.push_back(v.row);
      skips.insert(skips.end(), v.skips.begin(), v.skips.end());
    }
    ++(selector ? scoped : unscoped);
    if (v.row.status == VersionStatus::kReady) ++(selector ? for_the_same[*selector] : for_all);
  }
  for (PolicySkip& s : skips) tx.erase(std::move(s));
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

constexpr size_t kMaxDependencies = 100;
constexpr size_t kMaxBypassed = 100;

Status valid_dependency(std::string_view path, DeploymentId own, DeploymentId on,
                        const std::string& selector) {
  if (on == own) return invalid(std::string(path), "a version cannot depend on its own deployment");
  if (selector.empty()) return invalid(std::string(path), "must not be empty");
  return valid_selector(path, selector, Selector::Subject::kVersionOnly);
}

Status valid_bypass(const State& state, const CreateVersion& c) {
  if (!c.bypass_freeze && !c.bypass_freeze_ids.empty())
    return invalid("bypassFreezeIds", "needs bypassFreeze to be true");
  if (c.bypass_freeze_ids.size() > kMaxBypassed)
    return invalid("bypassFreezeIds", fmt::format("are more than {}", kMaxBypassed));
  for (size_t i = 0; i < c.bypass_freeze_ids.size(); ++i)
    if (!state.freezes.find(c.bypass_freeze_ids[i]))
      return invalid(fmt::format("bypassFreezeIds[{}]", i), "is no freeze of this workspace");
  return {};
}

Status known_dependency(const State& state, DeploymentId on) {
  if (state.deployments.find(on)) return {};
  return fail(ErrorCode::kNotFound, fmt::format("no deployment {} to depend on", on.str()));
}

Status valid_dependencies(const State& state, const CreateVersion& c) {
  if (c.dependencies.size() > kMaxDependencies)
    return invalid("dependencies", fmt::format("are more than {}", kMaxDependencies));
  std::set<DeploymentId> seen;
  for (const auto& [on, selector] : c.dependencies) {
    TRY(valid_dependency(fmt::format("dependencies.{}.versionSelector", on.str()), c.deployment, on,
                         selector));
    if (!seen.insert(on).second) return invalid("dependencies", fmt::format("{} is there twice", on.str()));
  }
  for (DeploymentId on : seen) TRY(known_dependency(state, on));
  return {};
}

}  // namespace

VersionSettings version_settings(const State& state) {
  auto it = state.settings.find(VersionSettings::kName);
  return it == state.settings.end() ? VersionSettings{} : VersionSettings::from(it->second);
}

Status valid_scope(const State& state, const CreateVersion& c) {
  if (!c.target_selector) {
    if (c.on_selector_error) return invalid("onSelectorError", "needs a targetSelector");
    return {};
  }
  if (c.target_selector->empty())
    return invalid("targetSelector", "must not be empty; leave it out for all targets");
  TRY(valid_selector("targetSelector", c.target_selector, Selector::Subject::kTarget));
  if (version_settings(state).scope_needs_permission && !c.may_scope)
    return fail(ErrorCode::kForbidden,
                "in this workspace a version with a targetSelector needs deployment_version.scope");
  return {};
}

Reply set_version_settings(Tx& tx, const SetVersionSettings& c) {
  if (version_settings(tx.state) == c.settings) return Answer{};
  Json value = c.settings.json();
  tx.audit("version.settings", std::string(VersionSettings::kName), value.text());
  tx.put(Setting{std::string(VersionSettings::kName), std::move(value)});
  return Answer{};
}

Reply create_version(Tx& tx, const CreateVersion& c) {
  TRY(required_text("tag", c.tag));
  TRY(optional_text("name", c.name, kMaxName));
  TRY(optional_text("message", c.message));
  TRY(valid_document("config", c.config));
  TRY(valid_document("jobAgentConfig", c.agent_config));
  TRY(valid_metadata("metadata", c.metadata));
  DeploymentIx d = tx.state.deployments.find(c.deployment);
  if (!d) return fail(ErrorCode::kNotFound, fmt::format("no deployment {}", c.deployment.str()));
  TRY(valid_dependencies(tx.state, c));
  TRY(valid_bypass(tx.state, c));
  TRY(valid_scope(tx.state, c));
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
  row.created_by = tx.actor;
  row.bypass_freeze = c.bypass_freeze;
  row.bypass_freeze_ids = c.bypass_freeze_ids;
  row.target_selector = c.target_selector;
  if (c.target_selector)
    row.on_selector_error = c.on_selector_error.value_or(version_settings(tx.state).on_selector_error);
  tx.put(row);
  for (const auto& [on, selector] : c.dependencies) tx.put(VersionDependency{row.id, on, selector});
  if (row.bypass_freeze) note_bypass(tx, tx.state.versions.find(row.id));
  retire_old_versions(tx, d);
  return Answer{.id = row.id.uuid, .created = true};
}

Reply set_version_status(Tx& tx, const SetVersionStatus& c) {
  TRY(optional_text("message", c.message));
  VersionIx v = tx.state.versions.find(c.id);
  // One that was stored and is not in memory has been retired, unless its deployment is gone.
  const bool retired =
      !v && c.stored && c.stored->id == c.id && tx.state.deployments.find(c.stored->deployment);
  if (!v && !retired) return fail(ErrorCode::kNotFound, fmt::format("no version {}", c.id.str()));
  Version row = v ? tx.state.versions[v].row : *c.stored;
  if (row.status == c.status && row.message == c.message) return Answer{.id = c.id.uuid};
  row.status = c.status;
  row.message = c.message;
  row.retired = retired;
  tx.put(row);
  if (v) policy::note_version(tx.state, v);
  tx.audit("version.status", c.id.str(), fmt::format(R"({{"status":"{}"}})", to_string(c.status)));
  return Answer{.id = c.id.uuid};
}

Reply set_version_dependency(Tx& tx, const SetVersionDependency& c) {
  VersionIx v = tx.state.versions.find(c.version);
  if (!v) return fail(ErrorCode::kNotFound, fmt::format("no version {}", c.version.str()));
  TRY(valid_dependency("versionSelector", tx.state.versions[v].row.deployment, c.on, c.selector));
  TRY(known_dependency(tx.state, c.on));
  const VersionDependency row{c.version, c.on, c.selector};
  const auto& known = tx.state.dependencies_of(v);
  if (std::find(known.begin(), known.end(), row) != known.end()) return Answer{.id = c.version.uuid};
  const bool is_new =
      std::none_of(known.begin(), known.end(), [&](const VersionDependency& k) { return k.on == c.on; });
  if (is_new && known.size() >= kMaxDependencies)
    return invalid("dependencies", fmt::format("are more than {}", kMaxDependencies));
  tx.put(row);
  tx.audit("version.dependency.set", c.version.str(),
           JsonWriter().open().member("on", c.on).member("selector", c.selector).close().take());
  return Answer{.id = c.version.uuid, .created = is_new};
}

Reply delete_version_dependency(Tx& tx, const DeleteVersionDependency& c) {
  VersionIx v = tx.state.versions.find(c.version);
  if (!v) return fail(ErrorCode::kNotFound, fmt::format("no version {}", c.version.str()));
  const auto& known = tx.state.dependencies_of(v);
  if (std::none_of(known.begin(), known.end(), [&](const VersionDependency& k) { return k.on == c.on; }))
    return fail(ErrorCode::kNotFound,
                fmt::format("version {} does not depend on deployment {}", c.version.str(), c.on.str()));
  tx.erase(VersionDependency{.version = c.version, .on = c.on});
  tx.audit("version.dependency.delete", c.version.str(),
           JsonWriter().open().member("on", c.on).close().take());
  return Answer{.id = c.version.uuid};
}

}  // namespace ctrlplane
