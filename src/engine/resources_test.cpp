#include "engine/resources.h"

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::difference;
using testing::picture_of;
using testing::World;

struct ProviderSets : ::testing::Test, World {
  ProviderId provider(std::string name) { return ProviderId{must(UpsertProvider{.name = std::move(name)})}; }
  static ResourceInput input(std::string identifier, std::string name = "n") {
    return {std::move(identifier), std::move(name), "Host", "v1", {}, {}};
  }
  Reply set(ProviderId p, std::vector<ResourceInput> resources) {
    ProviderSet work({p, std::move(resources)});
    changes = 0;
    for (bool done = false; !done;) {
      done = transact([&](Tx& tx) { return work.step(tx); });
      changes += last.size();
    }
    drain();
    return work.reply();
  }
  std::set<std::string> identifiers(std::optional<ProviderId> of) const {
    std::set<std::string> out;
    state->resources.each([&](ResourceIx, const ResourceSlot& r) {
      if (r.row.provider == of) out.insert(r.row.identifier);
    });
    return out;
  }
  size_t changes = 0;
};

using Names = std::set<std::string>;

TEST_F(ProviderSets, make_the_providers_resources_exactly_these) {
  ProviderId p = provider("p");
  ASSERT_TRUE(set(p, {input("a"), input("b"), input("c")}));
  EXPECT_EQ(identifiers(p), (Names{"a", "b", "c"}));
  ASSERT_TRUE(set(p, {input("b"), input("c", "renamed"), input("d")}));
  EXPECT_EQ(identifiers(p), (Names{"b", "c", "d"}));
  EXPECT_EQ(changes, 3u) << "a diff: one new, one changed, one gone";
  ASSERT_TRUE(set(p, {}));
  EXPECT_EQ(identifiers(p), Names{});
}

TEST_F(ProviderSets, change_nothing_when_repeated) {
  ProviderId p = provider("p");
  ASSERT_TRUE(set(p, {input("a"), input("b")}));
  ASSERT_TRUE(set(p, {input("b"), input("a")}));
  EXPECT_EQ(changes, 0u);
}

TEST_F(ProviderSets, name_the_second_of_two_equal_identifiers) {
  ProviderId p = provider("p");
  Reply r = set(p, {input("a"), input("b"), input("a", "other")});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(r.error().details.front().path, "resources[2].identifier");
  EXPECT_EQ(identifiers(p), Names{}) << "refused before the first step";
  r = set(p, {input("a"), input("b", "")});
  EXPECT_EQ(r.error().details.front().path, "resources[1].name");
}

TEST_F(ProviderSets, delete_nothing_of_others) {
  ProviderId mine = provider("mine"), theirs = provider("theirs");
  ASSERT_TRUE(set(theirs, {input("t1"), input("t2")}));
  must(UpsertResource{input("by-hand"), {}});
  ASSERT_TRUE(set(mine, {input("m")}));
  ASSERT_TRUE(set(mine, {}));
  EXPECT_EQ(identifiers(theirs), (Names{"t1", "t2"}));
  EXPECT_EQ(identifiers(std::nullopt), Names{"by-hand"});
}

TEST_F(ProviderSets, leave_alone_what_another_provider_took_over_between_two_steps) {
  ProviderId mine = provider("mine"), theirs = provider("theirs");
  ASSERT_TRUE(set(mine, {input("a"), input("b")}));
  ProviderSet work({mine, {}});
  EXPECT_FALSE(transact([&](Tx& tx) { return work.step(tx); }));
  Names left = identifiers(mine);
  ASSERT_EQ(left.size(), 1u);
  must(UpsertResource{input(*left.begin()), theirs});
  EXPECT_TRUE(transact([&](Tx& tx) { return work.step(tx); }));
  EXPECT_EQ(identifiers(theirs), left);
}

TEST_F(ProviderSets, are_looked_at_to_the_end_before_anything_changes) {
  ProviderId mine = provider("mine");
  std::vector<ResourceInput> many;
  for (int i = 0; i < 200; ++i) many.push_back(input("r" + std::to_string(i)));
  many.push_back(input("r7"));
  Reply twice = set(mine, many);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().details.at(0).path, "resources[200].identifier");
  many.back() = input("");
  Reply nameless = set(mine, many);
  ASSERT_FALSE(nameless);
  EXPECT_EQ(nameless.error().details.at(0).path, "resources[200].identifier");
  EXPECT_EQ(identifiers(mine), Names{});
  many.pop_back();
  ASSERT_TRUE(set(mine, many));
  EXPECT_EQ(identifiers(mine).size(), 200u);
}

TEST_F(ProviderSets, skip_what_another_provider_owns) {
  ProviderId mine = provider("mine"), theirs = provider("theirs");
  ASSERT_TRUE(set(theirs, {input("shared", "theirs")}));
  must(UpsertResource{input("by-hand"), {}});
  Reply r = set(mine, {input("shared", "mine"), input("m"), input("by-hand")});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->skipped, 1u);
  EXPECT_EQ(identifiers(theirs), Names{"shared"});
  EXPECT_EQ(state->resources[state->resource_identified("shared")].row.name, "theirs");
  EXPECT_EQ(identifiers(mine), (Names{"m", "by-hand"})) << "what nobody owns is taken";
}

TEST_F(ProviderSets, a_plain_upsert_leaves_the_owner) {
  ProviderId p = provider("p");
  ASSERT_TRUE(set(p, {input("a")}));
  must(UpsertResource{input("a", "renamed"), {}});
  EXPECT_EQ(identifiers(p), Names{"a"});
}

// ---- Providers -----------------------------------------------------------------------------------------

TEST_F(ProviderSets, a_provider_is_found_by_id_then_by_name) {
  auto upsert = [&](std::optional<ProviderId> id, std::string name) {
    return run(UpsertProvider{.id = id, .name = std::move(name)});
  };
  ProviderId a{upsert({}, "a")->id};
  EXPECT_EQ(upsert({}, "a")->id, a.uuid);
  Reply renamed = upsert(a, "renamed");
  EXPECT_EQ(renamed->id, a.uuid);
  EXPECT_FALSE(renamed->created);
  EXPECT_EQ(state->provider_named("a"), nullptr);
  EXPECT_EQ(upsert(testing::id<ProviderId>(77), "renamed")->id, a.uuid) << "an unknown id, a known name";
  Reply fresh = upsert(testing::id<ProviderId>(78), "fresh");
  EXPECT_TRUE(fresh->created);
  EXPECT_EQ(fresh->id, testing::id<ProviderId>(78).uuid);
  EXPECT_EQ(upsert(a, "fresh").error().code, ErrorCode::kConflict);
}

TEST_F(ProviderSets, a_provider_is_deleted_once_it_owns_nothing) {
  ProviderId p = provider("p");
  ASSERT_TRUE(set(p, {input("a"), input("b")}));
  Reply refused = run(DeleteProvider{p});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_NE(refused.error().message.find("owns 2 resources"), std::string::npos) << refused.error().message;
  ASSERT_TRUE(set(p, {}));
  must(DeleteProvider{p});
  EXPECT_EQ(rows.count<Provider>(), 0u);
  EXPECT_EQ(run(DeleteProvider{p}).error().code, ErrorCode::kNotFound);
}

TEST_F(ProviderSets, need_their_provider) {
  EXPECT_EQ(set(testing::id<ProviderId>(5), {input("a")}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(state->resources.size(), 0u);
}

TEST_F(ProviderSets, take_the_stored_state_of_targets_with_the_resource) {
  one_target();
  publish("v1");
  JobId job = only_job()->id;
  must(DeleteResource{"host"});
  drain();
  EXPECT_EQ(rows.count<TargetState>(), 0u);
  EXPECT_EQ(stored_job(job).status, JobStatus::kCancelled);
  EXPECT_EQ(state->jobs.size(), 0u);
  EXPECT_EQ(state->target_count(), 0u);
}

// ---- Versions ------------------------------------------------------------------------------------------

TEST(Versions, past_the_newest_ones_leave_memory_unless_a_target_refers_to_them) {
  World w;
  w.one_target();
  VersionId kept = w.publish("kept");
  w.finish(JobStatus::kSuccessful);
  w.publish("dropped", VersionStatus::kBuilding);
  // The target stays where it is: nothing after it is ready.
  for (size_t n = 0; n < kHotVersions; ++n) w.publish(std::to_string(n), VersionStatus::kBuilding);
  const auto& hot = w.state->deployments[w.state->deployments.find(w.deployment)].versions;
  EXPECT_EQ(hot.size(), kHotVersions + 1);
  EXPECT_TRUE(w.state->versions.find(kept));
  EXPECT_EQ(w.state->versions[hot.back()].row.id, kept);
  size_t retired = 0;
  w.rows.each<Version>([&](const Version& v) { retired += v.retired ? 1u : 0u; });
  EXPECT_EQ(retired, 1u);
  EXPECT_EQ(difference(picture_of(*w.state), picture_of(*w.rows.load())), "");
  EXPECT_EQ(w.target().current_version, kept);
}

TEST(Versions, are_not_made_for_a_deployment_that_is_gone) {
  World w;
  w.one_target();
  VersionId v = w.publish("v1");
  w.must(DeleteDeployment{w.deployment});
  EXPECT_EQ(w.run(CreateVersion{.deployment = w.deployment, .tag = "v2"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(w.run(SetVersionStatus{v, VersionStatus::kPaused, ""}).error().code, ErrorCode::kNotFound);
  w.drain();
  EXPECT_EQ(w.rows.count<Version>(), 0u);
  size_t slots = 0;
  w.state->versions.each([&](VersionIx, const VersionSlot&) { ++slots; });
  EXPECT_EQ(slots, 0u) << "a slot lives as long as it is referred to, not longer";
}

}  // namespace
}  // namespace ctrlplane
