// What people say about versions: approvals, dependencies, and deploying by hand.
#include <algorithm>

#include <fmt/core.h>

#include "api/api.h"
#include "api/families.h"
#include "api/target_key.h"
#include "api/views.h"

namespace ctrlplane::api {
namespace {

Status version_is_hot(const State& s, VersionId id) {
  if (s.versions.find(id)) return {};
  return fail(ErrorCode::kNotFound, fmt::format("no version {}", id.str()));
}

Status approve(Call& c) {
  VersionId version = TRY(c.id<VersionId>("versionId"));
  SetApproval approval{.version = version, .reason = c.body().text("reason")};
  approval.status = *parse_enum<ApprovalStatus>(c.body().text("status"));
  for (const std::string& id : c.body().texts("environmentIds"))
    approval.environments.push_back(*EnvironmentId::parse(id));
  approval.role = c.role();
  return c.write(std::move(approval), [version](const State&, Time, const Answer&) {
    return fmt::format(R"({{"id":"{}","message":"User approval record upserted"}})", version.str());
  });
}

Status list_approvals(Call& c) {
  VersionId version = TRY(c.id<VersionId>("versionId"));
  return c.read([version, page = c.page()](const State& s, Time) -> Result<std::string> {
    TRY(version_is_hot(s, version));
    std::vector<Approval> found;
    s.environments.each([&](EnvironmentIx e, const EnvironmentSlot&) {
      for (const Approval& a : s.approvals_of(s.versions.find(version), e)) found.push_back(a);
    });
    std::sort(found.begin(), found.end(), [](auto& a, auto& b) {
      return std::tie(a.at, a.environment, a.actor) < std::tie(b.at, b.environment, b.actor);
    });
    return page_of(found, page, [](JsonWriter& w, const Approval& a) {
      w.open().member("versionId", a.version).member("environmentId", a.environment).member("actor", a.actor);
      w.member("status", to_string(a.status))
          .member_unless_empty("reason", a.reason)
          .member("createdAt", a.at)
          .close();
    });
  });
}

// ---- Dependencies
// ------------------------------------------------------------------------------------------

Status list_dependencies(Call& c) {
  VersionId version = TRY(c.id<VersionId>("versionId"));
  return c.read([version](const State& s, Time) -> Result<std::string> {
    TRY(version_is_hot(s, version));
    std::vector<VersionDependency> all = s.dependencies_of(s.versions.find(version));
    std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.on < b.on; });
    JsonWriter w;
    w.open_array();
    for (const VersionDependency& d : all) {
      w.open().member("deploymentVersionId", d.version).member("dependencyDeploymentId", d.on);
      w.member("versionSelector", d.selector).close();
    }
    w.close_array();
    return w.take();
  });
}

RenderFn about_version(VersionId id, std::string_view message) {
  return [id, text = std::string(message)](const State&, Time, const Answer&) {
    JsonWriter w;
    w.open().member("id", id).member("message", text).close();
    return w.take();
  };
}

Status put_dependency(Call& c) {
  VersionId version = TRY(c.id<VersionId>("versionId"));
  SetVersionDependency d{version, TRY(c.id<DeploymentId>("dependencyDeploymentId")),
                         c.body().text("versionSelector")};
  return c.write(std::move(d), about_version(version, "Deployment version dependency upsert requested"));
}

Status delete_dependency(Call& c) {
  VersionId version = TRY(c.id<VersionId>("versionId"));
  DeleteVersionDependency d{version, TRY(c.id<DeploymentId>("dependencyDeploymentId"))};
  return c.write(std::move(d), about_version(version, "Deployment version dependency delete requested"));
}

// ---- By hand
// -----------------------------------------------------------------------------------------------

Status force_deploy(Call& c) {
  ForceDeploy command{.target = TRY(target_key_in(c)),
                      .version = *c.body().id<VersionId>("versionId"),
                      .reason = c.body().text("reason"),
                      .bypass_freeze = c.body().flag("bypassFreeze")};
  if (command.bypass_freeze)
    TRY(c.api().directory().allows(c.who(), permission::kFreezeBypass, c.workspace()));
  return c.write(std::move(command), [](const State&, Time, const Answer& answer) {
    JsonWriter w;
    // A member of a bracket group that is stuck on it: the group starts it, in its turn.
    const bool is_retry = answer.jobs.empty();
    w.open().member("id", answer.id);
    w.member("message", is_retry ? "Retry in its bracket group requested" : "Force deploy requested");
    w.key("jobIds").open_array();
    for (JobId id : answer.jobs) w.value(id);
    w.close_array().close();
    return w.take();
  });
}

Status clear_rollback(Call& c) {
  TargetKey key = TRY(target_key_in(c));
  return c.write(ClearRollback{key}, [key](const State&, Time, const Answer&) {
    return fmt::format(R"({{"id":"{}","message":"Rollback cleared"}})", key.str());
  });
}

}  // namespace

Family approval_family() {
  using namespace permission;
  constexpr std::string_view kRecords = CTRLPLANE_W "/deployment-versions/{versionId}/user-approval-records";
  constexpr std::string_view kDependency =
      CTRLPLANE_W "/deployment-versions/{versionId}/dependencies/{dependencyDeploymentId}";
  return {
      "People",
      {
          {.method = "PUT",
           .path = kRecords,
           .id = "approveVersion",
           .summary =
               "Approve or reject a version for environments; for all of the deployment's if none is named",
           .permission = kVersionApprove,
           .body = "UpsertUserApprovalRecordRequest",
           .outcomes = {{202, "Accepted"}},
           .handler = approve},
          {.method = "GET",
           .path = kRecords,
           .id = "listApprovals",
           .summary = "Who said what about a version",
           .permission = kRead,
           .query = paged(),
           .outcomes = {{200, "ApprovalRecordPage"}},
           .handler = list_approvals},
          {.method = "GET",
           .path = CTRLPLANE_W "/deployment-versions/{versionId}/dependencies",
           .id = "listVersionDependencies",
           .summary = "What a version needs of other deployments",
           .permission = kRead,
           .outcomes = {{200, "VersionDependencies"}},
           .handler = list_dependencies},
          {.method = "PUT",
           .path = kDependency,
           .id = "upsertVersionDependency",
           .summary = "Say what a version needs of another deployment on the same resource",
           .permission = kVersionWrite,
           .body = "UpsertDependencyRequest",
           .outcomes = {{202, "Accepted"}},
           .handler = put_dependency},
          {.method = "DELETE",
           .path = kDependency,
           .id = "deleteVersionDependency",
           .summary = "Take such a need away",
           .permission = kVersionWrite,
           .outcomes = {{202, "Accepted"}},
           .handler = delete_dependency},
          {.method = "POST",
           .path = CTRLPLANE_W "/release-targets/{releaseTargetKey}/force-deploy",
           .id = "forceDeploy",
           .summary = "Deploy a version now, whatever policies say",
           .permission = kTargetForce,
           .body = "ForceDeployRequest",
           .outcomes = {{202, "Redeployed"}},
           .handler = force_deploy},
          {.method = "POST",
           .path = CTRLPLANE_W "/release-targets/{releaseTargetKey}/clear-rollback",
           .id = "clearRollback",
           .summary = "Let versions that were rolled back be tried again",
           .permission = kTargetDeploy,
           .outcomes = {{202, "Accepted"}},
           .handler = clear_rollback},
      }};
}

}  // namespace ctrlplane::api
