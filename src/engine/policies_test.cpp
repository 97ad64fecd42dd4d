#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::difference;
using testing::id;
using testing::picture_of;
using testing::World;

// A world with one target and a version that nobody has deployed.
struct PolicyCommands : ::testing::Test {
  PolicyCommands() {
    world.one_target();
    version = world.publish("v1", VersionStatus::kBuilding);
  }
  static UpsertPolicy::RuleInput rule(std::string type, std::string body = "{}",
                                      std::optional<RuleId> id = {}) {
    return {id, std::move(type), *Json::parse_object(body), ""};
  }
  static UpsertPolicy::RuleInput cooldown(int seconds, std::optional<RuleId> id = {}) {
    return rule("versionCooldown", "{\"intervalSeconds\":" + std::to_string(seconds) + "}", id);
  }
  static UpsertPolicy::RuleInput retry(int times, std::optional<RuleId> id = {}) {
    return rule("retry", "{\"maxRetries\":" + std::to_string(times) + "}", id);
  }
  static UpsertPolicy policy(std::vector<UpsertPolicy::RuleInput> rules) {
    UpsertPolicy c{.name = "p", .selector = "true"};
    c.rules = std::move(rules);
    return c;
  }
  const Policy& stored(PolicyId p) const { return world.state->policies[world.state->policies.find(p)].row; }
  Error refused(Command c) {
    Reply r = world.run(std::move(c));
    EXPECT_FALSE(r);
    return r ? Error{} : r.error();
  }
  std::vector<AuditEntry> audits(std::string_view action) const {
    std::vector<AuditEntry> out;
    world.rows.each<AuditEntry>([&](const AuditEntry& e) {
      if (e.action == action) out.push_back(e);
    });
    return out;
  }
  Reply run_as(std::string actor, Command c) {
    return world.transact([&](Tx& tx) { return execute(tx, Request{std::move(c), actor}); });
  }
  std::span<const Approval> approvals(EnvironmentId e) const {
    return world.state->approvals_of(world.state->versions.find(version), world.state->environments.find(e));
  }

  World world;
  VersionId version;
};

// ---- Policies ------------------------------------------------------------------------------------------

TEST_F(PolicyCommands, a_policy_is_made_changed_and_deleted) {
  const PolicyId p{world.must(policy({cooldown(5)}))};
  EXPECT_EQ(stored(p).rules[0].created_at, world.now);
  const Time created = world.now;
  world.now = world.now + hours(1);
  UpsertPolicy change = policy({cooldown(6)});
  change.id = p;
  change.name = "renamed";
  change.priority = -7;
  change.enabled = false;
  change.metadata = {{"a", "b"}};
  Reply r = world.run(change);
  ASSERT_TRUE(r);
  EXPECT_FALSE(r->created);
  EXPECT_EQ(stored(p).created_at, created);
  EXPECT_EQ(stored(p).priority, -7);
  EXPECT_FALSE(stored(p).enabled);
  EXPECT_EQ(stored(p).metadata, change.metadata);
  world.must(change);
  EXPECT_TRUE(world.last.empty()) << "nothing is new";
  world.must(DeletePolicy{p});
  EXPECT_EQ(world.state->policies.size(), 0u);
  EXPECT_EQ(refused(DeletePolicy{p}).code, ErrorCode::kNotFound);
  for (const char* action : {"policy.create", "policy.update", "policy.delete"}) {
    ASSERT_EQ(audits(action).size(), 1u) << action;
    EXPECT_EQ(audits(action)[0].subject, p.str());
    EXPECT_EQ(audits(action)[0].actor, "tester");
  }
}

TEST_F(PolicyCommands, an_unknown_id_makes_a_policy_with_that_id) {
  UpsertPolicy c = policy({cooldown(5, id<RuleId>(9))});
  c.id = id<PolicyId>(8);
  Reply r = world.run(c);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->created);
  EXPECT_EQ(stored(*c.id).rules[0].id, id<RuleId>(9));
}

TEST_F(PolicyCommands, a_rule_without_id_is_the_one_of_its_type_at_its_position) {
  const PolicyId p{world.must(policy({cooldown(1), retry(1), cooldown(2)}))};
  const std::vector<PolicyRule> before = stored(p).rules;
  world.now = world.now + hours(1);
  UpsertPolicy change = policy({retry(9), cooldown(8), cooldown(7), cooldown(6)});
  change.id = p;
  world.must(change);
  const std::vector<PolicyRule>& after = stored(p).rules;
  ASSERT_EQ(after.size(), 4u);
  EXPECT_EQ(after[0].id, before[1].id);
  EXPECT_EQ(after[1].id, before[0].id);
  EXPECT_EQ(after[2].id, before[2].id);
  for (int i : {0, 1, 2}) EXPECT_EQ(after[i].created_at, before[0].created_at) << i;
  EXPECT_EQ(after[3].created_at, world.now) << "a new one";
  EXPECT_EQ(after[1].body, cooldown(8).body);
}

TEST_F(PolicyCommands, ids_that_are_sent_are_kept_and_not_given_away) {
  const PolicyId p{world.must(policy({cooldown(1), cooldown(2)}))};
  const std::vector<PolicyRule> before = stored(p).rules;
  world.now = world.now + hours(1);
  UpsertPolicy change = policy({cooldown(3), cooldown(4, before[0].id), cooldown(5, id<RuleId>(77))});
  change.id = p;
  world.must(change);
  const std::vector<PolicyRule>& after = stored(p).rules;
  EXPECT_EQ(after[1].id, before[0].id);
  EXPECT_EQ(after[1].created_at, before[0].created_at);
  EXPECT_NE(after[0].id, before[0].id) << "another rule of the request has it";
  EXPECT_EQ(after[0].created_at, world.now);
  EXPECT_EQ(after[2].id, id<RuleId>(77));
  EXPECT_EQ(after[2].created_at, world.now);
}

TEST_F(PolicyCommands, an_edit_survives_a_reload) {
  UpsertPolicy c = policy({cooldown(1)});
  c.rules[0].shown_created_at = "2020-01-01T00:00:00Z";
  const PolicyId p{world.must(c)};
  const Policy before = stored(p);
  EXPECT_EQ(before.rules[0].shown_created_at, "2020-01-01T00:00:00Z");
  world.reload();
  EXPECT_EQ(stored(p), before);
}

TEST_F(PolicyCommands, what_is_wrong_with_a_policy_is_named) {
  auto path_of = [&](UpsertPolicy c) {
    Error e = refused(std::move(c));
    EXPECT_EQ(e.code, ErrorCode::kInvalid);
    return e.details.empty() ? e.message : e.details[0].path;
  };
  auto with = [&](auto change) {
    UpsertPolicy c = policy({});
    change(c);
    return c;
  };
  EXPECT_EQ(path_of(with([](auto& c) { c.name = ""; })), "name");
  EXPECT_EQ(path_of(with([](auto& c) { c.description.assign(20'000, 'x'); })), "description");
  EXPECT_EQ(path_of(with([](auto& c) { c.selector = ""; })), "selector");
  EXPECT_EQ(path_of(with([](auto& c) { c.selector = "version.tag == 'x'"; })), "selector");
  EXPECT_EQ(path_of(with([](auto& c) { c.metadata = {{"k", std::string("a\0b", 3)}}; })), "metadata['k']");
  EXPECT_EQ(path_of(policy({cooldown(1), rule("noSuchRule")})), "rules[1]");
  EXPECT_EQ(path_of(policy({rule("")})), "rules[0]");
  EXPECT_TRUE(
      path_of(policy({rule("versionCooldown", R"({"intervalSeconds":"soon"})")})).starts_with("rules[0]."));
  EXPECT_EQ(path_of(policy({cooldown(1, id<RuleId>(1)), retry(1, id<RuleId>(1))})), "rules[1].id");
  EXPECT_EQ(path_of(policy(std::vector(101, cooldown(1)))), "rules");
  EXPECT_EQ(world.state->policies.size(), 0u);
}

TEST_F(PolicyCommands, a_rule_belongs_to_one_policy) {
  const PolicyId p{world.must(policy({cooldown(1, id<RuleId>(1))}))};
  Error e = refused(policy({retry(1, id<RuleId>(1))}));
  EXPECT_EQ(e.code, ErrorCode::kConflict);
  EXPECT_NE(e.message.find("'p'"), std::string::npos);
  world.must(DeletePolicy{p});
  world.must(policy({retry(1, id<RuleId>(1))}));
}

// ---- Brackets ------------------------------------------------------------------------------------------

struct BracketPolicies : PolicyCommands {
  BracketPolicies() {
    for (std::string name : {"a", "b", "c"})
      world.must(UpsertDeployment{.name = name, .resource_selector = "true", .agent_selector = "true"});
  }
  static UpsertPolicy::RuleInput bracket(std::string selector = "true") {
    return rule("deploymentBracket",
                R"({"deploymentSelector":")" + selector + R"(","readinessMode":"immediate"})");
  }
  static UpsertPolicy::RuleInput waits(std::string who, std::string on) {
    return rule("deploymentDependency", R"({"appliesTo":")" + who + R"(","dependsOn":")" + on + R"("})");
  }
  static std::string named(std::string name) { return "deployment.name == '" + name + "'"; }
};

TEST_F(BracketPolicies, whose_deployments_would_wait_for_each_other_are_refused) {
  const auto ab = waits(named("a"), named("b")), bc = waits(named("b"), named("c"));
  EXPECT_TRUE(world.run(policy({bracket(), ab, bc})));
  const Error no = refused(policy({ab, bc, waits(named("c"), named("a")), bracket()}));
  EXPECT_EQ(no.code, ErrorCode::kInvalid);
  ASSERT_EQ(no.details.size(), 1u);
  EXPECT_EQ(no.details[0].path, "rules[3].deploymentBracket");
  EXPECT_EQ(no.details[0].message, "its deployments would wait for each other: a → b → c → a");
  // Without appliesTo a rule is about all, and each of the two waits for the other.
  const Error both = refused(
      policy({bracket(), rule("deploymentDependency", R"({"dependsOn":"deployment.name in ['b','c']"})")}));
  ASSERT_EQ(both.details.size(), 1u);
  EXPECT_EQ(both.details[0].message, "its deployments would wait for each other: b → c → b");
}

TEST_F(BracketPolicies, have_an_order_as_far_as_can_be_seen) {
  const auto ab = waits(named("a"), named("b")), ba = waits(named("b"), named("a"));
  EXPECT_TRUE(world.run(policy({ab, ba}))) << "no bracket";
  EXPECT_TRUE(world.run(policy({ab, ba, bracket(named("a"))}))) << "only one of them is in it";
  EXPECT_TRUE(world.run(policy({ab, waits(named("b"), named("a") + " && version.tag != 'x'"), bracket()})))
      << "that depends on what runs";
  EXPECT_TRUE(world.run(
      policy({rule("deploymentDependency", R"({"dependsOn":"deployment.name == 'a'"})"), bracket()})))
      << "what all wait for does not wait for itself";
  // Hooks are in it too, whatever its selector says.
  auto hooked = bracket(named("a"));
  hooked.body = *Json::parse_object(
      R"({"deploymentSelector":"deployment.name == 'a'","preHookSelector":"deployment.name == 'b'",)"
      R"("readinessMode":"immediate"})");
  EXPECT_EQ(refused(policy({ab, ba, hooked})).code, ErrorCode::kInvalid);
}

TEST_F(BracketPolicies, are_checked_against_the_deployments_there_are) {
  const auto ax = waits(named("a"), named("x")), xa = waits(named("x"), named("a"));
  const PolicyId p{world.must(policy({ax, xa, bracket()}))};
  world.must(UpsertDeployment{.name = "x", .resource_selector = "true", .agent_selector = "true"});
  UpsertPolicy again = policy({ax, xa, bracket()});
  again.id = p;
  EXPECT_EQ(refused(again).code, ErrorCode::kInvalid);
}

// ---- Approvals -----------------------------------------------------------------------------------------

TEST_F(PolicyCommands, an_approval_is_for_every_environment_that_shares_a_system) {
  const EnvironmentId linked{world.must(UpsertEnvironment{.name = "linked"})};
  const EnvironmentId apart{world.must(UpsertEnvironment{.name = "apart"})};
  world.must(LinkEnvironment{world.system, linked});
  const SystemId other{world.must(UpsertSystem{.name = "other"})};
  world.must(LinkEnvironment{other, apart});
  SetApproval c{.version = version};
  c.role = Role::kOperator;
  c.reason = "looks good";
  Reply r = run_as("ann", c);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->created);
  EXPECT_EQ(r->id, version.uuid);
  for (EnvironmentId e : {world.environment, linked}) {
    ASSERT_EQ(approvals(e).size(), 1u);
    EXPECT_EQ(approvals(e)[0], (Approval{version, e, "ann", ApprovalStatus::kApproved, Role::kOperator,
                                         "looks good", world.now}));
  }
  EXPECT_TRUE(approvals(apart).empty());
  ASSERT_EQ(audits("version.approve").size(), 1u);
  EXPECT_EQ(audits("version.approve")[0].actor, "ann");
  EXPECT_NE(audits("version.approve")[0].details.find(linked.str()), std::string::npos);
  world.must(SetApproval{version, {apart}});
  EXPECT_EQ(approvals(apart).size(), 1u) << "named, it is taken as said";
}

TEST_F(PolicyCommands, the_last_word_of_a_person_counts) {
  SetApproval c{version, {world.environment}};
  ASSERT_TRUE(run_as("ann", c));
  ASSERT_TRUE(run_as("bob", c));
  const Time first = world.now;
  world.now = world.now + hours(1);
  Reply again = run_as("ann", c);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->created);
  EXPECT_TRUE(world.last.empty());
  c.reason = "still";
  ASSERT_TRUE(run_as("ann", c));
  EXPECT_EQ(approvals(world.environment)[0].at, first) << "the same word counts since it was first said";
  c.status = ApprovalStatus::kRejected;
  ASSERT_TRUE(run_as("ann", c));
  ASSERT_EQ(approvals(world.environment).size(), 2u);
  EXPECT_EQ(approvals(world.environment)[0].status, ApprovalStatus::kRejected);
  EXPECT_EQ(approvals(world.environment)[0].at, world.now);
  EXPECT_EQ(approvals(world.environment)[1].status, ApprovalStatus::kApproved);
  EXPECT_EQ(audits("version.reject").size(), 1u);
}

TEST_F(PolicyCommands, approvals_of_what_does_not_exist_are_refused) {
  EXPECT_EQ(refused(SetApproval{id<VersionId>(1)}).code, ErrorCode::kNotFound);
  EXPECT_EQ(refused(SetApproval{version, {world.environment, id<EnvironmentId>(1)}}).code,
            ErrorCode::kNotFound);
  EXPECT_TRUE(approvals(world.environment).empty()) << "all or nothing";
  world.must(LinkEnvironment{world.system, world.environment, false});
  Error e = refused(SetApproval{version});
  EXPECT_EQ(e.code, ErrorCode::kConflict);
  EXPECT_NE(e.message.find("'app'"), std::string::npos) << e.message;
}

TEST_F(PolicyCommands, an_approval_wakes_the_targets_of_its_environment) {
  world.drain();
  EXPECT_FALSE(world.state->any_dirty());
  world.must(SetApproval{version});
  auto woken = world.state->pop_dirty();
  ASSERT_TRUE(woken);
  EXPECT_EQ(world.state->key_of(*woken), world.key());
}

// ---- Skips ---------------------------------------------------------------------------------------------

TEST_F(PolicyCommands, a_skip_is_made_and_deleted) {
  const PolicyId p{world.must(policy({cooldown(1)}))};
  CreateSkip c{stored(p).rules[0].id, version};
  c.environment = world.environment;
  c.resource = world.resource;
  c.reason = "urgent";
  const SkipId s{world.must(c)};
  const PolicySkip expected{s,        c.rule,   version,  world.environment, world.resource, std::nullopt,
                            "urgent", "tester", world.now};
  EXPECT_EQ(world.state->skips_of(world.state->versions.find(version)), std::vector{expected});
  EXPECT_EQ(audits("skip.create").size(), 1u);
  world.must(DeleteSkip{s});
  EXPECT_EQ(audits("skip.delete").size(), 1u);
  EXPECT_EQ(world.rows.count<PolicySkip>(), 0u);
  EXPECT_EQ(refused(DeleteSkip{s}).code, ErrorCode::kNotFound);
}

TEST_F(PolicyCommands, a_skip_of_what_does_not_exist_is_refused) {
  const RuleId r = stored(PolicyId{world.must(policy({cooldown(1)}))}).rules[0].id;
  auto code = [&](CreateSkip c) { return refused(std::move(c)).code; };
  EXPECT_EQ(code({id<RuleId>(1), version}), ErrorCode::kNotFound);
  EXPECT_EQ(code({r, id<VersionId>(1)}), ErrorCode::kNotFound);
  EXPECT_EQ(code({r, version, id<EnvironmentId>(1)}), ErrorCode::kNotFound);
  EXPECT_EQ(code({r, version, {}, id<ResourceId>(1)}), ErrorCode::kNotFound);
  EXPECT_EQ(code({r, version, {}, {}, world.now}), ErrorCode::kInvalid);
  EXPECT_EQ(world.rows.count<PolicySkip>(), 0u);
}

TEST_F(PolicyCommands, a_concurrency_limit_is_not_skipped) {
  const PolicyId p{world.must(
      policy({cooldown(5), rule("resourceConcurrency",
                                R"({"groupSelector":"true","limitType":"count","limitValue":1})")}))};
  const Error no = refused(CreateSkip{.rule = stored(p).rules[1].id, .version = version});
  EXPECT_EQ(no.code, ErrorCode::kInvalid);
  ASSERT_EQ(no.details.size(), 1u);
  EXPECT_EQ(no.details[0].path, "ruleId");
  EXPECT_NE(no.details[0].message.find("raise the limit"), std::string::npos);
  EXPECT_TRUE(world.run(CreateSkip{.rule = stored(p).rules[0].id, .version = version}));
}

TEST_F(PolicyCommands, a_skip_ends_at_its_time_also_after_a_reload) {
  const RuleId r = stored(PolicyId{world.must(policy({cooldown(1)}))}).rules[0].id;
  world.must(CreateSkip{r, version, {}, {}, world.now + hours(1)});
  world.must(CreateSkip{r, version, {}, {}, world.now + hours(2)});
  world.drain();
  world.reload();
  world.drain();
  world.pass(minutes(59));
  EXPECT_EQ(world.rows.count<PolicySkip>(), 2u);
  world.now = world.now + minutes(1);
  world.tick();
  EXPECT_EQ(world.rows.count<PolicySkip>(), 1u);
  ASSERT_EQ(audits("skip.expired").size(), 1u);
  EXPECT_TRUE(world.state->any_dirty());
  world.drain();
  world.pass(hours(1));
  EXPECT_EQ(audits("skip.expired").size(), 2u);
}

TEST_F(PolicyCommands, the_skips_of_a_rule_go_with_it) {
  const PolicyId p{world.must(policy({cooldown(1), retry(1)}))};
  const RuleId first = stored(p).rules[0].id, second = stored(p).rules[1].id;
  world.must(CreateSkip{first, version});
  world.must(CreateSkip{second, version});
  UpsertPolicy change = policy({retry(2)});
  change.id = p;
  world.must(change);
  const auto& left = world.state->skips_of(world.state->versions.find(version));
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].rule, second);
  world.must(DeletePolicy{p});
  EXPECT_EQ(world.rows.count<PolicySkip>(), 0u);
}

// ---- What a version depends on -------------------------------------------------------------------------

struct VersionDependencies : PolicyCommands {
  VersionDependencies() { database = DeploymentId{world.must(UpsertDeployment{.name = "database"})}; }
  CreateVersion depending(std::vector<std::pair<DeploymentId, std::string>> on) {
    CreateVersion c{.deployment = world.deployment, .tag = "v2"};
    c.dependencies = std::move(on);
    return c;
  }
  const std::vector<VersionDependency>& of(VersionId v) const {
    return world.state->dependencies_of(world.state->versions.find(v));
  }
  DeploymentId database;
};

TEST_F(VersionDependencies, come_with_the_version) {
  const VersionId v{world.must(depending({{database, "version.tag == '1'"}}))};
  EXPECT_EQ(of(v), (std::vector{VersionDependency{v, database, "version.tag == '1'"}}));
  EXPECT_EQ(world.state->versions[world.state->versions.find(v)].row.created_by, "tester");
  world.reload();
  EXPECT_EQ(of(v).size(), 1u);
}

TEST_F(VersionDependencies, that_are_wrong_leave_no_version_behind) {
  auto check = [&](std::vector<std::pair<DeploymentId, std::string>> on, ErrorCode code,
                   const std::string& path) {
    Error e = refused(depending(std::move(on)));
    EXPECT_EQ(e.code, code) << e.message;
    EXPECT_EQ(e.details.empty() ? "" : e.details[0].path, path);
  };
  const std::string at = "dependencies." + database.str() + ".versionSelector";
  const std::string own = "dependencies." + world.deployment.str() + ".versionSelector";
  check({{world.deployment, "true"}}, ErrorCode::kInvalid, own);
  check({{database, ""}}, ErrorCode::kInvalid, at);
  check({{database, "version.tag ="}}, ErrorCode::kInvalid, at);
  check({{database, "resource.name == 'x'"}}, ErrorCode::kInvalid, at);
  check({{database, "true"}, {database, "false"}}, ErrorCode::kInvalid, "dependencies");
  check({{database, "true"}, {id<DeploymentId>(1), "true"}}, ErrorCode::kNotFound, "");
  EXPECT_EQ(world.rows.count<VersionDependency>(), 0u);
  EXPECT_FALSE(world.state->version_tagged(world.state->deployments.find(world.deployment), "v2"));
}

TEST_F(VersionDependencies, are_set_changed_and_deleted) {
  Reply r = world.run(SetVersionDependency{version, database, "true"});
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->created);
  EXPECT_EQ(r->id, version.uuid);
  world.must(SetVersionDependency{version, database, "true"});
  EXPECT_TRUE(world.last.empty());
  EXPECT_FALSE(world.run(SetVersionDependency{version, database, "false"})->created);
  EXPECT_EQ(of(version), (std::vector{VersionDependency{version, database, "false"}}));
  EXPECT_EQ(audits("version.dependency.set").size(), 2u);
  world.must(DeleteVersionDependency{version, database});
  EXPECT_TRUE(of(version).empty());
  EXPECT_EQ(audits("version.dependency.delete").size(), 1u);
}

TEST_F(VersionDependencies, of_what_does_not_exist_are_refused) {
  EXPECT_EQ(refused(SetVersionDependency{id<VersionId>(1), database, "true"}).code, ErrorCode::kNotFound);
  EXPECT_EQ(refused(SetVersionDependency{version, id<DeploymentId>(1), "true"}).code, ErrorCode::kNotFound);
  EXPECT_EQ(refused(SetVersionDependency{version, world.deployment, "true"}).code, ErrorCode::kInvalid);
  EXPECT_EQ(refused(SetVersionDependency{version, database, "1 +"}).details[0].path, "versionSelector");
  EXPECT_EQ(refused(DeleteVersionDependency{id<VersionId>(1), database}).code, ErrorCode::kNotFound);
  EXPECT_EQ(refused(DeleteVersionDependency{version, database}).code, ErrorCode::kNotFound);
}

// ---- Rollbacks -----------------------------------------------------------------------------------------

TEST_F(PolicyCommands, what_was_ruled_out_on_a_target_is_cleared) {
  TargetState row = world.target();
  row.denied = {version};
  world.transact([&](Tx& tx) { return tx.put(row), 0; });
  world.drain();
  world.must(ClearRollback{world.key()});
  EXPECT_TRUE(world.target().denied.empty());
  EXPECT_TRUE(world.state->any_dirty());
  ASSERT_EQ(audits("target.clear_rollback").size(), 1u);
  EXPECT_NE(audits("target.clear_rollback")[0].details.find(version.str()), std::string::npos);
  world.must(ClearRollback{world.key()});
  EXPECT_TRUE(world.last.empty());
  EXPECT_EQ(refused(ClearRollback{{id<ResourceId>(1), world.environment, world.deployment}}).code,
            ErrorCode::kNotFound);
}

// ---- Memory does not grow with history -------------------------------------------------------------------

TEST_F(PolicyCommands, the_skips_of_a_version_go_when_it_leaves_memory) {
  const RuleId r = stored(PolicyId{world.must(policy({cooldown(1)}))}).rules[0].id;
  world.must(CreateSkip{r, version});
  world.must(SetApproval{version});
  for (size_t n = 0; n < kHotVersions; ++n) world.publish("n" + std::to_string(n), VersionStatus::kBuilding);
  EXPECT_FALSE(world.state->versions.find(version));
  EXPECT_EQ(world.rows.count<PolicySkip>(), 0u);
  EXPECT_EQ(world.rows.count<Approval>(), 1u) << "what was said stays on record";
  world.reload();
  EXPECT_FALSE(world.state->versions.find(version));
}

// ---- Whatever is done, a load gives the same
// ---------------------------------------------------------------

class RandomPolicyCommands : public PolicyCommands {
 protected:
  uint32_t pick(size_t n) { return static_cast<uint32_t>(rng_() % n); }
  template <class T>
  T any(const std::vector<T>& of, T otherwise) {
    return of.empty() || pick(10) == 0 ? otherwise : of[pick(of.size())];
  }
  template <class T>
  void keep(std::vector<T>& in, const Reply& r) {
    if (r) in.push_back(T{r->id});
  }
  VersionId any_version() { return any(versions_, version); }
  EnvironmentId any_environment() { return any(environments_, world.environment); }

  void step() {
    switch (pick(12)) {
      case 0:
      case 1: upsert(); break;
      case 2: world.run(DeletePolicy{any(policies_, id<PolicyId>(1))}); break;
      case 3:
      case 4: approve(); break;
      case 5:
      case 6: skip(); break;
      case 7: world.run(DeleteSkip{any(skips_, id<SkipId>(1))}); break;
      case 8: publish(); break;
      case 9: depend(); break;
      case 10: environment(); break;
      case 11: world.pass(seconds(pick(20))); break;
    }
    if (pick(3) == 0) work();
  }
  void upsert() {
    std::vector<UpsertPolicy::RuleInput> rules;
    for (uint32_t n = pick(4); n > 0; --n) rules.push_back(pick(2) ? cooldown(0) : retry(1));
    UpsertPolicy c = policy(std::move(rules));
    if (pick(2)) c.id = any(policies_, id<PolicyId>(1));
    keep(policies_, world.run(c));
  }
  void approve() {
    SetApproval c{any_version()};
    if (pick(2)) c.environments = {any_environment()};
    c.status = pick(2) ? ApprovalStatus::kApproved : ApprovalStatus::kRejected;
    run_as(pick(2) ? "ann" : "bob", c);
  }
  void skip() {
    std::vector<RuleId> rules;
    world.state->policies.each([&](PolicyIx, const PolicySlot& p) {
      for (const PolicyRule& r : p.row.rules) rules.push_back(r.id);
    });
    CreateSkip c{any(rules, id<RuleId>(1)), any_version()};
    if (pick(2)) c.environment = any_environment();
    if (pick(2)) c.resource = world.resource;
    if (pick(2)) c.expires_at = world.now + seconds(pick(30));
    keep(skips_, world.run(c));
  }
  void publish() {
    CreateVersion c{.deployment = pick(2) ? world.deployment : other_, .tag = std::to_string(++tags_)};
    if (pick(2)) c.dependencies = {{c.deployment == other_ ? world.deployment : other_, "true"}};
    world.now = world.now + seconds(1);
    keep(versions_, world.run(c));
  }
  void depend() {
    const VersionId v = any_version();
    if (pick(2))
      world.run(SetVersionDependency{v, pick(2) ? other_ : world.deployment, pick(2) ? "true" : "false"});
    else
      world.run(DeleteVersionDependency{v, other_});
  }
  void environment() {
    const EnvironmentId e = any_environment();
    switch (pick(4)) {
      case 0: world.run(DeleteEnvironment{e}); break;
      case 1: world.run(LinkEnvironment{world.system, e, pick(2) == 0}); break;
      default:
        keep(environments_, world.run(UpsertEnvironment{e, e.str(), "", pick(2) ? "true" : "false", {}}));
        world.run(LinkEnvironment{world.system, e});
    }
  }
  // A job is claimed and ends.
  void work() {
    world.drain();
    Reply r = world.claim();
    if (r && r->job) world.report(r->job->id, pick(2) ? JobStatus::kSuccessful : JobStatus::kFailure);
  }
  void begin(uint32_t seed) {
    rng_.seed(seed);
    UpsertDeployment d{.name = "other", .resource_selector = "true", .agent_selector = "true"};
    other_ = DeploymentId{world.must(d)};
    world.must(LinkDeployment{world.system, other_});
    for (uint64_t n = 1; n < 3; ++n) environments_.push_back(id<EnvironmentId>(n));
  }

 private:
  std::mt19937 rng_;
  DeploymentId other_;
  int tags_ = 0;
  std::vector<PolicyId> policies_;
  std::vector<SkipId> skips_;
  std::vector<VersionId> versions_;
  std::vector<EnvironmentId> environments_;
};

TEST_F(RandomPolicyCommands, leave_rows_from_which_the_same_state_is_loaded) {
  begin(1);
  for (int n = 0; n < 1500; ++n) {
    step();
    if (pick(10)) continue;
    world.drain();
    ASSERT_EQ(difference(picture_of(*world.state), picture_of(*world.rows.load())), "") << "at step " << n;
  }
  EXPECT_GT(world.rows.count<PolicySkip>() + audits("skip.expired").size(), 10u) << "the steps do something";
  EXPECT_GT(world.rows.count<Approval>(), 10u);
  EXPECT_GT(world.rows.count<VersionDependency>(), 10u);
}

}  // namespace
}  // namespace ctrlplane
