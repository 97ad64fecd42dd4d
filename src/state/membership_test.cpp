// Membership against a model that knows no index: three nested loops over everything, evaluated from
// scratch, with its own reading of the selectors.
#include <gtest/gtest.h>

#include <random>

#include "state/state.h"
#include "state/testing.h"

namespace ctrlplane {
namespace {

using testing::id;

struct Rule {  // a selector the model can read itself
  enum class Kind : uint8_t { kUnset, kTrue, kFalse, kTerms } kind = Kind::kUnset;
  std::map<std::string, std::string> terms;
  bool either = false;  // one of the terms is enough

  std::optional<std::string> text() const {
    switch (kind) {
      case Kind::kUnset: return std::nullopt;
      case Kind::kTrue: return "true";
      case Kind::kFalse: return "false";
      case Kind::kTerms: break;
    }
    std::string out;
    for (const auto& [key, value] : terms)
      out += (out.empty() ? ""
              : either    ? " || "
                          : " && ") +
             ("resource.metadata['" + key + "'] == '" + value + "'");
    return out;
  }
  bool matches(const Resource& r) const {
    if (kind != Kind::kTerms) return kind == Kind::kTrue;
    for (const auto& [key, value] : terms) {
      const std::string* have = r.metadata.find(key);
      if ((have && *have == value) == either) return either;
    }
    return !either;
  }
};

struct Model {
  std::map<ResourceId, Resource> resources;
  std::map<EnvironmentId, Rule> environments;
  std::map<DeploymentId, Rule> deployments;
  std::set<SystemId> systems;
  std::set<std::pair<SystemId, DeploymentId>> holds_deployment;
  std::set<std::pair<SystemId, EnvironmentId>> holds_environment;
  std::map<TargetKey, TargetState> rows;
  std::set<TargetKey> leaving;  // rows whose parent went, not yet reported

  bool linked(DeploymentId d, EnvironmentId e) const {
    for (SystemId s : systems)
      if (holds_deployment.contains({s, d}) && holds_environment.contains({s, e})) return true;
    return false;
  }
  std::set<TargetKey> targets() const {
    std::set<TargetKey> out;
    for (const auto& [d, dr] : deployments)
      for (const auto& [e, er] : environments)
        for (const auto& [r, row] : resources)
          if (dr.matches(row) && er.matches(row) && linked(d, e)) out.insert({r, e, d});
    return out;
  }
  // Rows of which a parent is gone are no longer rows.
  void drop_rows() {
    std::erase_if(rows, [&](const auto& entry) {
      const TargetKey& k = entry.first;
      if (resources.contains(k.resource) && environments.contains(k.environment) &&
          deployments.contains(k.deployment))
        return false;
      leaving.insert(k);
      return true;
    });
  }
};

class Membership {
 public:
  explicit Membership(uint32_t seed) : rng_(seed) {}

  void random_step() {
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
      case 3: put_resource(); break;
      case 4: erase_resource(); break;
      case 5:
      case 6: put_side<Environment>(model_.environments, ids(12)); break;
      case 7:
      case 8: put_side<Deployment>(model_.deployments, ids(12)); break;
      case 9: pick(3) ? link() : erase_environment(); break;
      case 10: pick(3) ? link() : erase_deployment(); break;
      case 11: put_system(); break;
      case 12: pick(4) ? link() : erase_system(); break;
      case 13:
      case 14: link(); break;
      case 15: put_row(); break;
    }
  }

  void advance(size_t budget) {
    std::vector<TargetKey> gone;
    state_.advance(budget, gone);
    for (const TargetKey& key : gone) {
      ASSERT_EQ(model_.leaving.erase(key), 1u) << "reported twice, or never to be reported: " << key.str();
      state_.apply(Change::erase(TargetState{.key = key}));
    }
  }
  void settle() {
    for (int i = 0; !state_.settled(); ++i) {
      ASSERT_LT(i, 100'000) << "membership does not settle";
      advance(1 + pick(7));
    }
    ASSERT_TRUE(model_.leaving.empty()) << "a row outlives its parent";
  }

  // True at any moment, also while membership lags.
  void check_existence_is_exact() {
    std::set<TargetKey> naive = model_.targets();
    each_known([&](TargetIx t, const TargetKey& key) {
      if (state_.target(key) == t) {
        ASSERT_EQ(state_.target_exists(t), naive.contains(key)) << key.str();
      }
    });
  }
  void check_settled() {
    std::set<TargetKey> naive = model_.targets(), existing;
    size_t known = 0;
    each_known([&](TargetIx t, const TargetKey& key) {
      ++known;
      bool first = !state_.at(t).exists || existing.insert(key).second;
      ASSERT_TRUE(first) << "twice: " << key.str();
      ASSERT_TRUE(state_.at(t).exists || state_.at(t).has_row) << "kept for nothing: " << key.str();
    });
    ASSERT_EQ(existing, naive);
    ASSERT_EQ(state_.target_count(), naive.size());
    for (const TargetKey& k : naive) known -= model_.rows.contains(k) ? 0u : 1u;
    ASSERT_EQ(known, model_.rows.size());
    for (const auto& [key, row] : model_.rows) {
      TargetIx t = state_.target(key);
      ASSERT_TRUE(t) << "forgot " << key.str();
      ASSERT_EQ(state_.row_of(t), row) << "remembers wrongly " << key.str();
    }
  }

  void erase_everything() {
    while (!model_.resources.empty()) erase_resource();
    while (!model_.deployments.empty()) erase_deployment();
    while (!model_.environments.empty()) erase_environment();
    while (!model_.systems.empty()) erase_system();
  }
  size_t used_slots() const {
    size_t n = state_.target_count();
    auto count = [&](auto, const auto&) { ++n; };
    state_.resources.each(count);
    state_.deployments.each(count);
    state_.environments.each(count);
    state_.systems.each(count);
    return n;
  }
  size_t slots() const {
    return state_.target_bound() + state_.resources.bound() + state_.deployments.bound() +
           state_.environments.bound() + state_.systems.bound();
  }
  // Everything linked with everything.
  void build_full_world() {
    Rule all{Rule::Kind::kTrue, {}, false};
    for (uint64_t n = 0; n < 4; ++n) {
      put(System{.id = id<SystemId>(n), .name = "s"}), model_.systems.insert(id<SystemId>(n));
      put_side_with<Environment>(model_.environments, id<EnvironmentId>(n), all);
      put_side_with<Deployment>(model_.deployments, id<DeploymentId>(n), all);
      link_deployment(id<SystemId>(n), id<DeploymentId>(n), true);
      for (uint64_t s = 0; s <= n; ++s) link_environment(id<SystemId>(s), id<EnvironmentId>(n), true);
    }
    for (uint64_t n = 0; n < 20; ++n) put_resource(n);
  }
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(rng_() % n); }

 private:
  uint64_t ids(uint32_t n) { return pick(n); }
  void put(Entity e) { state_.apply(Change::put(std::move(e))); }
  void erase(Entity e) { state_.apply(Change::erase(std::move(e))); }
  template <class Map>
  auto any_key(const Map& map) {
    return std::next(map.begin(), pick(static_cast<uint32_t>(map.size())))->first;
  }
  template <class Fn>
  void each_known(Fn&& fn) const {
    state_.deployments.each([&](DeploymentIx, const DeploymentSlot& d) {
      for (TargetIx t : d.targets) fn(t, state_.key_of(t));
    });
  }

  Metadata random_metadata() {
    Metadata m;
    if (pick(8)) m.set("env", pick(2) ? "prod" : "test");
    if (pick(4)) m.set("zone", std::string(1, static_cast<char>('a' + pick(3))));
    return m;
  }
  Rule random_rule() {
    Rule r{static_cast<Rule::Kind>(std::min(pick(8), 3u)), {}, pick(2) == 0};
    if (r.kind != Rule::Kind::kTerms) return r;
    if (pick(3)) r.terms["env"] = pick(2) ? "prod" : "test";
    if (r.terms.empty() || pick(2)) r.terms["zone"] = std::string(1, static_cast<char>('a' + pick(3)));
    return r;
  }
  void put_resource() { put_resource(ids(25)); }
  void put_resource(uint64_t n) {
    Resource r{.id = id<ResourceId>(n)};
    r.identifier = r.name = r.id.str();
    r.metadata = random_metadata();
    model_.resources[r.id] = r;
    put(r);
  }
  void erase_resource() {
    if (model_.resources.empty()) return;
    ResourceId r = any_key(model_.resources);
    model_.resources.erase(r);
    model_.drop_rows();
    erase(Resource{.id = r});
  }
  template <class Row, class Map>
  void put_side(Map& sides, uint64_t n) {
    put_side_with<Row>(sides, {Uuid::from_halves(n, 0x7e57)}, random_rule());
  }
  template <class Row, class Map>
  void put_side_with(Map& sides, typename Map::key_type key, const Rule& rule) {
    sides[key] = rule;
    Row row{.id = key, .name = key.str()};
    row.resource_selector = rule.text();
    put(row);
  }
  // Half of the time the links go first, as the commands do it, and half of the time with the row.
  void erase_environment() {
    if (model_.environments.empty()) return;
    EnvironmentId e = any_key(model_.environments);
    for (SystemId s : std::set(model_.systems))
      if (model_.holds_environment.contains({s, e}) && pick(2)) link_environment(s, e, false);
    std::erase_if(model_.holds_environment, [&](const auto& l) { return l.second == e; });
    model_.environments.erase(e);
    model_.drop_rows();
    erase(Environment{.id = e});
  }
  void erase_deployment() {
    if (model_.deployments.empty()) return;
    DeploymentId d = any_key(model_.deployments);
    for (SystemId s : std::set(model_.systems))
      if (model_.holds_deployment.contains({s, d}) && pick(2)) link_deployment(s, d, false);
    std::erase_if(model_.holds_deployment, [&](const auto& l) { return l.second == d; });
    model_.deployments.erase(d);
    model_.drop_rows();
    erase(Deployment{.id = d});
  }
  void put_system() {
    SystemId s = id<SystemId>(ids(5));
    model_.systems.insert(s);
    put(System{.id = s, .name = "s"});
  }
  void erase_system() {
    if (model_.systems.empty()) return;
    SystemId s = *std::next(model_.systems.begin(), pick(static_cast<uint32_t>(model_.systems.size())));
    model_.systems.erase(s);
    std::erase_if(model_.holds_environment, [&](const auto& l) { return l.first == s; });
    std::erase_if(model_.holds_deployment, [&](const auto& l) { return l.first == s; });
    erase(System{.id = s});
  }
  void link() {
    if (model_.systems.empty()) return;
    SystemId s = *std::next(model_.systems.begin(), pick(static_cast<uint32_t>(model_.systems.size())));
    bool on = pick(3) > 0;
    if (pick(2) && !model_.deployments.empty())
      link_deployment(s, any_key(model_.deployments), on);
    else if (!model_.environments.empty())
      link_environment(s, any_key(model_.environments), on);
  }
  void link_deployment(SystemId s, DeploymentId d, bool on) {
    on ? put(SystemDeployment{s, d}) : erase(SystemDeployment{s, d});
    if (on)
      model_.holds_deployment.insert({s, d});
    else
      model_.holds_deployment.erase({s, d});
  }
  void link_environment(SystemId s, EnvironmentId e, bool on) {
    on ? put(SystemEnvironment{s, e}) : erase(SystemEnvironment{s, e});
    if (on)
      model_.holds_environment.insert({s, e});
    else
      model_.holds_environment.erase({s, e});
  }
  void put_row() {
    std::set<TargetKey> all = model_.targets();
    if (all.empty()) return;
    TargetKey key = *std::next(all.begin(), pick(static_cast<uint32_t>(all.size())));
    // One that came again under the id of a deleted parent: the old row has to go first.
    if (model_.leaving.contains(key)) return;
    TargetState row{.key = key};
    row.attempts = 1 + pick(100);
    row.chain_release = id<ReleaseId>(pick(100));
    model_.rows[key] = row;
    put(row);
  }

  std::mt19937 rng_;
  State state_{WorkspaceId{}};
  Model model_;
};

TEST(Membership, is_what_three_nested_loops_say_however_it_came_about) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Membership m(seed);
    for (int step = 0; step < 1000; ++step) {
      m.random_step();
      if (m.pick(3) == 0) m.advance(m.pick(12));
      if (step % 5 == 0) m.check_existence_is_exact();
      if (m.pick(25) == 0) {
        m.settle();
        m.check_settled();
        m.check_existence_is_exact();
      }
      if (::testing::Test::HasFatalFailure()) FAIL() << "at step " << step;
    }
  }
}

TEST(Membership, looks_only_at_candidates_and_at_members_that_may_leave) {
  State state{WorkspaceId{}};
  std::vector<TargetKey> gone;
  for (uint64_t n = 0; n < 1000; ++n) {
    Resource r{.id = id<ResourceId>(n), .identifier = std::to_string(n)};
    r.metadata = {{"rack", std::to_string(n / 4)}};
    state.apply(Change::put(r));
  }
  Environment e{.id = id<EnvironmentId>(1), .name = "e"};
  auto select = [&](const char* selector) {
    e.resource_selector = selector;
    state.apply(Change::put(e));
  };
  auto members = [&] {
    return state.environments[state.environments.find(e.id)].members.resources.cardinality();
  };
  select("resource.metadata['rack'] == '17' && resource.identifier != '68'");
  state.advance(5, gone);
  EXPECT_TRUE(state.settled());
  EXPECT_EQ(members(), 3u);
  select("resource.metadata['rack'] in ['3', '4'] || resource.identifier == '999'");
  state.advance(5, gone);
  EXPECT_FALSE(state.settled()) << "3 that leave and 9 that come are more than a budget of 5";
  // What comes after the walk has begun is looked at by itself.
  Resource late{.id = id<ResourceId>(5), .identifier = "5"};
  late.metadata = {{"rack", "3"}};
  state.apply(Change::put(late));
  state.advance(7, gone);
  EXPECT_TRUE(state.settled());
  EXPECT_EQ(members(), 10u);
  select("resource.identifier.startsWith('99')");
  state.advance(999, gone);
  EXPECT_FALSE(state.settled());
  state.advance(1, gone);
  EXPECT_TRUE(state.settled());
  EXPECT_EQ(members(), 11u);
}

TEST(Membership, uses_freed_slots_again) {
  Membership m(7);
  m.build_full_world();
  m.settle();
  size_t slots = m.slots();
  for (int round = 0; round < 5; ++round) {
    m.erase_everything();
    m.settle();
    ASSERT_EQ(m.used_slots(), 0u);
    m.build_full_world();
    m.settle();
    m.check_settled();
    ASSERT_LE(m.slots(), slots);
  }
}

}  // namespace
}  // namespace ctrlplane
