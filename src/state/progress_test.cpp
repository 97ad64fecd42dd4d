// Targets and successes of a deployment in an environment, and whom versions are for, against a count that
// walks over all rows.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include <fmt/core.h>

#include "state/state.h"
#include "state/testing.h"

namespace ctrlplane {
namespace {

using testing::id;
using testing::kStart;

constexpr uint32_t kResources = 12, kSides = 3, kVersions = 6;

// Every deployment is linked with every environment, except where a selector or a link says otherwise.
class RandomProgress {
 public:
  explicit RandomProgress(uint32_t seed) : rng_(seed) {
    put(System{.id = id<SystemId>(1), .name = "s"});
    for (uint64_t n = 0; n < kSides; ++n) put_deployment(n), put_environment(n);
    for (uint64_t n = 0; n < kResources; ++n) put_resource(n);
    settle();
  }
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(rng_() % n); }

  void random_step() {
    switch (pick(12)) {
      case 0: put_resource(pick(kResources)); break;
      case 1: put_deployment(pick(kSides)); break;
      case 2: put_environment(pick(kSides)); break;
      case 3: erase_side(); break;
      case 4: erase(Resource{.id = id<ResourceId>(pick(kResources))}); break;
      case 5: erase_version(); break;
      case 6: link(); break;
      default: put_row();
    }
    if (pick(2)) advance(pick(8));
  }
  void advance(size_t budget) {
    std::vector<TargetKey> gone;
    state_.advance(budget, gone);
    for (const TargetKey& key : gone) erase(TargetState{.key = key});
  }
  void settle() {
    while (!state_.settled()) advance(3);
  }

  // What the counters say is what the slots say, at any moment; the same number is the same set.
  void check() {
    std::map<std::pair<DeploymentIx, EnvironmentIx>, std::set<TargetKey>> sets;
    std::map<std::tuple<DeploymentIx, EnvironmentIx, VersionIx>, State::Success> naive, skipped;
    each_known([&](TargetIx t) {
      const TargetSlot& slot = state_.at(t);
      if (!slot.exists) return;
      sets[{slot.deployment, slot.environment}].insert(state_.key_of(t));
      for (const PastVersionIx& p : slot.past) {
        if (!is_kept_for(p.version, t)) continue;
        State::Success& s = naive[{slot.deployment, slot.environment, p.version}];
        s.latest = s.count++ == 0 ? p.first_success : std::max(s.latest, p.first_success);
      }
      for (const auto& [version, at] : first_skipped_or_successful(slot)) {
        if (!is_kept_for(version, t)) continue;
        State::Success& s = skipped[{slot.deployment, slot.environment, version}];
        s.latest = s.count++ == 0 ? at : std::max(s.latest, at);
      }
    });
    check_scopes();
    for (uint32_t d = 0; d < state_.deployments.bound(); ++d)
      for (uint32_t e = 0; e < state_.environments.bound(); ++e) {
        const auto& set = sets[{DeploymentIx{d}, EnvironmentIx{e}}];
        ASSERT_EQ(state_.targets_in({d}, {e}), set.size());
        std::set<TargetKey> listed;
        state_.each_target_in({d}, {e}, [&](TargetIx t) { listed.insert(state_.key_of(t)); });
        ASSERT_EQ(listed, set);
        const uint64_t epoch = state_.membership_epoch({d}, {e});
        ASSERT_EQ(epoch == 0, set.empty());
        ASSERT_EQ(set_of_epoch_.try_emplace(epoch, set).first->second, set) << "one number for two sets";
        for (uint32_t v = 0; v < state_.versions.bound(); ++v) {
          SCOPED_TRACE(fmt::format("version {} of deployment {} in environment {}", v, d, e));
          const auto at = std::tuple(DeploymentIx{d}, EnvironmentIx{e}, VersionIx{v});
          ASSERT_EQ(state_.successes({d}, {e}, {v}), naive[at]);
          ASSERT_EQ(state_.endings({d}, {e}, {v}, std::array{JobStatus::kSuccessful}), naive[at]);
          ASSERT_EQ(state_.endings({d}, {e}, {v}, std::array{JobStatus::kSkipped, JobStatus::kSuccessful}),
                    skipped[at]);
        }
      }
  }

  // Exact for one target at any moment, and all of them once they have been counted.
  void check_scopes() {
    state_.versions.each([&](VersionIx v, const VersionSlot& slot) {
      if (!slot.scope || slot.erased) return;
      std::map<EnvironmentIx, std::set<TargetKey>> in;
      for (TargetIx t : state_.deployments[slot.deployment].targets) {
        if (!state_.at(t).exists) continue;
        const bool should = slot.scope->holds(state_.scope_match(v, t));
        ASSERT_EQ(state_.in_scope(v, t), should) << slot.row.tag;
        if (should) in[state_.at(t).environment].insert(state_.key_of(t));
      }
      if (slot.scope->counting) return;
      state_.environments.each([&](EnvironmentIx e, const EnvironmentSlot&) {
        std::set<TargetKey> listed;
        state_.each_target_in(slot.deployment, e, v, [&](TargetIx t) { listed.insert(state_.key_of(t)); });
        ASSERT_EQ(listed, in[e]);
        ASSERT_EQ(state_.targets_in(slot.deployment, e, v), in[e].size());
      });
    });
  }

 private:
  bool is_kept_for(VersionIx v, TargetIx t) const {
    const auto& scope = state_.versions[v].scope;
    return !scope || scope->targets.contains(t.n);
  }
  template <class Fn>
  void each_known(Fn&& fn) {
    state_.resources.each([&](ResourceIx, const ResourceSlot& r) {
      for (TargetIx t : r.targets) fn(t);
    });
  }
  static std::map<VersionIx, Time> first_skipped_or_successful(const TargetSlot& slot) {
    std::map<VersionIx, Time> first;
    auto note = [&](VersionIx v, Time at) {
      auto [it, is_new] = first.try_emplace(v, at);
      if (!is_new) it->second = std::min(it->second, at);
    };
    for (const PastVersionIx& p : slot.past) note(p.version, p.first_success);
    for (const EndingIx& e : slot.endings)
      if (e.status == JobStatus::kSkipped) note(e.version, e.first_at);
    return first;
  }
  void put(Entity e) { state_.apply(Change::put(std::move(e))); }
  void erase(Entity e) { state_.apply(Change::erase(std::move(e))); }
  std::string random_selector() { return pick(2) ? "true" : pick(3) ? "resource.kind == 'a'" : "false"; }
  void put_resource(uint64_t n) {
    Resource r{.id = id<ResourceId>(n), .identifier = std::to_string(n), .kind = pick(2) ? "a" : "b"};
    if (pick(2)) r.metadata.set("ring", pick(2) ? "in" : "out");
    put(r);
  }
  void put_deployment(uint64_t n) {
    Deployment d{.id = id<DeploymentId>(n), .name = std::to_string(n), .description = pick(3) ? "" : "x"};
    d.resource_selector = random_selector();
    put(d);
    put(SystemDeployment{id<SystemId>(1), d.id});
    for (uint64_t v = 0; v < kVersions; ++v) put_version(n, v);
  }
  void put_version(uint64_t deployment, uint64_t n) {
    Version v{.id = version_id(deployment, n), .deployment = id<DeploymentId>(deployment)};
    v.tag = std::to_string(n);
    constexpr const char* kScopes[] = {"resource.metadata['ring'] == 'in'", "environment.name == '1'",
                                       "resource.kind == 'a' && deployment.description != 'x'"};
    if (n % 2) v.target_selector = kScopes[n / 2 % 3];
    if (pick(2)) v.on_selector_error = OnSelectorError::kExclude;
    if (!state_.versions.find(v.id)) put(v);
  }
  static VersionId version_id(uint64_t deployment, uint64_t n) {
    return id<VersionId>(100 * (deployment + 1) + n);
  }
  void put_environment(uint64_t n) {
    Environment e{.id = id<EnvironmentId>(n), .name = std::to_string(n)};
    e.resource_selector = random_selector();
    put(e);
    put(SystemEnvironment{id<SystemId>(1), e.id});
  }
  void erase_side() {
    if (pick(2))
      erase(Deployment{.id = id<DeploymentId>(pick(kSides))});
    else
      erase(Environment{.id = id<EnvironmentId>(pick(kSides))});
  }
  void link() {
    SystemEnvironment e{id<SystemId>(1), id<EnvironmentId>(pick(kSides))};
    SystemDeployment d{id<SystemId>(1), id<DeploymentId>(pick(kSides))};
    pick(2) ? (pick(2) ? put(e) : erase(e)) : (pick(2) ? put(d) : erase(d));
  }
  void erase_version() {
    uint64_t d = pick(kSides), v = pick(kVersions);
    erase(Version{.id = version_id(d, v)});
    if (pick(2) && state_.deployments.find(id<DeploymentId>(d))) put_version(d, v);
  }
  void put_row() {
    const uint64_t d = pick(kSides);
    TargetState row{
        .key = {id<ResourceId>(pick(kResources)), id<EnvironmentId>(pick(kSides)), id<DeploymentId>(d)}};
    if (!state_.target(row.key)) return;
    if (pick(8) == 0) return erase(row);
    for (uint64_t v = 0; v < kVersions; ++v)
      if (pick(2)) row.past.push_back({version_id(d, v), kStart + seconds(pick(20))});
    if (pick(2)) row.denied.push_back(version_id(d, pick(kVersions)));
    for (uint64_t v = 0; v < kVersions; ++v)
      for (JobStatus s : {JobStatus::kSkipped, JobStatus::kFailure})
        if (pick(3) == 0) row.endings.push_back({version_id(d, v), s, kStart + seconds(pick(20))});
    if (pick(2)) row.last_version = version_id(d, pick(kVersions));
    put(row);
  }

  std::mt19937 rng_;
  State state_{WorkspaceId{}};
  std::map<uint64_t, std::set<TargetKey>> set_of_epoch_;
};

TEST(Progress, is_what_a_walk_over_all_targets_says_however_it_came_about) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgress world(seed);
    for (int step = 0; step < 1000; ++step) {
      world.random_step();
      if (world.pick(4) == 0) world.check();
      if (world.pick(40) == 0) world.settle();
      if (::testing::Test::HasFatalFailure()) FAIL() << "at step " << step;
    }
  }
}

}  // namespace
}  // namespace ctrlplane
