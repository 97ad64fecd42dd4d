#include "runtime/placement.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace ctrlplane {
namespace {

store::ReplicaId replica(uint64_t n) { return {Uuid::from_halves(1, n)}; }
WorkspaceId workspace(uint64_t n) { return {Uuid::from_halves(2, n)}; }

// owners[i] owns workspace i; 0: nobody.
Placing placing(uint64_t self, std::set<uint64_t> seats, const std::vector<uint64_t>& owners) {
  Placing p{.self = replica(self), .seats = {}, .workspaces = {}};
  for (uint64_t seat : seats) p.seats.insert(replica(seat));
  for (size_t i = 0; i < owners.size(); ++i)
    p.workspaces.push_back(
        {workspace(i), owners[i] ? std::optional(replica(owners[i])) : std::nullopt, false});
  return p;
}

TEST(Placement, one_replica_takes_everything) {
  Placement p = place(placing(1, {1}, {0, 0, 0}));
  EXPECT_EQ(p.take, (std::vector{workspace(0), workspace(1), workspace(2)}));
  EXPECT_FALSE(p.give);
}

TEST(Placement, what_nobody_owns_is_dealt_out_to_those_with_the_fewest) {
  std::vector<uint64_t> owners = {1, 1, 2, 0, 0, 0};
  EXPECT_EQ(place(placing(1, {1, 2, 3}, owners)).take, std::vector<WorkspaceId>{});
  EXPECT_EQ(place(placing(3, {1, 2, 3}, owners)).take, (std::vector{workspace(3), workspace(5)}));
  EXPECT_EQ(place(placing(2, {1, 2, 3}, owners)).take, (std::vector{workspace(4)}));
}

TEST(Placement, what_is_overdue_is_taken_by_anybody) {
  Placing p = placing(1, {1, 2}, {1, 0});
  EXPECT_TRUE(place(p).take.empty());
  p.workspaces[1].overdue = true;
  EXPECT_EQ(place(p).take, (std::vector{workspace(1)}));
}

TEST(Placement, the_richest_gives_one_away_when_another_has_two_fewer) {
  EXPECT_EQ(place(placing(1, {1, 2}, {1, 1})).give, workspace(1));
  EXPECT_FALSE(place(placing(1, {1, 2}, {1, 1, 2})).give) << "one more than another is even";
  EXPECT_FALSE(place(placing(2, {1, 2, 3}, {1, 1, 2, 2})).give) << "of two as rich the first gives";
  EXPECT_EQ(place(placing(1, {1, 2, 3}, {1, 1, 2, 2})).give, workspace(1));
  EXPECT_FALSE(place(placing(1, {1, 2}, {1, 1, 0})).give) << "first what nobody has";
}

TEST(Placement, who_leaves_gives_everything_and_takes_nothing) {
  Placement p = place(placing(1, {2}, {1, 2, 2, 0}));
  EXPECT_EQ(p.give, workspace(0));
  EXPECT_TRUE(p.take.empty());
  EXPECT_EQ(place(placing(1, {}, {1, 0})), Placement{}) << "nobody is there to take it";
}

// Whatever happened before, replicas that follow the function one after another come to rest, and even.
TEST(Placement, replicas_that_follow_it_come_to_rest_even) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    uint64_t replicas = 1 + random() % 5;
    std::vector<uint64_t> owners(random() % 40);
    for (uint64_t& o : owners) o = random() % (replicas + 2);  // some by one that is dead
    std::set<uint64_t> seats;
    for (uint64_t r = 1; r <= replicas; ++r) seats.insert(r);
    for (uint64_t& o : owners) o = seats.contains(o) ? o : 0;
    bool moved = true;
    int rounds = 0;
    for (; moved && rounds < 200; ++rounds) {
      moved = false;
      for (uint64_t self : seats) {
        Placement p = place(placing(self, seats, owners));
        for (size_t i = 0; i < owners.size(); ++i) {
          if (std::count(p.take.begin(), p.take.end(), workspace(i))) owners[i] = self, moved = true;
          if (p.give == workspace(i)) owners[i] = 0, moved = true;
        }
      }
    }
    std::map<uint64_t, size_t> counts;
    for (uint64_t seat : seats) counts[seat] = 0;
    for (uint64_t o : owners) ++counts[o];
    EXPECT_FALSE(counts.contains(0)) << "seed " << seed;
    auto [least, most] = std::minmax_element(counts.begin(), counts.end(),
                                             [](auto& a, auto& b) { return a.second < b.second; });
    EXPECT_LE(most->second - least->second, 1u) << "seed " << seed;
    EXPECT_LT(rounds, 200) << "seed " << seed;
  }
}

}  // namespace
}  // namespace ctrlplane
