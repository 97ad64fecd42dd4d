#include "bench/fleet.h"

#include <fmt/core.h>

#include "base/check.h"
#include "base/uuid.h"

namespace ctrlplane::bench {
namespace {

constexpr size_t kRowsPerCommit = 20'000;

}  // namespace

ResourceInput resource_input(size_t n) {
  ResourceInput in;
  in.identifier = fmt::format("cluster-{:06}", n);
  in.name = fmt::format("Cluster {:06}", n);
  in.kind = "Cluster";
  in.version = "kubernetes/v1";
  in.config =
      Json::trusted(fmt::format(R"({{"server":"https://c{:06}.example.test:6443","tier":{}}})", n, n % 3));
  in.metadata = {{"region", n % 2 ? "eu-central-1" : "us-east-1"},
                 {"team", fmt::format("team-{}", n % 20)},
                 {"shard", std::to_string(n % 100)}};
  return in;
}

Fleet make_fleet(size_t resources, size_t deployments) {
  const Time now{1'700'000'000'000'000};
  IdSource ids(now, 42);
  Fleet f{.workspace = ids.make<WorkspaceId>(), .token = ids.make<store::Token>(), .created_at = now};
  auto put = [&](Entity e) { f.rows.push_back(Change::put(std::move(e))); };
  f.system = ids.make<SystemId>();
  put(System{.id = f.system, .name = "fleet", .created_at = now});
  f.environment = ids.make<EnvironmentId>();
  put(Environment{.id = f.environment, .name = "production", .resource_selector = "true", .created_at = now});
  for (size_t i = 0; i < deployments; ++i) {
    Deployment d{.id = ids.make<DeploymentId>(), .name = fmt::format("app-{:03}", i), .created_at = now};
    d.slug = d.name;
    d.resource_selector = "resource.kind == 'Cluster'";
    d.agent_selector = "true";
    f.deployments.push_back(d.id);
    put(std::move(d));
  }
  for (DeploymentId d : f.deployments) put(SystemDeployment{f.system, d});
  put(SystemEnvironment{f.system, f.environment});
  f.agent = ids.make<AgentId>();
  for (size_t n = 0; n < resources; ++n) {
    ResourceInput in = resource_input(n);
    // Ids begin with the time: 20 resources a millisecond are about what a provider's set achieves.
    const Time made = now + microseconds(static_cast<int64_t>(n) * 50);
    Resource r{.id = IdSource(made, n).make<ResourceId>(),
               .identifier = in.identifier,
               .name = in.name,
               .kind = in.kind};
    r.version = in.version;
    r.config = in.config;
    r.metadata = in.metadata;
    r.created_at = made;
    f.resources.push_back(r.id);
    put(std::move(r));
  }
  put(JobAgent{.id = f.agent, .name = "runner", .type = "http-pull", .created_at = now});
  return f;
}

Seeder::Seeder(store::Store& store, const Fleet& fleet) : store_(store) {
  auto owner = store.acquire(fleet.workspace, {}, {}, fleet.token);
  CHECK(owner, owner ? "" : owner.error().message);
  commit_.workspace = fleet.workspace;
  commit_.token = fleet.token;
  commit_.now = fleet.created_at;
}

void Seeder::put(Entity row) {
  commit_.changes.push_back(Change::put(std::move(row)));
  if (commit_.changes.size() >= kRowsPerCommit) flush();
}

void Seeder::write(Changes rows) {
  for (Change& c : rows) put(std::move(c.entity));
  flush();
}

void Seeder::flush() {
  if (commit_.changes.empty()) return;
  ++commit_.seq;
  CHECK(store_.commit({&commit_, 1}).front() == store::CommitOutcome::kDurable,
        "the set-up was not committed");
  commit_.changes.clear();
}

namespace {

TargetState at_rest(const Fleet& f, size_t resource, size_t deployment, VersionId version) {
  const uint64_t n = resource * f.deployments.size() + deployment + 1;
  TargetState t{.key = {f.resources[resource], f.environment, f.deployments[deployment]}};
  t.desired_release = t.current_release = t.chain_release = ReleaseId{Uuid::from_halves(n, mix64(n))};
  t.desired_version = t.current_version = version;
  t.current_since = t.last_ended_at = f.created_at;
  t.last_job = JobId{Uuid::from_halves(1, n)};
  t.last_status = JobStatus::kSuccessful;
  t.past = {{version, f.created_at}};
  return t;
}

}  // namespace

void seed_at_rest(store::Store& store, const Fleet& fleet) {
  Seeder seeder(store, fleet);
  seeder.write(fleet.rows);
  std::vector<VersionId> versions;
  for (size_t d = 0; d < fleet.deployments.size(); ++d) {
    Version v{.id = {Uuid::from_halves(9, d + 1)}, .deployment = fleet.deployments[d], .tag = "v1"};
    v.name = v.tag;
    v.created_at = fleet.created_at;
    versions.push_back(v.id);
    seeder.put(std::move(v));
  }
  for (size_t r = 0; r < fleet.resources.size(); ++r)
    for (size_t d = 0; d < fleet.deployments.size(); ++d) seeder.put(at_rest(fleet, r, d, versions[d]));
  seeder.flush();
}

}  // namespace ctrlplane::bench
