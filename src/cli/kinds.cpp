#include "cli/kinds.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

constexpr bool kWide = true;

const std::vector<Kind> kKinds = {
    {.singular = "workspace",
     .plural = "workspaces",
     .aliases = {"ws"},
     .where = Where::kInstance,
     .path = "workspaces",
     .name = "slug",
     .items = "workspaces",
     .columns =
         {{"SLUG", "slug"}, {"NAME", "name"}, {"AGE", "createdAt", Format::kAge}, {"ID", "id", {}, kWide}}},
    {.singular = "system",
     .plural = "systems",
     .path = "systems",
     .columns = {{"NAME", "name"}, {"DESCRIPTION", "description"}, {"ID", "id", {}, kWide}}},
    {.singular = "environment",
     .plural = "environments",
     .aliases = {"env", "envs"},
     .path = "environments",
     .by_name = "environments/name",
     .columns = {{"NAME", "name"},
                 {"SELECTOR", "resourceSelector"},
                 {"AGE", "createdAt", Format::kAge},
                 {"DESCRIPTION", "description", {}, kWide},
                 {"ID", "id", {}, kWide}}},
    {.singular = "deployment",
     .plural = "deployments",
     .path = "deployments",
     .id = "deployment.id",
     .name = "deployment.name",
     .by_name = "deployments/name",
     .columns = {{"NAME", "deployment.name"},
                 {"SYSTEMS", "systems", Format::kNames},
                 {"SELECTOR", "deployment.resourceSelector"},
                 {"AGENTS", "deployment.jobAgentSelector", {}, kWide},
                 {"TIMEOUT", "deployment.jobTimeout", {}, kWide},
                 {"DESCRIPTION", "deployment.description", {}, kWide},
                 {"ID", "deployment.id", {}, kWide}}},
    {.singular = "resource",
     .plural = "resources",
     .path = "resources",
     .name = "identifier",
     .by_id = false,
     .by_name = "resources/identifier",
     .id_cel = "resource.id",
     .deleted = Delete::kByName,
     .columns = {{"IDENTIFIER", "identifier"},
                 {"NAME", "name"},
                 {"KIND", "kind"},
                 {"VERSION", "version"},
                 {"AGE", "createdAt", Format::kAge},
                 {"PROVIDER", "providerId", {}, kWide},
                 {"ID", "id", {}, kWide}}},
    {.singular = "policy",
     .plural = "policies",
     .path = "policies",
     .columns = {{"NAME", "name"},
                 {"ENABLED", "enabled"},
                 {"PRIORITY", "priority"},
                 {"SELECTOR", "selector"},
                 {"DESCRIPTION", "description", {}, kWide},
                 {"ID", "id", {}, kWide}}},
    {.singular = "provider",
     .plural = "providers",
     .aliases = {"resource-provider", "resource-providers"},
     .path = "resource-providers",
     .by_id = false,
     .by_name = "resource-providers/name",
     .deleted = Delete::kByName,
     .columns = {{"NAME", "name"}, {"AGE", "createdAt", Format::kAge}, {"ID", "id", {}, kWide}}},
    {.singular = "agent",
     .plural = "agents",
     .aliases = {"job-agent", "job-agents"},
     .path = "job-agents",
     .columns = {{"NAME", "name"}, {"TYPE", "type"}, {"ID", "id"}}},
    {.singular = "version",
     .plural = "versions",
     .where = Where::kDeployment,
     .path = "versions",
     .name = "tag",
     .by_id = false,
     .deleted = Delete::kNever,
     .columns = {{"TAG", "tag"},
                 {"STATUS", "status", Format::kStatus},
                 {"NAME", "name"},
                 {"SCOPE", "scope", Format::kScope},
                 {"AGE", "createdAt", Format::kAge},
                 {"SELECTOR", "targetSelector", {}, kWide},
                 {"MESSAGE", "message", {}, kWide},
                 {"ID", "id", {}, kWide}}},
    {.singular = "job",
     .plural = "jobs",
     .path = "jobs",
     .id = "job.id",
     .name = "job.id",
     .id_suffix = "/with-release",
     .searched = 5000,
     .deleted = Delete::kNever,
     .columns = {{"ID", "job.id"},
                 {"STATUS", "job.status", Format::kStatus},
                 {"DEPLOYMENT", "deployment.name"},
                 {"ENVIRONMENT", "environment.name"},
                 {"RESOURCE", "resource.name"},
                 {"VERSION", "release.version.tag"},
                 {"AGE", "job.createdAt", Format::kAge},
                 {"AGENT", "job.jobAgentId", {}, kWide},
                 {"MESSAGE", "job.message", {}, kWide}}},
    {.singular = "target",
     .plural = "targets",
     .aliases = {"release-target", "release-targets"},
     .path = "release-targets",
     .id = "releaseTarget.key",
     .name = "releaseTarget.key",
     .by_id = false,
     .deleted = Delete::kNever,
     .columns = {{"DEPLOYMENT", "deployment.name"},
                 {"ENVIRONMENT", "environment.name"},
                 {"RESOURCE", "resource.name"},
                 {"CURRENT", "state.currentVersion.tag"},
                 {"DESIRED", "state.desiredVersion.tag"},
                 {"JOB", "state.activeJob.status|state.latestJob.status", Format::kStatus},
                 {"FROZEN", "state.freeze.reason"},
                 {"REASON", "state.reason", {}, kWide},
                 {"KEY", "releaseTarget.key", {}, kWide}}},
    {.singular = "member",
     .plural = "members",
     .path = "members",
     .id = "userId",
     .name = "email",
     .by_id = false,
     .columns = {{"EMAIL", "email"}, {"NAME", "name"}, {"ROLE", "role"}, {"USER", "userId", {}, kWide}}},
    {.singular = "api-key",
     .plural = "api-keys",
     .aliases = {"key", "keys", "apikey", "apikeys"},
     .where = Where::kInstance,
     .path = "api-keys",
     .by_id = false,
     .columns = {{"NAME", "name"},
                 {"PREFIX", "prefix"},
                 {"ROLE", "role"},
                 {"EXPIRES", "expiresAt"},
                 {"AGE", "createdAt", Format::kAge},
                 {"WORKSPACE", "workspaceId", {}, kWide},
                 {"ID", "id", {}, kWide}}},
    {.singular = "user",
     .plural = "users",
     .where = Where::kInstance,
     .path = "users",
     .name = "email",
     .columns = {{"EMAIL", "email"},
                 {"NAME", "name"},
                 {"ADMIN", "admin"},
                 {"AGE", "createdAt", Format::kAge},
                 {"ID", "id", {}, kWide}}},
};

}  // namespace

const std::vector<Kind>& kinds() { return kKinds; }

const Kind& kind(std::string_view singular) {
  auto found = std::ranges::find(kKinds, singular, &Kind::singular);
  CHECK(found != kKinds.end(), singular);
  return *found;
}

Outcome<const Kind*> kind_called(std::string_view word) {
  std::string wanted = lower(word);
  std::vector<std::string_view> plurals;
  for (const Kind& k : kKinds) {
    if (wanted == k.singular || wanted == k.plural || std::ranges::find(k.aliases, wanted) != k.aliases.end())
      return &k;
    plurals.push_back(k.plural);
  }
  return wrong_use(fmt::format("there is no kind '{}'{}", word, did_you_mean(word, plurals)),
                   {fmt::format("kinds: {}", fmt::join(plurals, ", "))});
}

}  // namespace ctrlplane::cli
