// Random small workspaces under random policies and events. When the engine has come to rest, nothing may be
// left to do, and what it says of each target must be what a workspace loaded anew, all caches cold, says
// too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include <fmt/core.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::World;

constexpr std::string_view kRules[][2] = {
    {"anyApproval", R"~({"minApprovals":1})~"},
    {"anyApproval", R"~({"minApprovals":2})~"},
    {"versionSelector", R"~({"selector":"!version.tag.endsWith('3')"})~"},
    {"versionSelector", R"~({"selector":"version.tag.endsWith('2') || resource.metadata['ring'] == 'a'"})~"},
    {"versionCooldown", R"~({"intervalSeconds":900})~"},
    {"deploymentWindow", R"~({"rrule":"FREQ=HOURLY;INTERVAL=2","durationMinutes":30})~"},
    {"deploymentWindow", R"~({"rrule":"FREQ=HOURLY;INTERVAL=3","durationMinutes":60,"allowWindow":false})~"},
    {"environmentProgression", R"~({"dependsOnEnvironmentSelector":"environment.name == 'e0'"})~"},
    {"environmentProgression", R"~({"dependsOnEnvironmentSelector":"environment.description == 'gate'",)~"
                               R"~("minimumSoakTimeMinutes":20,"mode":"any"})~"},
    {"environmentProgression",
     R"~({"dependsOnEnvironmentSelector":"true","minimumSuccessPercentage":50,"maximumAgeHours":3})~"},
    {"gradualRollout", R"~({"rolloutType":"linear","timeScaleInterval":600})~"},
    {"gradualRollout", R"~({"rolloutType":"linear-normalized","timeScaleInterval":3600})~"},
    {"deploymentDependency", R"~({"dependsOn":"deployment.name == 'd0'"})~"},
    {"deploymentDependency", R"~({"dependsOn":"deployment.description == 'gate'","require":"all"})~"},
    {"retry", R"~({"maxRetries":2,"backoffSeconds":300})~"},
    {"retry", R"~({"maxRetries":1})~"},
    {"rollback", "{}"},
};
constexpr std::string_view kSelectors[] = {
    "true",
    "environment.name != 'e0'",
    "environment.description == 'gate'",
    "deployment.name == 'd1'",
    "resource.metadata['ring'] == 'a'",
};

constexpr const char* kScopes[] = {
    "resource.metadata['ring'] == 'a'",
    "resource.metadata.ring == 'b' || environment.name == 'e0'",
    "environment.description == 'gate'",
    "deployment.description == 'gate' || resource.name == 'r1'",
    "false",
};

class Life : public World {
 public:
  explicit Life(uint64_t seed) : random_(seed) {
    agent = AgentId{must(UpsertAgent{.name = "agent", .type = "http-pull"})};
    system = SystemId{must(UpsertSystem{.name = "system"})};
    for (int i = 0; i < 3; ++i) put_environment(i, ""), put_deployment(i, "");
    for (int i = 0; i < 3; ++i) {
      must(LinkEnvironment{system, environments_[i]});
      must(LinkDeployment{system, deployments_[i]});
    }
    for (int i = 0; i < 4; ++i) put_resource(i);
    drain();
  }

  std::string step() {
    std::string what = one_event();
    drain();
    return what;
  }

  // Empty if nothing is left to do and nobody would say anything else.
  std::string check() {
    std::unique_ptr<State> fresh = rows.load();
    std::string wrong;
    state->deployments.each([&](DeploymentIx d, const DeploymentSlot&) {
      for (TargetIx t : state->deployments[d].targets) {
        TargetKey key = state->key_of(t);
        TargetIx same = fresh->target(key);
        if (!same) continue;  // gone, and remembered for what it leaves
        Plan here = plan(*state, now, t), there = plan(*fresh, now, same);
        if (!here.empty())
          wrong += fmt::format("{} has been left asleep ({})\n", name(key), words(*state, here));
        wrong += scope_differences(*fresh, t, same);
        if (words(*state, here) != words(*fresh, there))
          wrong += fmt::format("{}: {} but cold: {}\n", name(key), words(*state, here), words(*fresh, there));
      }
    });
    return wrong;
  }

 private:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool chance(int percent) { return below(100) < static_cast<size_t>(percent); }

  std::string name(const TargetKey& k) const {
    return fmt::format("{}/{}/{}", state->deployments[state->deployments.find(k.deployment)].row.name,
                       state->environments[state->environments.find(k.environment)].row.name,
                       k.resource.str());
  }
  static std::string words(const State& s, const Plan& p) {
    return fmt::format("{}{}{} {} waits \"{}\" until {}", p.set_desired ? "desires " : "",
                       p.start ? "starts " : "", p.deny ? "denies " : "",
                       p.version ? s.versions[p.version].row.tag : "nothing", p.waiting_for,
                       p.look_again ? format_rfc3339(*p.look_again) : "an event");
  }

  // Whom versions are for, from the bitmaps of both and from the selectors themselves.
  std::string scope_differences(const State& fresh, TargetIx t, TargetIx same) const {
    std::string wrong;
    if (!state->at(t).exists) return wrong;
    for (VersionIx v : state->deployments[state->at(t).deployment].versions) {
      const Version& row = state->versions[v].row;
      const Match m = state->scope_match(v, t);
      const bool should =
          m == Match::kYes || (m != Match::kNo && row.on_selector_error == OnSelectorError::kInclude);
      if (state->in_scope(v, t) != should || fresh.in_scope(fresh.versions.find(row.id), same) != should)
        wrong += fmt::format("{} is {}for {}\n", row.tag, should ? "" : "not ", name(state->key_of(t)));
    }
    return wrong;
  }

  void put_environment(int i, std::string description) {
    UpsertEnvironment c{.name = fmt::format("e{}", i), .description = std::move(description)};
    if (environments_.contains(i)) c.id = environments_[i];
    c.resource_selector = chance(70) ? "true" : "resource.metadata['ring'] == 'a'";
    environments_[i] = EnvironmentId{must(c)};
  }
  void put_deployment(int i, std::string description) {
    UpsertDeployment c{.name = fmt::format("d{}", i), .description = std::move(description)};
    if (deployments_.contains(i)) c.id = deployments_[i];
    c.resource_selector = chance(80) ? "true" : "resource.metadata['ring'] == 'b'";
    c.agent_selector = "true";
    deployments_[i] = DeploymentId{must(c)};
  }
  void put_resource(size_t i) {
    std::string identifier = fmt::format("r{}", i);
    ResourceInput in{identifier, identifier, "Host", "v1", {}, {}};
    if (chance(80)) in.metadata.set("ring", chance(50) ? "a" : "b");
    must(UpsertResource{in, {}});
  }
  void put_policy(size_t i) {
    UpsertPolicy c{.name = fmt::format("p{}", i),
                   .selector = std::string(kSelectors[below(std::size(kSelectors))])};
    if (policies_.contains(i)) c.id = policies_[i];
    c.enabled = chance(90);
    for (size_t n = 1 + below(2); n > 0; --n) {
      const auto& [type, body] = kRules[below(std::size(kRules))];
      c.rules.push_back({.type = std::string(type), .body = Json::parse_object(body).value()});
    }
    policies_[i] = PolicyId{must(c)};
  }

  std::string publish_one() {
    const int d = static_cast<int>(below(3));
    now = now + seconds(1);
    CreateVersion c{.deployment = deployments_[d], .tag = fmt::format("v{}", ++tags_)};
    if (chance(30)) c.target_selector = kScopes[below(std::size(kScopes))];
    if (c.target_selector && chance(30)) c.on_selector_error = OnSelectorError::kExclude;
    if (chance(15)) c.dependencies.push_back({deployments_[(d + 1) % 3], "!version.tag.endsWith('5')"});
    versions_.push_back(VersionId{must(c)});
    return "publish " + c.tag;
  }
  std::string end_a_job() {
    Reply r = run(ClaimJob{agent, {}, fmt::format("i{}", ++claims_), false});
    if (!r || !r->job) return "no job";
    JobStatus status = chance(65)   ? JobStatus::kSuccessful
                       : chance(80) ? JobStatus::kFailure
                                    : JobStatus::kCancelled;
    EXPECT_TRUE(run(ReportJob{r->job->id, fmt::format("i{}", claims_), status, "", ""}));
    return fmt::format("a job ends as {}", to_string(status));
  }
  std::string say() {
    if (versions_.empty()) return "nothing to say";
    SetApproval c{.version = a_version()};
    if (chance(70)) c.environments = {environments_[static_cast<int>(below(3))]};
    c.status = chance(85) ? ApprovalStatus::kApproved : ApprovalStatus::kRejected;
    std::string actor = fmt::format("person {}", below(3));
    transact([&](Tx& tx) { return execute(tx, Request{c, actor}); });
    return "approval";
  }
  std::string skip() {
    if (versions_.empty() || policies_.empty()) return "nothing to skip";
    std::vector<RuleId> rules;
    state->policies.each([&](PolicyIx, const PolicySlot& p) {
      for (const PolicyRule& rule : p.row.rules) rules.push_back(rule.id);
    });
    if (rules.empty()) return "nothing to skip";
    CreateSkip c{.rule = rules[below(rules.size())], .version = a_version()};
    if (chance(50)) c.environment = environments_[static_cast<int>(below(3))];
    if (chance(50)) c.expires_at = now + minutes(static_cast<int64_t>(1 + below(120)));
    must(c);
    return "skip";
  }
  std::string touch_a_target() {
    std::vector<TargetKey> keys;
    state->deployments.each([&](DeploymentIx, const DeploymentSlot& d) {
      for (TargetIx t : d.targets)
        if (state->at(t).exists) keys.push_back(state->key_of(t));
    });
    if (keys.empty() || versions_.empty()) return "no target";
    TargetKey key = keys[below(keys.size())];
    switch (below(3)) {
      case 0: (void)run(RedeployTarget{key}); return "redeploy";
      case 1: (void)run(ClearRollback{key}); return "clear rollback";
      default: (void)run(ForceDeploy{key, a_version(), ""}); return "force";
    }
  }
  std::string edit() {
    const int i = static_cast<int>(below(3));
    const std::string description = chance(50) ? "gate" : "";
    switch (below(6)) {
      case 0: put_environment(i, description); return "environment";
      case 1: put_deployment(i, description); return "deployment";
      case 2: must(LinkEnvironment{system, environments_[i], chance(70)}); return "link of an environment";
      case 3: must(LinkDeployment{system, deployments_[i], chance(70)}); return "link of a deployment";
      case 4: put_resource(below(6)); return "resource";
      default: (void)run(DeleteResource{fmt::format("r{}", below(6))}); return "no resource";
    }
  }
  std::string policy() {
    const size_t i = below(4);
    if (policies_.contains(i) && chance(25)) {
      must(DeletePolicy{policies_[i]});
      policies_.erase(i);
      return "no policy";
    }
    put_policy(i);
    return "policy";
  }
  std::string one_event() {
    const size_t n = below(100);
    if (n < 15) return publish_one();
    if (n < 45) return end_a_job();
    if (n < 57) return say();
    if (n < 72) return pass(minutes(static_cast<int64_t>(1 + below(60)))), "time";
    if (n < 80) return policy();
    if (n < 90) return edit();
    if (n < 93) return skip();
    if (n < 96) return touch_a_target();
    if (n < 97) return reload(), "restart";
    if (versions_.empty()) return "no version";
    must(SetVersionStatus{a_version(), chance(50) ? VersionStatus::kReady : VersionStatus::kRejected, ""});
    return "status";
  }
  VersionId a_version() {  // mostly a late one
    const size_t last = std::min<size_t>(versions_.size(), 6);
    return versions_[versions_.size() - 1 - below(last)];
  }

  std::mt19937_64 random_;
  std::map<int, EnvironmentId> environments_;
  std::map<int, DeploymentId> deployments_;
  std::map<size_t, PolicyId> policies_;
  std::vector<VersionId> versions_;
  int tags_ = 0, claims_ = 0;
};

TEST(PolicyProperty, at_rest_nothing_is_left_to_do_and_cold_caches_agree) {
  // More of them: CTRLPLANE_LIVES=1000.
  const char* wanted = std::getenv("CTRLPLANE_LIVES");
  const uint64_t lives = wanted ? std::strtoull(wanted, nullptr, 10) : 12;
  constexpr int kSteps = 120;
  for (uint64_t seed = 1; seed <= lives; ++seed) {
    Life life(seed);
    std::string story;
    for (int i = 0; i < kSteps; ++i) {
      story += fmt::format("{} {}; ", i, life.step());
      std::string wrong = life.check();
      ASSERT_EQ(wrong, "") << "seed " << seed << ": " << story;
    }
  }
}

}  // namespace
}  // namespace ctrlplane
