#include <limits>
#include <map>

#include <fmt/core.h>

#include "api/anywhere.h"
#include "api/families.h"
#include "api/views.h"
#include "engine/entities.h"
#include "engine/scope_count.h"

namespace ctrlplane::api {
namespace {

Status deployment_exists(const State& s, DeploymentId id) {
  if (s.deployments.find(id)) return {};
  return fail(ErrorCode::kNotFound, fmt::format("no deployment {}", id.str()));
}

// What these versions depend on.
Result<std::map<VersionId, std::vector<VersionDependency>>> dependencies_of(
    Call& call, const std::vector<Version>& versions) {
  std::map<VersionId, std::vector<VersionDependency>> found;
  if (versions.empty()) return found;
  std::vector<store::CellView> ids;
  for (const Version& v : versions) ids.push_back(store::CellView(v.id.uuid));
  store::ColdQuery query;
  query.among = {{"version_id", std::move(ids)}};
  query.limit = std::numeric_limits<int64_t>::max();  // a version has few
  for (VersionDependency& d : TRY(rows<VersionDependency>(call.store(), call.workspace(), query)))
    found[d.version].push_back(std::move(d));
  return found;
}

// One that is in memory.
std::string text_of_hot(const State& s, VersionId id) {
  const VersionIx v = s.versions.find(id);
  return text_of(s.versions[v].row, s.dependencies_of(v), scope_of(s, v));
}

using Scopes = std::map<VersionId, ScopeNumbers>;

Scopes scopes_in(const State& s, DeploymentIx d) {
  Scopes all;
  if (s.deployments[d].scoped.empty()) return all;
  const uint64_t total = targets_of(s, d);
  for (VersionIx v : s.deployments[d].scoped)
    if (auto scope = scope_of(s, v, total)) all[s.versions[v].row.id] = *scope;
  return all;
}

std::optional<ScopeNumbers> scope_among(const Scopes& scopes, VersionId id) {
  auto it = scopes.find(id);
  return it == scopes.end() ? std::nullopt : std::optional(it->second);
}

// All of them, also those that are only in the store.
Status list(Call& c) {
  DeploymentId id = TRY(c.id<DeploymentId>("deploymentId"));
  bool ascending = c.query("order") == "asc";
  return c.ask<Scopes>(
      [id](const State& s, Time) -> Result<Scopes> {
        TRY(deployment_exists(s, id));
        return scopes_in(s, s.deployments.find(id));
      },
      [id, ascending](Call& call, Scopes scopes) -> Status {
        store::ColdQuery query;
        query.equals = {{"deployment_id", store::CellView(id.uuid)}};
        query.order_by = "created_at";
        query.descending = !ascending;
        auto found = TRY(cold_page<Version>(call.store(), call.workspace(), query, call.page()));
        auto needs = TRY(dependencies_of(call, found.items));
        return call.reply(cold_page_text(
            found.items, found.total, call.page(),
            [&](JsonWriter& w, const Version& v) { write(w, v, needs[v.id], scope_among(scopes, v.id)); }));
      });
}

// ---- Making one ------------------------------------------------------------------------------------------

constexpr size_t kMostListed = 1000;
constexpr size_t kStep = 2000;         // resources looked at between which the loop serves others
constexpr size_t kMostLooks = 10'000;  // at a count that does not come to its end

Result<CreateVersion> command_from(Call& c, WorkspaceId workspace) {
  const Body& b = c.body();
  CreateVersion v{.deployment = TRY(c.id<DeploymentId>("deploymentId"))};
  v.tag = b.text("tag");
  v.name = b.text("name");
  v.message = b.text("message");
  if (auto status = b.maybe_text("status")) v.status = *parse_enum<VersionStatus>(*status);
  v.config = TRY(b.document("config"));
  v.agent_config = TRY(b.document("jobAgentConfig"));
  v.metadata = b.metadata("metadata");
  if (auto dependencies = b.object("dependencies"))
    for (const std::string& id : dependencies->names()) {
      auto deployment = DeploymentId::parse(id);
      if (!deployment) return invalid("dependencies", fmt::format("'{}' is no deployment id", id));
      v.dependencies.emplace_back(*deployment, dependencies->object(id)->text("versionSelector"));
    }
  v.bypass_freeze = b.flag("bypassFreeze");
  for (const std::string& id : b.texts("bypassFreezeIds"))
    v.bypass_freeze_ids.push_back(*FreezeId::parse(id));
  if (v.bypass_freeze || !v.bypass_freeze_ids.empty())
    TRY(c.api().directory().allows(c.who(), permission::kFreezeBypass, workspace));
  v.target_selector = b.maybe_text("targetSelector");
  if (v.target_selector && !v.target_selector->empty()) {  // here, off the loop
    auto compiled = Selector::compile(*v.target_selector, Selector::Subject::kTarget);
    if (!compiled) return invalid("targetSelector", compiled.error().message);
  }
  if (auto word = b.maybe_text("onSelectorError")) v.on_selector_error = *parse_enum<OnSelectorError>(*word);
  v.may_scope = c.api().directory().allows(c.who(), permission::kVersionScope, workspace).has_value();
  // createdAt is checked and not used: the order of versions is the order in which they came.
  return v;
}

// How many it is for is known when they have been counted: mostly at once.
void answer_when_counted(Call& call, WorkspaceId workspace, VersionId id, std::string made,
                         size_t looks = 0) {
  auto counted = std::make_shared<bool>(true);
  Query look{[counted, id, made](const State& s, Time) -> Result<std::string> {
    const VersionIx v = s.versions.find(id);
    if (!v) return made;
    *counted = !s.is_counting(v);
    return text_of_hot(s, id);
  }};
  auto status = call.submit(workspace, std::move(look), {}, [=](Call& c, Reply reply) {
    if (reply && !*counted && looks < kMostLooks)
      return answer_when_counted(c, workspace, id, made, looks + 1);
    c.reply(reply ? std::move(reply->text) : made);
  });
  if (!status) call.reply(std::move(made));
}

std::string dry_run_text(const ScopeCount& count) {
  JsonWriter w;
  w.open().key("scope");
  write(w, ScopeNumbers{count.matched, count.undetermined, count.total});
  w.key("targets").open_array();
  for (const ScopeCount::Found& f : count.found) {
    w.open().member("releaseTargetKey", f.key.str()).key("resource").open().member("id", f.key.resource);
    w.member("identifier", f.identifier).member("name", f.resource).close();
    w.key("environment").open().member("id", f.key.environment).member("name", f.environment).close();
    w.member("undetermined", f.undetermined).close();
  }
  w.close_array().member("more", count.found.size() < count.matched + count.undetermined);
  return w.close().take();
}

struct DryRun {
  DeploymentId deployment;
  std::optional<Selector> selector;
  ScopeCount count;
  bool done = false;
};

void count_on(Call& call, WorkspaceId workspace, std::shared_ptr<DryRun> run) {
  Query step{[run](const State& s, Time) -> Result<std::string> {
    TRY(deployment_exists(s, run->deployment));
    run->done = count_some(s, s.deployments.find(run->deployment), run->selector ? &*run->selector : nullptr,
                           run->count, kStep);
    return std::string();
  }};
  auto status = call.submit(workspace, std::move(step), {}, [=](Call& c, Reply reply) {
    if (!reply) return c.refuse(reply.error());
    run->done ? void(c.reply(dry_run_text(run->count))) : count_on(c, workspace, run);
  });
  if (!status) call.refuse(status.error());
}

// What a creation would refuse is refused here too.
Status try_out(Call& c, WorkspaceId workspace, CreateVersion v) {
  auto run = std::make_shared<DryRun>(DryRun{.deployment = v.deployment});
  run->count.most = kMostListed;
  if (v.target_selector && !v.target_selector->empty())
    run->selector = TRY(Selector::compile(*v.target_selector, Selector::Subject::kTarget));
  Query check{[v](const State& s, Time) -> Result<std::string> {
    TRY(deployment_exists(s, v.deployment));
    TRY(valid_scope(s, v));
    return std::string();
  }};
  return c.submit(workspace, std::move(check), {}, [=](Call& call, Reply reply) {
    reply ? count_on(call, workspace, run) : call.refuse(reply.error());
  });
}

Status create_in(Call& c, WorkspaceId workspace) {
  CreateVersion v = TRY(command_from(c, workspace));
  if (c.query("dryRun") == "true") return try_out(c, workspace, std::move(v));
  auto counting = std::make_shared<bool>(false);
  auto render = [counting](const State& s, Time, const Answer& answer) {
    *counting = s.is_counting(s.versions.find(VersionId{answer.id}));
    return text_of_hot(s, VersionId{answer.id});
  };
  return c.submit(workspace, std::move(v), render, [workspace, counting](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    if (!*counting) return void(call.reply(std::move(reply->text)));
    answer_when_counted(call, workspace, VersionId{reply->id}, std::move(reply->text));
  });
}

Status create(Call& c) { return create_in(c, c.workspace()); }

Status create_anywhere(Call& c) {
  DeploymentId id = TRY(c.id<DeploymentId>("deploymentId"));
  return c.later([id](Call& call) -> Status {
    auto found = TRY(find_anywhere<Deployment>(call, id.uuid, permission::kVersionWrite, "deployment"));
    return create_in(call, found.first);
  });
}

// ---- One of them -----------------------------------------------------------------------------------------

Status get(Call& c) {
  VersionId id = TRY(c.id<VersionId>("versionId"));
  auto look = [id](const State& s, Time) -> Result<std::optional<ScopeNumbers>> {
    const VersionIx v = s.versions.find(id);
    return v ? scope_of(s, v) : std::nullopt;
  };
  return c.ask<std::optional<ScopeNumbers>>(
      look, [id](Call& call, std::optional<ScopeNumbers> scope) -> Status {
        auto version = TRY(row<Version>(call.store(), call.workspace(), id.uuid));
        if (!version) return fail(ErrorCode::kNotFound, fmt::format("no version {}", id.str()));
        auto needs = TRY(dependencies_of(call, {*version}));
        return call.reply(text_of(*version, needs[id], scope));
      });
}

Status update(Call& c) {
  VersionId id = TRY(c.id<VersionId>("versionId"));
  for (const std::string& name : c.body().names())
    if (name != "status" && name != "message" && name != "id")
      return invalid(name, "a version is immutable: only its status and message can change");
  if (!c.body().has("status") && !c.body().has("message")) return invalid("status", "is required");
  return c.later([id](Call& call) -> Status {
    auto known = TRY(row<Version>(call.store(), call.workspace(), id.uuid));
    if (!known) return fail(ErrorCode::kNotFound, fmt::format("no version {}", id.str()));
    auto status = call.body().maybe_text("status");
    SetVersionStatus command{id, status ? *parse_enum<VersionStatus>(*status) : known->status,
                             call.body().maybe_text("message").value_or(known->message), known};
    auto needs = std::move(TRY(dependencies_of(call, {*known}))[id]);
    known->status = command.status;
    known->message = command.message;
    return call.write(std::move(command), [known = *known, needs](const State& s, Time, const Answer&) {
      return s.versions.find(known.id) ? text_of_hot(s, known.id) : text_of(known, needs);
    });
  });
}

// ---- Settings --------------------------------------------------------------------------------------------

std::string settings_text(const State& s, Time, const Answer&) { return version_settings(s).json().text(); }

Status get_settings(Call& c) {
  return c.read([](const State& s, Time now) -> Result<std::string> { return settings_text(s, now, {}); });
}

Status put_settings(Call& c) {
  SetVersionSettings command;
  if (auto word = c.body().maybe_text("onSelectorError"))
    command.settings.on_selector_error = *parse_enum<OnSelectorError>(*word);
  command.settings.scope_needs_permission = c.body().flag("scopeNeedsPermission");
  return c.write(std::move(command), settings_text);
}

}  // namespace

Family version_family() {
  using namespace permission;
  constexpr std::string_view kAll = CTRLPLANE_W "/deployments/{deploymentId}/versions";
  constexpr std::string_view kOne = CTRLPLANE_W "/deployment-versions/{versionId}";
  constexpr std::string_view kSettings = CTRLPLANE_W "/deployment-versions/settings";
  const std::vector<QueryParameter> kDryRun = {
      {"dryRun", "boolean", "only say which targets it would be for"}};
  return {"Versions",
          {
              {.method = "GET",
               .path = kAll,
               .id = "listDeploymentVersions",
               .summary = "Versions of a deployment, newest first",
               .permission = kRead,
               .query = paged({{"order", "\"asc\" | \"desc\"", "by time of creation"}}),
               .outcomes = {{200, "DeploymentVersionPage"}},
               .handler = list},
              {.method = "POST",
               .path = kAll,
               .id = "createDeploymentVersion",
               .summary = "Register a version, for all targets of the deployment or for those that its "
                          "targetSelector matches",
               .permission = kVersionWrite,
               .query = kDryRun,
               .body = "CreateDeploymentVersionRequest",
               .outcomes = {{200, "VersionMade"}},
               .handler = create},
              {.method = "POST",
               .path = "/api/v1/deployments/{deploymentId}/versions",
               .id = "createDeploymentVersionAnywhere",
               .summary = "The same without naming the workspace",
               .permission = kSelf,
               .query = kDryRun,
               .body = "CreateDeploymentVersionRequest",
               .outcomes = {{200, "VersionMade"}},
               .handler = create_anywhere},
              {.method = "GET",
               .path = kSettings,
               .id = "getVersionSettings",
               .summary = "What the workspace asks of its versions",
               .permission = kRead,
               .outcomes = {{200, "VersionSettings"}},
               .handler = get_settings},
              {.method = "PUT",
               .path = kSettings,
               .id = "putVersionSettings",
               .summary = "Change that; what is left out is as by default",
               .permission = kWorkspaceWrite,
               .body = "UpdateVersionSettings",
               .outcomes = {{200, "VersionSettings"}},
               .handler = put_settings},
              {.method = "GET",
               .path = kOne,
               .id = "getDeploymentVersion",
               .summary = "A version",
               .permission = kRead,
               .outcomes = {{200, "DeploymentVersion"}},
               .handler = get},
              {.method = "PATCH",
               .path = kOne,
               .id = "updateDeploymentVersion",
               .summary = "Change a version's status",
               .permission = kVersionWrite,
               .body = "UpdateDeploymentVersionRequest",
               .outcomes = {{202, "DeploymentVersion"}},
               .handler = update},
              {.method = "PATCH",
               .path = CTRLPLANE_W "/deploymentversions/{versionId}",
               .id = "updateDeploymentVersionOldPath",
               .summary = "The same under its older path",
               .permission = kVersionWrite,
               .body = "UpdateDeploymentVersionRequest",
               .outcomes = {{202, "DeploymentVersion"}},
               .handler = update},
          }};
}

}  // namespace ctrlplane::api
