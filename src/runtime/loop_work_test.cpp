// Long work in slices, timers, draining, the audit.
#include <gtest/gtest.h>

#include "runtime/testing.h"
#include "runtime/workspace_loop.h"

namespace ctrlplane {
namespace {

using store::CommitOutcome;
using testing::Asked;
using testing::count_systems;
using testing::kStart;
using testing::LoopWorld;

struct LoopWork : ::testing::Test, LoopWorld {
  std::string count_resources() {
    return text(testing::read([](const State& s, Time) { return std::to_string(s.resources.size()); }));
  }
};

// ---- Sets ----------------------------------------------------------------------------------------------

TEST_F(LoopWork, a_set_is_made_in_several_commits_and_answered_after_the_last) {
  limits.min_rows = 4;
  start();
  provider = ProviderId{must(UpsertProvider{.name = "provider"})};
  port.hold_commits = true;
  Asked set = ask(set_of(100));
  size_t commits = 0;
  while (!port.commits.empty()) {
    EXPECT_FALSE(set.answered());
    EXPECT_LE(port.commits.front().commit.changes.size(), 40u);
    port.release();
    run();
    ++commits;
  }
  EXPECT_TRUE(set.succeeded());
  EXPECT_GE(commits, 3u);
  EXPECT_EQ(stored<Resource>(), 100u);
}

TEST_F(LoopWork, a_set_cut_off_by_a_crash_is_completed_by_sending_it_again) {
  limits.min_rows = 4;
  start();
  provider = ProviderId{must(UpsertProvider{.name = "provider"})};
  must(set_of(50));
  SetProviderResources other = set_of(80);
  for (size_t i = 0; i < 30; ++i) other.resources[i].identifier = "other-" + std::to_string(i);
  port.hold_commits = true;
  Asked cut_off = ask(other);
  port.release();
  run();
  port.commits.clear();
  loop.reset();
  size_t half_way = stored<Resource>();
  EXPECT_GT(half_way, 50u);
  EXPECT_LT(half_way, 110u);
  EXPECT_FALSE(cut_off.succeeded());

  port.hold_commits = false;
  start();
  must(other);
  EXPECT_EQ(stored<Resource>(), 80u);
  EXPECT_FALSE(loop->state()->resource_identified("host-0"));
  EXPECT_TRUE(loop->state()->resource_identified("other-0"));
}

// Some of its slices are durable: "not committed" would be a lie.
TEST_F(LoopWork, a_set_cut_off_by_a_commit_in_doubt_is_unknown) {
  limits.min_rows = 4;
  start();
  provider = ProviderId{must(UpsertProvider{.name = "provider"})};
  port.hold_commits = true;
  Asked set = ask(set_of(100));
  port.release();
  run();
  port.answer(CommitOutcome::kInDoubt);
  run();
  EXPECT_EQ(set.refused(), ErrorCode::kUnknown);
}

TEST_F(LoopWork, a_set_in_bad_form_is_refused_and_changes_nothing) {
  start();
  provider = ProviderId{must(UpsertProvider{.name = "provider"})};
  SetProviderResources twice = set_of(2);
  twice.resources.push_back(twice.resources.front());
  EXPECT_EQ(ask(twice).refused(), ErrorCode::kInvalid);
  EXPECT_EQ(count_resources(), "0");
}

// ---- Settling ------------------------------------------------------------------------------------------

struct Settling : LoopWork {
  // A selector was changed, that is durable, and who it concerns is still being worked out.
  void unsettled() {
    start();
    targets(2000);
    limits.units_per_slice = 1;
    start();
    write = submit(UpsertEnvironment{.id = environment, .name = "env", .resource_selector = "false"});
    while (loop->stats().commits == 0) time.step(time.now());
    ASSERT_FALSE(loop->state()->settled());
    EXPECT_FALSE(write.answered());
  }
  Asked write;
};

TEST_F(Settling, a_write_that_changes_membership_is_answered_when_that_is_done) {
  unsettled();
  while (!loop->state()->settled()) {
    EXPECT_FALSE(write.answered());
    time.step(time.now());
  }
  run();
  EXPECT_TRUE(write.succeeded());
  EXPECT_EQ(loop->state()->target_count(), 0u);
}

TEST_F(Settling, a_durable_write_is_not_called_uncommitted_when_a_later_commit_fails) {
  unsettled();
  port.hold_commits = true;
  submit(UpsertSystem{.name = "later"});
  while (port.commits.empty()) time.step(time.now());
  ASSERT_FALSE(loop->state()->settled());
  port.answer(CommitOutcome::kInDoubt);
  run();
  EXPECT_TRUE(write.succeeded()) << "the load has settled it";
}

TEST_F(Settling, a_durable_write_is_unknown_to_who_loses_the_workspace_meanwhile) {
  unsettled();
  take_away();
  Asked later = submit(UpsertSystem{.name = "later"});
  run();
  EXPECT_EQ(write.refused(), ErrorCode::kUnknown);
  EXPECT_EQ(later.refused(), ErrorCode::kNotCommitted);
}

// ---- Timers --------------------------------------------------------------------------------------------

struct LoopTimers : LoopWork {
  // A job that runs and must end within a minute.
  void running() {
    start();
    targets(1, "http-pull", minutes(1));
    publish();
    job = JobId{ask(ClaimJob{agent, {}, "instance"})->id};
    must(ReportJob{job, "instance", JobStatus::kInProgress, "", ""});
  }
  JobStatus status() { return stored_job(job).status; }
  JobId job;
};

TEST_F(LoopTimers, fire_when_due_and_not_before) {
  running();
  pass(minutes(1) - microseconds(1));
  EXPECT_EQ(status(), JobStatus::kInProgress);
  pass(microseconds(1));
  EXPECT_EQ(status(), JobStatus::kFailure);
}

TEST_F(LoopTimers, due_while_nobody_owned_it_fire_after_the_load) {
  running();
  loop.reset();
  pass(hours(1));
  EXPECT_EQ(status(), JobStatus::kInProgress);
  start();
  EXPECT_EQ(status(), JobStatus::kFailure);
}

TEST_F(LoopTimers, a_wall_clock_set_forward_brings_them_on_at_the_next_look) {
  running();
  executor.step_wall(minutes(5));
  loop->audit(0);
  pass({0});
  EXPECT_EQ(status(), JobStatus::kFailure);
}

TEST_F(LoopTimers, a_wall_clock_set_back_delays_them_and_costs_nothing) {
  running();
  Time before = loop->now();
  executor.step_wall(minutes(-3));
  EXPECT_LT(pass(minutes(3)), 20u);
  EXPECT_EQ(loop->now(), before) << "it stands still, it does not go back";
  pass(minutes(1) - microseconds(1));
  EXPECT_EQ(status(), JobStatus::kInProgress);
  pass(microseconds(1));
  EXPECT_EQ(status(), JobStatus::kFailure);
}

TEST_F(LoopTimers, agent_leases_end_on_uptime_whatever_the_wall_clock_does) {
  start();
  targets(1);
  publish();
  job = JobId{ask(ClaimJob{agent, {}, "instance"})->id};
  executor.step_wall(hours(1));
  loop->audit(0);
  pass(kAgentLease - microseconds(1));
  EXPECT_EQ(status(), JobStatus::kQueued);
  executor.step_wall(hours(-2));
  pass(microseconds(1));
  EXPECT_EQ(status(), JobStatus::kActionRequired);
}

TEST_F(LoopTimers, agent_leases_start_afresh_with_a_load) {
  start();
  targets(1);
  publish();
  job = JobId{ask(ClaimJob{agent, {}, "instance"})->id};
  pass(kAgentLease - seconds(1));
  start();
  pass(kAgentLease - microseconds(1));
  EXPECT_EQ(status(), JobStatus::kQueued) << "a take-over must not fail what runs";
  pass(microseconds(1));
  EXPECT_EQ(status(), JobStatus::kActionRequired) << "nor keep it for ever";
}

TEST_F(LoopTimers, the_next_one_is_in_the_commit) {
  running();
  EXPECT_EQ(owner().next_due_at, stored_job(job).handed_over_at.value() + minutes(1));
  pass(minutes(2));
  EXPECT_EQ(owner().next_due_at, std::nullopt);
}

TEST_F(LoopWork, now_does_not_go_back_over_a_load_with_an_older_wall_clock) {
  start();
  pass(hours(2));
  must(UpsertSystem{.name = "one"});
  EXPECT_EQ(owner().last_now, kStart + hours(2));
  executor.step_wall(hours(-1));
  start();
  auto now = testing::read([](const State&, Time t) { return format_rfc3339(t); });
  EXPECT_EQ(text(now), format_rfc3339(kStart + hours(2)));
  must(UpsertSystem{.name = "two"});
  EXPECT_EQ(owner().last_now, kStart + hours(2));
  pass(hours(3));
  EXPECT_EQ(text(now), format_rfc3339(kStart + hours(4)));
}

// ---- Drain and audit -----------------------------------------------------------------------------------

TEST_F(LoopWork, drains_what_it_has_accepted_and_takes_nothing_more) {
  start();
  port.hold_commits = true;
  Asked before = ask(UpsertSystem{.name = "before"});
  bool drained = false;
  loop->drain([&] { drained = true; });
  Asked after = ask(UpsertSystem{.name = "after"});
  EXPECT_EQ(after.refused(), ErrorCode::kUnavailable);
  EXPECT_FALSE(drained);
  port.release();
  run();
  EXPECT_TRUE(before.succeeded());
  EXPECT_TRUE(drained);
  EXPECT_EQ(ask(UpsertSystem{.name = "later"}).refused(), ErrorCode::kUnavailable);
}

TEST_F(LoopWork, drains_at_once_when_idle_and_when_lost) {
  start();
  int drained = 0;
  loop->drain([&] { ++drained; });
  run();
  EXPECT_EQ(drained, 1);
  EXPECT_EQ(ask(count_systems()).refused(), ErrorCode::kUnavailable);
  start();
  port.hold_commits = true;
  ask(UpsertSystem{.name = "one"});
  loop->drain([&] { ++drained; });
  take_away();
  port.release();
  run();
  EXPECT_EQ(drained, 2);
}

TEST_F(LoopWork, drains_only_after_the_look_ups_it_waits_for) {
  start();
  port.hold_look_ups = true;
  Asked cancel = ask(CancelJob{testing::id<JobId>(404)});
  bool drained = false;
  loop->drain([&] { drained = true; });
  run();
  EXPECT_FALSE(drained);
  port.release(port.look_ups);
  run();
  EXPECT_EQ(cancel.refused(), ErrorCode::kNotFound);
  EXPECT_TRUE(drained);
}

TEST_F(LoopWork, the_audit_finds_a_target_that_was_not_woken_and_wakes_it) {
  start();
  targets(3);
  limits.units_per_slice = 1;
  start();
  loop->audit(10);
  EXPECT_EQ(loop->stats().missed_wakeups, 0u);
  submit(CreateVersion{.deployment = deployment, .tag = "v1"});
  while (!loop->state()->any_dirty()) time.step(time.now());
  // No command loses a wake-up, so the test takes them away.
  while (const_cast<State*>(loop->state())->pop_dirty()) {
  }
  run();
  const size_t asleep = 3 - loop->state()->jobs.size();
  ASSERT_GT(asleep, 0u);
  for (size_t i = 1; i <= asleep; ++i) {
    loop->audit(10);
    EXPECT_EQ(loop->stats().missed_wakeups, i)
        << "one at a time: while there is work nothing counts as missed";
    run();
  }
  EXPECT_EQ(loop->state()->jobs.size(), 3u);
  loop->audit(10);
  EXPECT_EQ(loop->stats().missed_wakeups, asleep);
}

}  // namespace
}  // namespace ctrlplane
