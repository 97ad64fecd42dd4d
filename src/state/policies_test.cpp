#include <gtest/gtest.h>

#include "state/state.h"
#include "state/testing.h"

namespace ctrlplane {
namespace {

using testing::id;
using testing::kStart;

// One deployment on two resources in two environments.
struct StateWithPolicies : ::testing::Test {
  StateWithPolicies() {
    put(System{.id = system, .name = "s"});
    put(deployment_row("app"));
    put(SystemDeployment{system, deployment});
    for (EnvironmentId e : {staging, production}) {
      Environment row{.id = e, .name = e.str()};
      row.resource_selector = "true";
      put(row);
      put(SystemEnvironment{system, e});
    }
    for (ResourceId r : {one, two}) put(Resource{.id = r, .identifier = r.str()});
    put(Version{.id = version, .deployment = deployment, .tag = "v1"});
    settle();
    woken();
  }
  void settle() {
    std::vector<TargetKey> gone;
    while (!state.settled()) state.advance(10, gone);
  }
  Deployment deployment_row(std::string name) const {
    Deployment d{.id = deployment, .name = std::move(name)};
    d.resource_selector = "true";
    return d;
  }
  void put(Entity e) { state.apply(Change::put(std::move(e))); }
  void erase(Entity e) { state.apply(Change::erase(std::move(e))); }
  TargetKey key(ResourceId r, EnvironmentId e) const { return {r, e, deployment}; }
  TargetIx target(ResourceId r, EnvironmentId e) const { return state.target(key(r, e)); }
  VersionIx version_ix() const { return state.versions.find(version); }
  std::set<TargetKey> woken() {
    std::set<TargetKey> out;
    while (auto t = state.pop_dirty()) out.insert(state.key_of(*t));
    return out;
  }
  std::set<TargetKey> all() const {
    return {key(one, staging), key(two, staging), key(one, production), key(two, production)};
  }
  std::set<TargetKey> in(EnvironmentId e) const { return {key(one, e), key(two, e)}; }
  Policy policy(uint64_t n, std::vector<uint64_t> rules = {}) const {
    Policy p{.id = id<PolicyId>(n), .name = "p", .selector = "true"};
    for (uint64_t r : rules) p.rules.push_back({.id = id<RuleId>(r), .type = "retry"});
    return p;
  }
  Approval approval(EnvironmentId e, std::string actor) const {
    return {.version = version, .environment = e, .actor = std::move(actor)};
  }
  PolicySkip skip(uint64_t n) const {
    return {.id = id<SkipId>(n), .rule = id<RuleId>(1), .version = version};
  }

  SystemId system = id<SystemId>(1);
  DeploymentId deployment = id<DeploymentId>(2);
  EnvironmentId staging = id<EnvironmentId>(3), production = id<EnvironmentId>(4);
  ResourceId one = id<ResourceId>(5), two = id<ResourceId>(6);
  VersionId version = id<VersionId>(7);
  State state{WorkspaceId{}};
};

TEST_F(StateWithPolicies, wakes_every_target_for_a_policy) {
  put(policy(1));
  EXPECT_EQ(woken(), all());
  erase(policy(1));
  EXPECT_EQ(woken(), all());
  EXPECT_EQ(state.policies.size(), 0u);
}

TEST_F(StateWithPolicies, knows_which_policy_has_a_rule) {
  put(policy(1, {10, 11}));
  put(policy(2, {12}));
  EXPECT_EQ(state.policy_of(id<RuleId>(11)), state.policies.find(id<PolicyId>(1)));
  EXPECT_EQ(state.policy_of(id<RuleId>(12)), state.policies.find(id<PolicyId>(2)));
  put(policy(1, {11}));
  EXPECT_FALSE(state.policy_of(id<RuleId>(10)));
  erase(policy(1));
  EXPECT_FALSE(state.policy_of(id<RuleId>(11)));
  EXPECT_TRUE(state.policy_of(id<RuleId>(12)));
}

TEST_F(StateWithPolicies, throws_away_what_was_made_of_a_policy_when_its_row_changes) {
  put(policy(1));
  const PolicySlot& slot = state.policies[state.policies.find(id<PolicyId>(1))];
  slot.compiled = std::make_shared<CompiledPolicy>();
  put(approval(staging, "a"));
  EXPECT_TRUE(slot.compiled);
  put(policy(1));
  EXPECT_FALSE(slot.compiled);
}

TEST_F(StateWithPolicies, starts_a_new_epoch_when_other_policies_may_match) {
  auto starts = [&](Entity e) {
    const uint32_t before = state.policy_epoch;
    put(std::move(e));
    return state.policy_epoch != before;
  };
  EXPECT_TRUE(starts(policy(1)));
  EXPECT_TRUE(starts(deployment_row("renamed")));
  EXPECT_TRUE(starts(Environment{.id = staging, .name = "renamed"}));
  EXPECT_FALSE(starts(Resource{.id = one, .identifier = "renamed"}));
  EXPECT_FALSE(starts(approval(staging, "a")));
  const uint32_t before = state.policy_epoch;
  erase(policy(1));
  EXPECT_NE(state.policy_epoch, before);
}

TEST_F(StateWithPolicies, looks_for_the_policies_of_a_changed_resource_anew) {
  for (ResourceId r : {one, two}) state.at(target(r, staging)).policy_epoch = state.policy_epoch;
  put(Resource{.id = one, .identifier = "renamed"});
  EXPECT_EQ(state.at(target(one, staging)).policy_epoch, 0u);
  EXPECT_EQ(state.at(target(two, staging)).policy_epoch, state.policy_epoch);
}

TEST_F(StateWithPolicies, keeps_the_last_word_of_each_person_in_each_environment) {
  put(approval(production, "b"));
  put(approval(staging, "a"));
  put(approval(production, "a"));
  EXPECT_EQ(woken(), all());
  Approval changed = approval(production, "a");
  changed.status = ApprovalStatus::kRejected;
  put(changed);
  EXPECT_EQ(woken(), in(production));
  auto said = state.approvals_of(version_ix(), state.environments.find(production));
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], changed);
  EXPECT_EQ(said[1], approval(production, "b"));
  erase(approval(production, "a"));
  EXPECT_EQ(woken(), in(production));
  EXPECT_EQ(state.approvals_of(version_ix(), state.environments.find(production)).size(), 1u);
  EXPECT_EQ(state.approvals_of(version_ix(), state.environments.find(staging)).size(), 1u);
}

TEST_F(StateWithPolicies, wakes_the_targets_that_a_skip_is_about) {
  PolicySkip s = skip(1);
  put(s);
  EXPECT_EQ(woken(), all());
  s.environment = staging;
  put(s);
  EXPECT_EQ(woken(), all()) << "those it no longer covers too";
  erase(s);
  EXPECT_EQ(woken(), in(staging));
  s.resource = one;
  put(s);
  EXPECT_EQ(woken(), std::set{key(one, staging)});
  s.environment.reset();
  erase(PolicySkip{.id = s.id});
  woken();
  put(s);
  EXPECT_EQ(woken(), (std::set{key(one, staging), key(one, production)}));
  s.resource = id<ResourceId>(99);
  erase(s);
  woken();
  put(s);
  EXPECT_TRUE(woken().empty());
}

TEST_F(StateWithPolicies, finds_skips_by_id_and_sets_a_timer_for_their_end) {
  PolicySkip late = skip(2), early = skip(1);
  late.expires_at = kStart + hours(1);
  put(late), put(early);
  ASSERT_TRUE(state.skip(late.id));
  EXPECT_EQ(*state.skip(late.id), late);
  EXPECT_EQ(state.skips_of(version_ix()), (std::vector{early, late}));
  EXPECT_EQ(state.timers.next(), late.expires_at);
  erase(late);
  EXPECT_FALSE(state.skip(late.id));
  EXPECT_TRUE(state.skip(early.id));
}

TEST_F(StateWithPolicies, wakes_a_deployment_when_what_its_version_needs_changes) {
  VersionDependency d{version, id<DeploymentId>(99), "true"};
  put(d);
  EXPECT_EQ(woken(), all());
  d.selector = "false";
  put(d);
  EXPECT_EQ(state.dependencies_of(version_ix()), std::vector{d});
  erase(d);
  EXPECT_EQ(woken(), all());
  EXPECT_TRUE(state.dependencies_of(version_ix()).empty());
}

TEST_F(StateWithPolicies, forgets_what_was_said_about_a_version_with_the_version) {
  put(approval(staging, "a"));
  put(skip(1));
  put(VersionDependency{version, id<DeploymentId>(99), "true"});
  TargetState row{.key = key(one, staging), .current_version = version};
  row.current_release = id<ReleaseId>(1);
  put(row);  // the version is still referred to
  const VersionIx v = version_ix();
  erase(Version{.id = version});
  ASSERT_TRUE(state.versions.used(v));
  EXPECT_FALSE(state.skip(id<SkipId>(1)));
  EXPECT_TRUE(state.versions[v].approvals.empty());
  EXPECT_TRUE(state.skips_of(v).empty());
  EXPECT_TRUE(state.dependencies_of(v).empty());
}

TEST_F(StateWithPolicies, leaves_out_what_was_said_about_a_version_that_is_not_in_memory) {
  const VersionId cold = id<VersionId>(50);
  PolicySkip s = skip(1);
  s.version = cold;
  s.expires_at = kStart;
  put(s);
  put(Approval{.version = cold, .environment = staging, .actor = "a"});
  put(VersionDependency{cold, id<DeploymentId>(99), "true"});
  EXPECT_FALSE(state.skip(s.id));
  EXPECT_EQ(state.timers.size(), 0u);
  erase(s);
  erase(Approval{.version = cold, .environment = staging, .actor = "a"});
  erase(VersionDependency{cold, id<DeploymentId>(99), "true"});
}

TEST_F(StateWithPolicies, walks_over_one_environment_also_when_some_targets_go_during_the_walk) {
  Environment picky{.id = staging, .name = "picky"};
  picky.resource_selector = "resource.kind != 'gone'";
  put(picky);
  auto resource = [](uint64_t n, std::string kind) {
    return Resource{.id = id<ResourceId>(n), .identifier = std::to_string(n), .kind = std::move(kind)};
  };
  for (uint64_t n = 20; n < 40; ++n) {
    put(resource(n, "here"));
    put(TargetState{.key = key(id<ResourceId>(n), staging)});  // stays known when it stops existing
  }
  settle();
  woken();
  state.mark_dirty_in(state.deployments.find(deployment), state.environments.find(staging));
  std::set<TargetKey> seen;
  auto look = [&] {
    auto t = state.pop_dirty();
    if (t) seen.insert(state.key_of(*t));
    return t.has_value();
  };
  for (int n = 0; n < 14; ++n) look();
  for (uint64_t n = 20; n < 30; ++n) put(resource(n, "gone"));
  while (look()) {
  }
  for (uint64_t n = 30; n < 40; ++n) EXPECT_TRUE(seen.contains(key(id<ResourceId>(n), staging))) << n;
  EXPECT_TRUE(seen.contains(key(one, staging)));
  EXPECT_TRUE(seen.contains(key(two, staging)));
}

TEST_F(StateWithPolicies, refers_to_the_versions_that_were_ruled_out_on_a_target) {
  TargetState row{.key = key(one, staging), .denied = {version}, .last_version = version};
  put(row);
  EXPECT_EQ(state.row_of(target(one, staging)), row);
  const VersionIx v = version_ix();
  EXPECT_EQ(state.versions[v].references, 2u);
  erase(Version{.id = version});
  EXPECT_TRUE(state.versions.used(v));
  put(TargetState{.key = row.key});
  EXPECT_FALSE(state.versions.used(v));
}

// ---- Timers of targets -----------------------------------------------------------------------------------

struct TargetTimers : StateWithPolicies {
  // Fires what is due, as the engine does.
  std::set<TargetKey> at(Time now) {
    while (auto timer = state.timers.pop_due(now)) state.target_due(timer->subject);
    return woken();
  }
};

TEST_F(TargetTimers, wake_a_target_at_the_earliest_time_that_was_asked_for) {
  const TargetIx t = target(one, staging);
  state.wake_at(t, kStart + seconds(20));
  state.wake_at(t, kStart + seconds(20));
  state.wake_at(t, kStart + seconds(30));
  state.wake_at(t, Time::never());
  EXPECT_EQ(state.timers.size(), 1u) << "whoever looks at it then sets the next";
  state.wake_at(t, kStart + seconds(10));
  EXPECT_TRUE(at(kStart + seconds(9)).empty());
  EXPECT_EQ(at(kStart + seconds(10)), std::set{key(one, staging)});
  EXPECT_TRUE(at(kStart + seconds(30)).empty()) << "an earlier wish";
  state.wake_at(t, kStart + seconds(40));
  EXPECT_EQ(at(kStart + seconds(40)), std::set{key(one, staging)});
}

TEST_F(TargetTimers, of_a_target_that_is_gone_wake_nobody) {
  const TargetIx t = target(one, staging);
  state.wake_at(t, kStart);
  erase(Resource{.id = one});
  woken();
  put(Resource{.id = id<ResourceId>(60), .identifier = "takes the slots"});
  woken();
  EXPECT_TRUE(at(kStart).empty());
  state.target_due(Uuid::from_halves(UINT64_MAX, 0));
  EXPECT_TRUE(woken().empty());
}

}  // namespace
}  // namespace ctrlplane
