// The index against a walk over everything: whatever happened to the resources and whatever the selector
// says, none that gives a sought result is left out.
#include "state/resource_index.h"

#include <gtest/gtest.h>

#include <random>

#include "state/state.h"
#include "state/testing.h"

namespace ctrlplane {
namespace {

using testing::id;

class World {
 public:
  explicit World(uint32_t seed) : rng_(seed) {}
  // Needs more steps than there are.
  static constexpr std::string_view kHog =
      "lists.range(300).all(a, lists.range(300).all(b, a + b + resource.config.n >= 0))";

  void random_change() {
    ResourceId r = id<ResourceId>(pick(40));
    if (pick(5) == 0)
      state.apply(Change::erase(Resource{.id = r}));
    else
      state.apply(Change::put(random_resource(r)));
  }

  // Any expression of a grammar that has sound and unsound places, missing keys, errors and a budget hog.
  std::string expression(int depth) {
    auto sub = [&] { return "(" + expression(depth - 1) + ")"; };
    if (depth > 0) switch (pick(9)) {
        case 0:
        case 1:
        case 2: return sub() + " && " + sub();
        case 3:
        case 4: return sub() + " || " + sub();
        case 5: return sub() + " && " + sub() + " && " + sub();
        case 6: return "!" + sub();
        case 7: return sub() + " ? " + sub() + " : " + sub();
        case 8: return "[1, 2].exists(i, " + sub() + ")";
      }
    return pick(4) ? equality() : other();
  }
  std::string equality() {
    switch (pick(10)) {
      case 0: return "resource.kind == '" + letter() + "'";
      case 1: return "'" + letter() + "' == resource.name";
      case 2: return "resource.identifier in ['i" + letter() + "', 'i" + letter() + "', 'none']";
      case 3: return "resource.version == '" + letter() + "'";
      case 4: return "resource.providerId == '" + id<ProviderId>(pick(3)).str() + "'";
      case 5: return "has(resource.metadata." + letter() + ")";
      case 6: return "'" + letter() + "' in resource.metadata";
      case 7: return "resource.metadata." + letter() + " in ['" + letter() + "', '" + letter() + "']";
      default: return "resource.metadata['" + letter() + "'] == '" + letter() + "'";
    }
  }

  State state{WorkspaceId{}};
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(rng_() % n); }

 private:
  std::string letter() { return std::string(1, static_cast<char>('a' + pick(4))); }
  std::string other() {
    switch (pick(14)) {
      case 0: return "true";
      case 1: return "false";
      case 2: return "resource.kind != '" + letter() + "'";
      case 3: return "1 / (resource.config.n - " + std::to_string(pick(3)) + ") == 1";
      case 4: return "resource.config.missing == 1";
      case 5: return "resource.metadata['" + letter() + "'].matches('^[ab]$')";
      case 6: return std::string(kHog);
      default: return "int(resource.metadata['" + letter() + "']) == 1";
    }
  }
  Resource random_resource(ResourceId r) {
    Resource row{.id = r, .identifier = "i" + letter(), .name = letter(), .kind = letter()};
    row.version = letter();
    row.config = *Json::parse_object("{\"n\":" + std::to_string(pick(3)) + "}");
    if (pick(2)) row.provider = id<ProviderId>(pick(3));
    for (uint32_t n = pick(4); n > 0; --n) row.metadata.set(letter(), letter());
    return row;
  }

  std::mt19937 rng_;
};

bool is_sought(Match m, Sought sought) {
  switch (sought) {
    case Sought::kYes: return m == Match::kYes;
    case Sought::kYesOrError: return m == Match::kYes || m == Match::kError;
    case Sought::kAllButNo: return m != Match::kNo;
  }
  return true;
}

using Results = std::vector<std::pair<uint32_t, Match>>;

Results results_of(const State& state, const Selector& selector) {
  Results all;
  state.resources.each(
      [&](ResourceIx r, const ResourceSlot& slot) { all.emplace_back(r.n, selector.match(slot.row)); });
  return all;
}

Roaring naive(const Results& results, Sought sought) {
  Roaring found;
  for (const auto& [n, match] : results)
    if (is_sought(match, sought)) found.add(n);
  return found;
}

Selector compiled(const std::string& text) {
  auto s = Selector::compile(text, Selector::Subject::kResource);
  CHECK(s.has_value(), text + ": " + s.error().message);
  return *std::move(s);
}

// As if nothing in it were unknown.
Narrowing overconfident(Narrowing n) {
  n.partial = false;
  for (Narrowing& part : n.parts) part = overconfident(part);
  return n;
}

constexpr Sought kAllSought[] = {Sought::kYes, Sought::kYesOrError, Sought::kAllButNo};

TEST(ResourceIndex, leaves_out_no_resource_whose_result_is_sought) {
  size_t answers = 0, narrowed = 0;
  // Whether it would be noticed: questions that are too narrow, of which some must fail.
  size_t lost_without_missing_keys = 0, lost_without_budgets = 0;
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    World world(seed);
    for (int round = 0; round < 150; ++round) {
      for (int n = 0; n < 4; ++n) world.random_change();
      const std::string text = world.expression(static_cast<int>(world.pick(4)));
      const Selector selector = compiled(text);
      const Results results = results_of(world.state, selector);
      for (Sought sought : kAllSought) {
        auto candidates = world.state.candidates(selector, sought);
        ++answers;
        if (!candidates) continue;
        ++narrowed;
        ASSERT_TRUE(naive(results, sought).isSubset(*candidates))
            << text << " seed " << seed << " sought " << static_cast<int>(sought);
        for (uint32_t n : *candidates) ASSERT_TRUE(world.state.resources.used({n})) << text;
      }
      const Roaring all_but_no = naive(results, Sought::kAllButNo);
      auto loses = [&](const Narrowing& narrowing, Sought sought) {
        auto candidates = world.state.candidates(narrowing, sought);
        return candidates && !all_but_no.isSubset(*candidates);
      };
      lost_without_missing_keys += loses(selector.narrowing(), Sought::kYes);
      lost_without_budgets += loses(overconfident(selector.narrowing()), Sought::kAllButNo);
    }
  }
  EXPECT_GT(narrowed, answers / 4);
  EXPECT_GT(lost_without_missing_keys, 0u);
  EXPECT_GT(lost_without_budgets, 0u);
}

TEST(ResourceIndex, takes_neither_a_missing_key_nor_an_exhausted_budget_for_a_no) {
  State state{WorkspaceId{}};
  Resource row{.id = id<ResourceId>(1), .identifier = "i", .name = "n", .kind = "a"};
  row.config = *Json::parse_object("{\"n\":0}");
  state.apply(Change::put(row));
  const std::string hog(World::kHog);
  struct Case {
    std::string text;
    Match result;
    bool yes, yes_or_error, all_but_no;  // is it a candidate?
  };
  const Case cases[] = {
      {"resource.kind == 'b'", Match::kNo, false, false, false},
      {"resource.metadata['x'] == '1'", Match::kMissingKey, false, false, true},
      {"resource.metadata['x'] == '1' && resource.kind == 'b'", Match::kNo, false, false, false},
      {"resource.metadata['x'] == '1' && 1 / resource.config.n == 1", Match::kError, false, true, true},
      {"resource.kind == 'b' && " + hog, Match::kNo, false, false, false},
      {hog + " && resource.kind == 'b'", Match::kError, false, true, true},
      {"(" + hog + " || true) && resource.kind == 'b'", Match::kError, false, true, true},
      {"(resource.kind == 'b' && " + hog + ") || resource.kind == 'c'", Match::kNo, false, false, false}};
  for (const Case& c : cases) {
    const Selector selector = compiled(c.text);
    EXPECT_EQ(selector.match(row), c.result) << c.text;
    auto is_candidate = [&](Sought sought) {
      auto found = state.candidates(selector, sought);
      return !found || found->contains(0);
    };
    EXPECT_EQ(is_candidate(Sought::kYes), c.yes) << c.text;
    EXPECT_EQ(is_candidate(Sought::kYesOrError), c.yes_or_error) << c.text;
    EXPECT_EQ(is_candidate(Sought::kAllButNo), c.all_but_no) << c.text;
  }
}

TEST(ResourceIndex, is_exact_where_a_selector_is_nothing_but_equalities) {
  World world(3);
  for (int round = 0; round < 500; ++round) {
    world.random_change();
    std::string text = world.equality();
    for (uint32_t n = world.pick(4); n > 0; --n)
      text = "(" + text + (world.pick(2) ? " && " : " || ") + world.equality() + ")";
    const Selector selector = compiled(text);
    const Results results = results_of(world.state, selector);
    for (Sought sought : {Sought::kYes, Sought::kYesOrError})
      ASSERT_TRUE(world.state.candidates(selector, sought) == naive(results, sought)) << text;
  }
}

TEST(ResourceIndex, keeps_nothing_of_resources_that_are_gone) {
  ResourceIndex index;
  std::vector<Resource> rows;
  for (uint32_t n = 0; n < 300; ++n) {
    Resource r{.id = id<ResourceId>(n), .identifier = std::to_string(n), .name = "n", .kind = "k"};
    r.metadata = {{"half", n % 2 ? "odd" : "even"}, {"own", std::to_string(n)}};
    rows.push_back(r);
    index.put({n}, nullptr, r);
  }
  auto having = [&](const char* key, const char* value) {
    return index.candidates(Narrowing::term(ResourceField::kMetadata, key, {value}), Sought::kYes)
        ->cardinality();
  };
  EXPECT_EQ(having("half", "odd"), 150u);
  EXPECT_EQ(having("own", "7"), 1u);
  for (uint32_t n = 0; n < 300; ++n) {
    Resource edited = rows[n];
    edited.metadata.set("half", "odd");
    index.put({n}, &rows[n], edited);
    rows[n] = edited;
  }
  EXPECT_EQ(having("half", "even"), 0u);
  EXPECT_EQ(having("half", "odd"), 300u);
  for (uint32_t n = 0; n < 299; ++n) index.erase({n}, rows[n]);
  EXPECT_EQ(having("half", "odd"), 1u);
  EXPECT_EQ(index.values(), 8u);  // four fields, two keys, two values
  index.erase({299}, rows[299]);
  EXPECT_EQ(index.values(), 0u);
}

TEST(ResourceWalk, pauses_when_its_budget_is_spent_and_goes_on_behind) {
  State state{WorkspaceId{}};
  for (uint64_t n = 0; n < 10; ++n) state.apply(Change::put(Resource{.id = id<ResourceId>(n)}));
  state.apply(Change::erase(Resource{.id = id<ResourceId>(4)}));
  const uint32_t some[] = {1, 4, 5, 9};
  for (auto& [among, expected] : std::vector<std::pair<std::optional<Roaring>, std::vector<uint32_t>>>{
           {std::nullopt, {0, 1, 2, 3, 5, 6, 7, 8, 9}}, {Roaring(4, some), {1, 5, 9}}, {Roaring(), {}}}) {
    std::vector<uint32_t> seen;
    ResourceWalk walk{among};
    for (bool done = false; !done;) {
      size_t budget = 2, before = seen.size();
      done = state.walk(walk, budget, [&](ResourceIx r) { seen.push_back(r.n); });
      EXPECT_LE(seen.size(), before + 2);
      EXPECT_EQ(budget, 2 - (seen.size() - before));
    }
    EXPECT_EQ(seen, expected);
  }
}

}  // namespace
}  // namespace ctrlplane
