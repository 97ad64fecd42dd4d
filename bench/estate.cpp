#include "bench/estate.h"

#include <fmt/core.h>

#include "base/check.h"
#include "engine/select.h"

namespace ctrlplane::bench {
namespace {

constexpr size_t kTeams = 10, kTiers = 4;
constexpr std::string_view kNames[kEnvironments] = {"dev", "qa", "staging", "production-eu", "production-us"};
constexpr size_t kUnderWayFrom = 21;  // what runs where a job is on its way to version kWalk

std::string approval_of(size_t people) { return fmt::format(R"({{"minApprovals":{}}})", people); }

std::string progression_behind(std::string_view environment) {
  return fmt::format(R"~({{"dependsOnEnvironmentSelector":"environment.name == '{}'",)~"
                     R"~("minimumSuccessPercentage":100,"minimumSoakTimeMinutes":10}})~",
                     environment);
}

// How many of the newest versions say no.
size_t refused(Standing s) {
  switch (s) {
    case Standing::kCurrent: return 0;
    case Standing::kAwaiting: return 1;
    case Standing::kHeldBack:
    case Standing::kUnderWay: return kWalk;
    case Standing::kBare: return kVersions;
  }
  return 0;
}

// Three reasons take turns: an approval is missing, a selector excludes it, it is not proved where it must
// be.
bool is_unapproved(size_t version) { return version % 3 == 0; }
bool is_beta(size_t version) { return version % 3 == 1; }

class Maker {
 public:
  explicit Maker(size_t resources) : resources_(resources) {
    estate_.now = parse_rfc3339("2024-05-14T10:00:00Z").value();
    estate_.state = std::make_unique<State>(ids_.make<WorkspaceId>());
  }

  Estate make() {
    declare();
    for (size_t d = 0; d < kDeployments; ++d) publish(d);
    for (size_t e = 0; e < kEnvironments; ++e)
      for (size_t n = 0; n < resources_; ++n) add_resource(e, n);
    for (size_t d = 0; d < kDeployments; ++d)
      for (size_t e = 0; e < kEnvironments; ++e) approve(d, e);
    estate_.state->derive();
    for (size_t d = 0; d < kDeployments; ++d)
      for (size_t e = 0; e < kEnvironments; ++e) stand(d, e);
    return std::move(estate_);
  }

 private:
  void put(Entity e) { estate_.state->apply(Change::put(std::move(e))); }
  Time created_at(size_t version) const {
    return estate_.now - hours(1) - hours(6) * static_cast<int64_t>(version);
  }

  void declare() {
    estate_.system = ids_.make<SystemId>();
    put(System{.id = estate_.system, .name = "estate", .created_at = begun_});
    for (std::string_view name : kNames) {
      Environment e{.id = ids_.make<EnvironmentId>(), .name = std::string(name), .created_at = begun_};
      e.resource_selector = fmt::format("resource.metadata['environment'] == '{}'", name);
      estate_.environments.push_back(e.id);
      put(e);
      put(SystemEnvironment{estate_.system, e.id});
    }
    for (size_t d = 0; d < kDeployments; ++d) {
      Deployment row{.id = ids_.make<DeploymentId>(), .name = fmt::format("app-{:02}", d)};
      row.slug = row.name;
      row.resource_selector = "resource.kind == 'Cluster'";
      row.agent_selector = "true";
      row.metadata = {{"tier", std::to_string(d % kTiers)}};
      row.created_at = begun_;
      estate_.deployments.push_back(row.id);
      put(row);
      put(SystemDeployment{estate_.system, row.id});
    }
    estate_.agent = ids_.make<AgentId>();
    put(JobAgent{.id = estate_.agent, .name = "runner", .type = "http-pull", .created_at = begun_});
    declare_policies();
  }

  struct Written {
    std::string_view type;
    std::string body;
  };
  Policy add_policy(std::string name, std::string selector, int64_t priority, std::vector<Written> rules) {
    Policy p{.id = ids_.make<PolicyId>(), .name = std::move(name), .selector = std::move(selector)};
    p.priority = priority;
    p.created_at = begun_;
    for (const Written& r : rules)
      p.rules.push_back({ids_.make<RuleId>(), begun_, std::string(r.type), Json::trusted(r.body), ""});
    put(p);
    return p;
  }

  void declare_policies() {
    for (size_t e = 0; e < kEnvironments; ++e) {
      const bool first = e == 0;
      Written gate{"versionCooldown", R"({"intervalSeconds":60})"};
      if (!first) gate = {"environmentProgression", progression_behind(kNames[std::min<size_t>(e - 1, 2)])};
      add_policy(fmt::format("gate of {}", kNames[e]), fmt::format("environment.name == '{}'", kNames[e]), 10,
                 {{"anyApproval", approval_of(first ? 0 : 2)}, gate});
    }
    for (size_t team = 0; team < kTeams; ++team)
      estate_.window_policy = add_policy(
          fmt::format("hours of team {}", team), fmt::format("resource.metadata['team'] == 'team-{}'", team),
          0,
          {{"versionSelector", R"({"selector":"version.metadata['channel'] == 'stable'"})"},
           {"deploymentWindow", R"({"rrule":"FREQ=DAILY;BYHOUR=8;BYMINUTE=0","durationMinutes":600})"}});
    for (size_t tier = 0; tier < kTiers; ++tier)
      add_policy(fmt::format("pace of tier {}", tier),
                 fmt::format("deployment.metadata['tier'] == '{}'", tier), 0,
                 {{"versionCooldown", R"({"intervalSeconds":1800})"},
                  {"gradualRollout", R"({"rolloutType":"linear-normalized","timeScaleInterval":3600})"}});
    add_policy("attempts", "true", 0,
               {{"retry", R"({"maxRetries":2,"backoffSeconds":60})"}, {"rollback", "{}"}});
    CHECK(estate_.state->policies.size() == kPolicies, "another number of policies");
  }

  void publish(size_t d) {
    const bool has_betas = standing_of(d, kEnvironments - 1) > Standing::kAwaiting;
    estate_.versions.emplace_back();
    for (size_t v = 0; v < kVersions; ++v) {
      Version row{.id = IdSource(created_at(v), mix64(d)).make<VersionId>(),
                  .deployment = estate_.deployments[d]};
      row.tag = row.name = fmt::format("v1.{}.0", kVersions - v);
      row.config = Json::trusted(fmt::format(R"({{"image":"registry.example.test/app:{}"}})", row.tag));
      row.metadata = {{"channel", has_betas && is_beta(v) ? "beta" : "stable"}, {"commit", row.id.str()}};
      row.created_at = created_at(v);
      row.created_by = "ci";
      estate_.versions[d].push_back(row.id);
      put(std::move(row));
    }
  }

  void add_resource(size_t e, size_t n) {
    Resource r{.id = ids_.make<ResourceId>(), .identifier = fmt::format("{}-{:05}", kNames[e], n)};
    r.name = r.identifier;
    r.kind = "Cluster";
    r.version = "kubernetes/v1";
    r.config = Json::trusted(fmt::format(R"({{"server":"https://{}.example.test:6443"}})", r.identifier));
    r.metadata = {{"environment", std::string(kNames[e])},
                  {"region", n % 2 ? "eu-central-1" : "us-east-1"},
                  {"team", fmt::format("team-{}", n % kTeams)}};
    r.created_at = begun_;
    put(std::move(r));
  }

  // Two people approve a version soon after it is there; of those that wait one has.
  void approve(size_t d, size_t e) {
    const size_t waiting = refused(standing_of(d, e));
    for (size_t v = 0; v < kVersions; ++v) {
      Approval row{.version = estate_.versions[d][v], .environment = estate_.environments[e]};
      row.at = created_at(v) + minutes(20);
      for (std::string_view actor : {"ann", "bob"}) {
        row.actor = actor;
        if (actor == "ann" || v >= waiting || !is_unapproved(v)) put(row);
      }
    }
  }

  void stand(size_t d, size_t e) {
    const Standing standing = standing_of(d, e);
    const State& state = *estate_.state;
    auto& list = estate_.targets[static_cast<size_t>(standing)];
    std::vector<TargetIx> here;
    state.each_target_in(state.deployments.find(estate_.deployments[d]),
                         state.environments.find(estate_.environments[e]),
                         [&](TargetIx t) { here.push_back(t); });
    CHECK(here.size() == resources_, "another number of targets");
    list.insert(list.end(), here.begin(), here.end());
    for (TargetIx t : here) stand_on(d, t, standing);
  }

  void stand_on(size_t d, TargetIx t, Standing standing) {
    if (standing == Standing::kBare) return;
    const TargetKey key = estate_.state->key_of(t);
    const auto& versions = estate_.versions[d];
    auto release = [&](size_t v) { return release_id(key, versions[v], Digest{}); };
    const bool under_way = standing == Standing::kUnderWay;
    const size_t runs = under_way ? kUnderWayFrom : refused(standing);
    const size_t wanted = under_way ? kWalk : runs;
    TargetState row{.key = key};
    row.current_version = row.last_version = versions[runs];
    row.current_release = release(runs);
    row.desired_version = versions[wanted];
    row.desired_release = row.chain_release = release(wanted);
    row.current_since = row.last_ended_at = created_at(runs) + minutes(30);
    row.last_job = ids_.make<JobId>();
    row.last_status = JobStatus::kSuccessful;
    // What must be proved has run where it must, and what must not be has not.
    for (size_t v : {kUnderWayFrom, kWalk, size_t{0}})
      if (v >= runs) row.past.push_back({versions[v], created_at(v) + minutes(30)});
    if (row.past.empty() || row.past.back().version != versions[runs])
      row.past.push_back({versions[runs], *row.current_since});
    put(std::move(row));
    if (!under_way) return;
    Job job{.id = ids_.make<JobId>(), .target = key, .release = release(wanted)};
    job.version = versions[wanted];
    job.agent = estate_.agent;
    job.status = JobStatus::kInProgress;
    job.holder = "runner-" + job.id.str();
    job.created_at = job.updated_at = estate_.now - minutes(5);
    job.handed_over_at = job.started_at = job.created_at;
    put(std::move(job));
  }

  size_t resources_;
  Time begun_ = parse_rfc3339("2024-01-01T00:00:00Z").value();
  IdSource ids_{begun_, 42};
  Estate estate_;
};

}  // namespace

Standing standing_of(size_t deployment, size_t environment) {
  const bool is_last = environment == kEnvironments - 1;
  if (environment < kEnvironments - 2 || deployment < 5) return Standing::kCurrent;
  if (deployment < 15) return Standing::kAwaiting;
  if (deployment < 17) return Standing::kHeldBack;
  if (deployment < 19) return Standing::kUnderWay;
  return is_last ? Standing::kBare : Standing::kHeldBack;
}

Estate make_estate(size_t resources) { return Maker(resources).make(); }

}  // namespace ctrlplane::bench
