// What becomes of commands when a commit fails, is not answered, or the workspace has gone elsewhere.
#include <gtest/gtest.h>

#include "runtime/testing.h"
#include "runtime/workspace_loop.h"

namespace ctrlplane {
namespace {

using store::CommitOutcome;
using testing::Asked;
using testing::count_systems;
using testing::LoopWorld;

struct LoopOwnership : ::testing::Test, LoopWorld {
  // A write under way, one gathered on top, a read of it, and one that has not run.
  void busy() {
    start();
    port.hold_commits = true;
    first = ask(UpsertSystem{.name = "first"});
    on_top = ask(UpsertSystem{.name = "on top"});
    saw_it = ask(count_systems());
  }
  Asked first, on_top, saw_it;
};

TEST_F(LoopOwnership, in_doubt_and_durable_is_answered_as_done) {
  busy();
  port.land();
  port.answer(CommitOutcome::kInDoubt);
  run();
  EXPECT_TRUE(first.succeeded());
  EXPECT_EQ(on_top.refused(), ErrorCode::kNotCommitted) << "it was decided on top of a state that is gone";
  EXPECT_EQ(saw_it.refused(), ErrorCode::kNotCommitted);
  EXPECT_EQ(owner().epoch, 2) << "acquired again before it was loaded";
  EXPECT_EQ(text(count_systems()), "1");
  EXPECT_EQ(lost, 0);
}

TEST_F(LoopOwnership, in_doubt_and_not_there_is_safe_to_retry) {
  busy();
  auto late = port.commits.front().commit;
  port.answer(CommitOutcome::kInDoubt);
  run();
  for (const Asked& a : {first, on_top, saw_it}) EXPECT_EQ(a.refused(), ErrorCode::kNotCommitted);
  EXPECT_EQ(store.commit({&late, 1}).front(), CommitOutcome::kFenced) << "it must not land behind our back";
  EXPECT_EQ(text(count_systems()), "0");
  Asked again = ask(UpsertSystem{.name = "first"});
  ASSERT_EQ(port.commits.size(), 1u);
  EXPECT_EQ(port.commits.front().commit.seq, late.seq);
  port.release();
  run();
  EXPECT_TRUE(again.succeeded());
}

TEST_F(LoopOwnership, in_doubt_and_elsewhere_is_unknown) {
  busy();
  port.land();
  take_away();
  port.answer(CommitOutcome::kInDoubt);
  run();
  EXPECT_EQ(first.refused(), ErrorCode::kUnknown);
  EXPECT_EQ(on_top.refused(), ErrorCode::kNotCommitted);
  EXPECT_EQ(saw_it.refused(), ErrorCode::kNotCommitted);
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(ask(count_systems()).refused(), ErrorCode::kUnavailable);
}

TEST_F(LoopOwnership, fenced_is_certainly_not_committed_and_loses_the_workspace_once) {
  limits.units_per_slice = 1;
  busy();
  Asked not_run = submit(UpsertSystem{.name = "not run"});
  take_away();
  port.release();
  pass({0});
  EXPECT_EQ(first.refused(), ErrorCode::kNotCommitted);
  EXPECT_EQ(on_top.refused(), ErrorCode::kNotCommitted);
  EXPECT_TRUE(not_run.refused());
  EXPECT_EQ(lost, 1);
  EXPECT_FALSE(loop->active());
  pass(minutes(10));
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(owner().replica, testing::id<store::ReplicaId>(66)) << "it does not fight for it";
}

TEST_F(LoopOwnership, commands_wait_while_it_acquires_again) {
  busy();
  port.hold_acquires = true;
  port.answer(CommitOutcome::kInDoubt);
  run();
  Asked meanwhile = ask(count_systems());
  EXPECT_FALSE(meanwhile.answered());
  EXPECT_FALSE(first.answered()) << "nobody knows yet";
  ASSERT_EQ(port.acquires.size(), 1u);
  port.release(port.acquires);
  run();
  ASSERT_TRUE(meanwhile.succeeded());
  EXPECT_EQ(meanwhile->text, "0");
}

TEST_F(LoopOwnership, a_late_answer_to_an_earlier_commit_is_not_taken_for_the_one_in_flight) {
  busy();
  loop->reacquire();
  run();
  EXPECT_EQ(first.refused(), ErrorCode::kNotCommitted);
  Asked second = ask(UpsertSystem{.name = "second"});
  ASSERT_EQ(port.commits.size(), 2u);
  ASSERT_EQ(port.commits[0].commit.seq, port.commits[1].commit.seq) << "only the token tells them apart";
  port.answer(CommitOutcome::kDurable);
  run();
  EXPECT_FALSE(second.answered());
  port.release();
  run();
  EXPECT_TRUE(second.succeeded());
  EXPECT_EQ(lost, 0);
}

TEST_F(LoopOwnership, an_answer_that_comes_while_acquiring_leaves_the_verdict_to_the_seq) {
  busy();
  port.hold_acquires = true;
  loop->reacquire();
  port.release();  // durable, and answered too late
  run();
  EXPECT_FALSE(first.answered());
  port.release(port.acquires);
  run();
  EXPECT_TRUE(first.succeeded());
  EXPECT_EQ(on_top.refused(), ErrorCode::kNotCommitted);
}

TEST_F(LoopOwnership, tries_to_acquire_for_a_lease_and_then_gives_up) {
  busy();
  port.down = true;
  port.answer(CommitOutcome::kInDoubt);
  pass(seconds(9));
  EXPECT_EQ(lost, 0);
  EXPECT_FALSE(first.answered());
  pass(seconds(2));
  EXPECT_EQ(first.refused(), ErrorCode::kUnknown);
  EXPECT_EQ(on_top.refused(), ErrorCode::kNotCommitted);
  EXPECT_EQ(lost, 1);
}

TEST_F(LoopOwnership, gets_over_a_store_that_is_away_for_less_than_a_lease) {
  busy();
  port.down = true;
  port.answer(CommitOutcome::kInDoubt);
  pass(seconds(5));
  port.down = false;
  pass(seconds(1));
  EXPECT_EQ(first.refused(), ErrorCode::kNotCommitted);
  EXPECT_TRUE(loop->active());
  EXPECT_EQ(owner().epoch, 2) << "the retries are one acquisition";
}

// Its snapshot may be older than the lapse, and another owner may have been in between.
TEST_F(LoopOwnership, a_lapse_of_the_lease_during_a_load_makes_it_acquire_once_more) {
  port.hold_loads = true;
  start();
  ASSERT_EQ(port.loads.size(), 1u);
  loop->reacquire();
  take_away();
  Asked read = submit(count_systems());
  port.release(port.loads);
  run();
  EXPECT_FALSE(loop->active());
  EXPECT_EQ(read.refused(), ErrorCode::kUnavailable);
  EXPECT_EQ(lost, 1);
}

TEST_F(LoopOwnership, a_load_during_which_nobody_took_it_is_made_again_and_serves) {
  port.hold_loads = true;
  start();
  loop->reacquire();
  port.release(port.loads);
  run();
  EXPECT_FALSE(loop->active());
  ASSERT_EQ(port.loads.size(), 1u);
  port.release(port.loads);
  run();
  EXPECT_TRUE(loop->active());
  EXPECT_EQ(owner().epoch, 2);
}

// ---- Look-ups ------------------------------------------------------------------------------------------

struct LoopLookUp : LoopOwnership {
  // The job has ended in memory; the commit that says so is under way.
  void ending() {
    start();
    targets(1);
    publish();
    job = JobId{ask(ClaimJob{agent, {}, "instance"})->id};
    port.hold_commits = true;
    ended = ask(ReportJob{job, "instance", JobStatus::kSuccessful, "", ""});
  }
  JobId job;
  Asked ended;
};

TEST_F(LoopLookUp, a_job_that_has_ended_is_a_conflict_and_one_that_never_was_is_not_found) {
  ending();
  port.release();
  run();
  ASSERT_TRUE(ended.succeeded());
  EXPECT_EQ(ask(ReportJob{job, "instance", JobStatus::kFailure, "", ""}).refused(), ErrorCode::kConflict);
  EXPECT_EQ(ask(CancelJob{testing::id<JobId>(404)}).refused(), ErrorCode::kNotFound);
}

TEST_F(LoopLookUp, a_refusal_because_of_an_end_that_is_not_durable_waits_for_it) {
  ending();
  Asked again = ask(ReportJob{job, "instance", JobStatus::kFailure, "", ""});
  EXPECT_FALSE(again.answered());
  port.answer(CommitOutcome::kInDoubt);  // it did not end after all
  run();
  EXPECT_EQ(again.refused(), ErrorCode::kNotCommitted);
  port.hold_commits = false;
  EXPECT_TRUE(ask(ReportJob{job, "instance", JobStatus::kFailure, "", ""}).succeeded());
}

TEST_F(LoopLookUp, needs_the_lease_like_any_answer_from_memory) {
  start();
  has_lease = false;
  EXPECT_EQ(ask(CancelJob{testing::id<JobId>(404)}).refused(), ErrorCode::kUnavailable);
}

TEST_F(LoopLookUp, is_asked_again_when_the_workspace_was_loaded_in_between) {
  ending();
  port.release();
  run();
  port.hold_commits = false;
  port.hold_look_ups = true;
  Asked again = ask(ReportJob{job, "instance", JobStatus::kFailure, "", ""});
  ASSERT_EQ(port.look_ups.size(), 1u);
  loop->reacquire();
  run();
  ASSERT_TRUE(loop->active());
  port.release(port.look_ups);
  run();
  EXPECT_EQ(again.refused(), ErrorCode::kUnavailable) << "what it was computed from is not what there is now";
}

TEST_F(LoopLookUp, asks_the_store_only_when_the_end_can_be_there) {
  ending();
  Asked again = ask(ReportJob{job, "instance", JobStatus::kFailure, "", ""});
  port.hold_look_ups = true;
  run();
  EXPECT_TRUE(port.look_ups.empty()) << "it would find a job that runs, and say that it is unknown";
  port.hold_look_ups = false;
  port.release();
  run();
  EXPECT_EQ(again.refused(), ErrorCode::kConflict);
}

}  // namespace
}  // namespace ctrlplane
