#include "runtime/virtual_time.h"

#include <string>

#include <gtest/gtest.h>

namespace ctrlplane {
namespace {

constexpr Time kZero{1'000'000};

struct Virtual : ::testing::Test {
  VirtualTime time;
  std::string log;
  Task write(std::string what) {
    return [this, what] { log += what; };
  }
};

TEST_F(Virtual, runs_by_time_and_at_one_time_in_the_order_of_asking) {
  time.after(seconds(2), write("d"));
  time.after(seconds(1), write("a"));
  time.after(seconds(1), write("b"));
  time.at(seconds(1), write("c"));
  time.run_until(seconds(1));
  EXPECT_EQ(log, "abc");
  EXPECT_EQ(time.now(), seconds(1));
  EXPECT_EQ(time.pending(), 1u);
  time.run_until(seconds(5));
  EXPECT_EQ(log, "abcd");
  EXPECT_EQ(time.now(), seconds(5)) << "also where nothing happens";
}

TEST_F(Virtual, never_runs_anything_in_the_past) {
  time.run_until(seconds(3));
  time.at(seconds(1), [this] {
    EXPECT_EQ(time.now(), seconds(3));
    log += "x";
  });
  time.after(seconds(-1), write("y"));
  time.run_until(seconds(3));
  EXPECT_EQ(log, "xy");
}

TEST_F(Virtual, step_moves_to_the_next_event_and_not_past_its_limit) {
  time.after(seconds(1), write("a"));
  time.after(seconds(2), write("b"));
  EXPECT_TRUE(time.step(seconds(9)));
  EXPECT_EQ(time.now(), seconds(1));
  EXPECT_FALSE(time.step(seconds(1)));
  EXPECT_EQ(time.now(), seconds(1));
  EXPECT_EQ(log, "a");
}

TEST_F(Virtual, runs_what_a_task_posts_after_what_was_posted_before) {
  VirtualExecutor executor(time, kZero);
  executor.post([&] {
    executor.post(write("c"));
    log += "a";
  });
  executor.post(write("b"));
  time.run_until({0});
  EXPECT_EQ(log, "abc");
}

TEST_F(Virtual, a_stopped_executor_runs_what_came_due_in_order_when_it_continues) {
  VirtualExecutor stopped(time, kZero), other(time, kZero);
  stopped.post_after(seconds(2), write("b"));
  stopped.post_after(seconds(1), write("a"));
  stopped.post_after(seconds(9), write("c"));
  other.post_after(seconds(2), write("-"));
  stopped.stop();
  EXPECT_TRUE(stopped.stopped());
  time.run_until(seconds(5));
  EXPECT_EQ(log, "-") << "others go on";
  stopped.resume();
  EXPECT_EQ(log, "-") << "in tasks of their own";
  time.run_until(seconds(5));
  EXPECT_EQ(log, "-ab");
  time.run_until(seconds(9));
  EXPECT_EQ(log, "-abc");
}

TEST_F(Virtual, stopping_again_holds_what_has_not_run_yet) {
  VirtualExecutor executor(time, kZero);
  executor.stop();
  executor.post([&] {
    log += "a";
    executor.stop();
  });
  executor.post(write("b"));
  time.run_until(seconds(1));
  executor.resume();
  time.run_until(seconds(2));
  EXPECT_EQ(log, "a");
  executor.resume();
  time.run_until(seconds(2));
  EXPECT_EQ(log, "ab");
}

TEST_F(Virtual, a_killed_executor_runs_nothing_more) {
  auto executor = std::make_unique<VirtualExecutor>(time, kZero);
  executor->post(write("a"));
  executor->post_after(seconds(1), write("b"));
  time.run_until({0});
  executor->stop();
  time.run_until(seconds(2));
  executor->resume();
  executor.reset();
  time.run_until(seconds(9));
  EXPECT_EQ(log, "a");
}

TEST_F(Virtual, each_executor_has_its_own_wall_clock_and_all_one_boot_clock) {
  VirtualExecutor a(time, kZero), b(time, Time{5'000'000});
  time.run_until(seconds(3));
  EXPECT_EQ(a.clock().wall(), kZero + seconds(3));
  EXPECT_EQ(b.clock().wall(), Time{5'000'000} + seconds(3));
  a.step_wall(seconds(-2));
  a.step_wall(seconds(-1));
  EXPECT_EQ(a.clock().wall(), kZero);
  EXPECT_EQ(b.clock().wall(), Time{5'000'000} + seconds(3));
  EXPECT_EQ(a.clock().boot(), seconds(3));
  EXPECT_EQ(b.clock().boot(), seconds(3));
}

}  // namespace
}  // namespace ctrlplane
