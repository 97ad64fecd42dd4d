// Leases, time-outs and the agents that come back.
#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::World;

struct Lease : ::testing::Test, World {
  Job claimed(bool fences_itself) {
    Reply r = claim("one", fences_itself);
    CHECK(r && r->job, "nothing to claim");
    return *r->job;
  }
  void beat(JobId job) { CHECK(run(Heartbeat{"one", {job}}).has_value()); }
};

TEST_F(Lease, lost_by_a_fencing_agent_is_a_failure) {
  one_target();
  publish("v1");
  Job job = claimed(true);
  pass(kAgentLease - seconds(1));
  EXPECT_EQ(only_job()->status, JobStatus::kQueued);
  pass(seconds(1));
  EXPECT_EQ(stored_job(job.id).status, JobStatus::kFailure);
  EXPECT_EQ(this->target().attempts, 1);
}

TEST_F(Lease, lost_by_another_agent_requires_action_and_keeps_the_target) {
  one_target();
  publish("v1");
  Job job = claimed(false);
  ASSERT_TRUE(report(job.id, JobStatus::kInProgress));
  pass(kAgentLease);
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
  EXPECT_EQ(state->outbox.size(), 1u) << "people are told";
  publish("v2");
  EXPECT_EQ(only_job()->id, job.id) << "it may still be running";
  beat(job.id);
  EXPECT_EQ(only_job()->status, JobStatus::kInProgress) << "the agent is back";
}

TEST_F(Lease, lasts_as_long_as_the_heart_beats_with_one_timer_a_job) {
  one_target();
  publish("v1");
  Job job = claimed(true);
  size_t timers = state->timers.size() + state->lease_timers.size();
  for (int i = 0; i < 100; ++i) {
    pass(seconds(30));
    beat(job.id);
    ASSERT_LE(state->timers.size() + state->lease_timers.size(), timers);
  }
  ASSERT_TRUE(only_job());
  EXPECT_EQ(only_job()->status, JobStatus::kQueued);
  pass(kAgentLease);
  EXPECT_EQ(stored_job(job.id).status, JobStatus::kFailure);
}

TEST_F(Lease, runs_again_for_an_agent_that_came_back_with_a_heartbeat) {
  one_target();
  publish("v1");
  Job job = claimed(false);
  pass(kAgentLease);
  beat(job.id);
  EXPECT_EQ(only_job()->status, JobStatus::kQueued);
  pass(kAgentLease);
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
}

TEST_F(Lease, runs_again_for_an_agent_that_came_back_with_a_report) {
  one_target();
  publish("v1");
  Job job = claimed(false);
  pass(kAgentLease);
  ASSERT_TRUE(report(job.id, JobStatus::kInProgress));
  pass(kAgentLease);
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
}

TEST_F(Lease, starts_afresh_after_a_load) {
  one_target();
  publish("v1");
  Job job = claimed(true);
  pass(kAgentLease - seconds(1));
  reload();
  drain();
  pass(kAgentLease - seconds(1));
  EXPECT_EQ(only_job()->status, JobStatus::kQueued);
  pass(seconds(1));
  EXPECT_EQ(stored_job(job.id).status, JobStatus::kFailure);
}

TEST_F(Lease, is_not_renewed_by_the_beat_of_another_instance) {
  one_target();
  publish("v1");
  Job job = claimed(true);
  Reply r = run(Heartbeat{"two", {job.id}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->jobs, std::vector{job.id}) << "it must stop what it does not hold";
  pass(kAgentLease);
  EXPECT_EQ(stored_job(job.id).status, JobStatus::kFailure);
}

TEST_F(Lease, timeout_counts_from_the_hand_over) {
  one_target("http-pull", minutes(2));
  publish("v1");
  pass(hours(1));
  Job job = claimed(true);
  pass(minutes(1));
  ASSERT_TRUE(report(job.id, JobStatus::kInProgress));
  pass(minutes(1) - seconds(1));
  EXPECT_EQ(only_job()->status, JobStatus::kInProgress);
  pass(seconds(1));
  EXPECT_EQ(stored_job(job.id).status, JobStatus::kFailure);
}

TEST_F(Lease, timeout_has_one_timer_however_often_the_agent_reports) {
  one_target("http-pull", hours(2));
  publish("v1");
  Job job = claimed(true);
  size_t timers = state->timers.size() + state->lease_timers.size();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(report(job.id, JobStatus::kInProgress));
  EXPECT_EQ(state->timers.size() + state->lease_timers.size(), timers);
}

TEST_F(Lease, timeout_survives_a_load) {
  one_target("http-pull", minutes(2));
  publish("v1");
  Job job = claimed(false);
  reload();
  drain();
  pass(minutes(2));
  EXPECT_EQ(stored_job(job.id).status, JobStatus::kFailure);
}

TEST_F(Lease, timeout_of_a_pushed_job_tells_the_receiver) {
  one_target("webhook-keyed", minutes(2));
  publish("v1");
  OutboxId start = state->outbox.begin()->first;
  ASSERT_TRUE(run(BeginSend{start})->permit);
  must(FinishSend{start, 1, SendOutcome::kAccepted, ""});
  pass(minutes(2));
  EXPECT_EQ(state->jobs.size(), 0u);
  ASSERT_EQ(state->outbox.size(), 1u);
  EXPECT_EQ(state->outbox.begin()->second.kind, OutboxKind::kCancel);
}

}  // namespace
}  // namespace ctrlplane
