#include "agent/stop_plan.h"

#include <gtest/gtest.h>

namespace ctrlplane::agent {
namespace {

using Act = StopPlan::Act;
constexpr LeaseEnd kLease{seconds(275), seconds(285)};

TEST(StopPlan, leaves_a_command_alone_that_nobody_wants_to_stop) {
  StopPlan plan(seconds(10), true);
  EXPECT_EQ(plan.next(seconds(0), StopReason::kNone, kLease), Act::kNothing);
  EXPECT_EQ(plan.next(seconds(274), StopReason::kNone, kLease), Act::kNothing);
  EXPECT_EQ(plan.reason(), StopReason::kNone);
  EXPECT_EQ(plan.quiet_for(seconds(270), kLease), seconds(5));
}

TEST(StopPlan, asks_once_and_kills_once_after_the_grace) {
  StopPlan plan(seconds(10), true);
  EXPECT_EQ(plan.next(seconds(5), StopReason::kServer, kLease), Act::kTerminate);
  EXPECT_EQ(plan.quiet_for(seconds(5), kLease), seconds(10));
  EXPECT_EQ(plan.next(seconds(6), StopReason::kServer, kLease), Act::kNothing);
  EXPECT_EQ(plan.next(seconds(15), StopReason::kAgent, kLease), Act::kKill);
  EXPECT_EQ(plan.next(seconds(16), StopReason::kServer, kLease), Act::kNothing);
  EXPECT_EQ(plan.reason(), StopReason::kServer);
}

TEST(StopPlan, stops_a_fenced_command_before_its_lease_ends) {
  StopPlan plan(seconds(10), true);
  EXPECT_EQ(plan.next(seconds(275), StopReason::kNone, kLease), Act::kTerminate);
  EXPECT_EQ(plan.reason(), StopReason::kLost);
  EXPECT_EQ(plan.next(seconds(284), StopReason::kNone, kLease), Act::kNothing);
  EXPECT_EQ(plan.next(seconds(285), StopReason::kNone, kLease), Act::kKill);
}

TEST(StopPlan, does_not_change_its_mind_when_the_server_comes_back) {
  StopPlan plan(seconds(10), true);
  EXPECT_EQ(plan.next(seconds(275), StopReason::kNone, kLease), Act::kTerminate);
  LeaseEnd renewed{seconds(575), seconds(585)};
  EXPECT_EQ(plan.next(seconds(285), StopReason::kNone, renewed), Act::kKill);
}

TEST(StopPlan, kills_at_once_when_the_machine_slept_through_the_lease) {
  StopPlan plan(seconds(10), true);
  EXPECT_EQ(plan.next(seconds(4000), StopReason::kNone, kLease), Act::kKill);
  EXPECT_EQ(plan.reason(), StopReason::kLost);
}

TEST(StopPlan, a_stop_shortly_before_the_end_of_the_lease_gets_less_grace) {
  StopPlan plan(seconds(60), true);
  EXPECT_EQ(plan.next(seconds(270), StopReason::kServer, kLease), Act::kTerminate);
  EXPECT_EQ(plan.quiet_for(seconds(270), kLease), seconds(15));
  EXPECT_EQ(plan.next(seconds(285), StopReason::kNone, kLease), Act::kKill);
}

TEST(StopPlan, lets_a_command_run_that_is_to_be_kept) {
  StopPlan plan(seconds(10), false);
  EXPECT_EQ(plan.next(seconds(4000), StopReason::kNone, kLease), Act::kNothing);
  EXPECT_EQ(plan.next(seconds(4001), StopReason::kServer, kLease), Act::kTerminate);
  EXPECT_EQ(plan.next(seconds(4010), StopReason::kServer, kLease), Act::kNothing);
  EXPECT_EQ(plan.next(seconds(4011), StopReason::kServer, kLease), Act::kKill);
}

}  // namespace
}  // namespace ctrlplane::agent
