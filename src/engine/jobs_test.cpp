#include "engine/jobs.h"

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::difference;
using testing::id;
using testing::picture_of;
using testing::World;

struct Jobs : ::testing::Test, World {
  void second_agent() {
    other_agent = AgentId{must(UpsertAgent{.name = "other", .type = "http-pull"})};
    drain();
  }
  Job claimed(std::string instance = "one", bool fences_itself = false) {
    Reply r = claim(std::move(instance), fences_itself);
    CHECK(r && r->job, "nothing to claim");
    return *r->job;
  }
  static ErrorCode code(const Reply& r) { return r ? ErrorCode::kInternal : r.error().code; }
  AgentId other_agent;
};

// ---- Attempts ----------------------------------------------------------------------------------------

TEST_F(Jobs, have_one_attempt_without_a_retry_rule) {
  one_target();
  publish("v1");
  JobId failed = finish(JobStatus::kFailure);
  EXPECT_EQ(state->jobs.size(), 0u);
  EXPECT_EQ(this->target().attempts, 1);
  EXPECT_EQ(this->target().last_job, failed);
  EXPECT_EQ(this->target().last_status, JobStatus::kFailure);
  EXPECT_EQ(this->target().current_release, std::nullopt);
  pass(hours(1));
  EXPECT_EQ(state->jobs.size(), 0u);
}

TEST_F(Jobs, of_a_redeploy_start_a_new_chain) {
  one_target();
  publish("v1");
  finish(JobStatus::kFailure);
  Reply r = run(RedeployTarget{key()});
  ASSERT_TRUE(r);
  EXPECT_EQ(this->target().attempts, 0);
  EXPECT_EQ(only_job()->cause, JobCause::kRedeploy);
  EXPECT_EQ(code(run(RedeployTarget{key()})), ErrorCode::kConflict) << "one active release";
  finish(JobStatus::kFailure);
  EXPECT_EQ(this->target().attempts, 1);
  EXPECT_EQ(state->jobs.size(), 0u);
}

TEST_F(Jobs, use_no_attempt_when_superseded_before_hand_over) {
  one_target();
  publish("v1");
  JobId first = only_job()->id;
  VersionId v2 = publish("v2");
  EXPECT_EQ(stored_job(first).status, JobStatus::kCancelled);
  EXPECT_TRUE(stored_job(first).cancelled_by_engine);
  EXPECT_EQ(only_job()->version, v2);
  EXPECT_EQ(this->target().attempts, 0);
}

TEST_F(Jobs, finish_when_superseded_after_hand_over) {
  one_target();
  VersionId v1 = publish("v1");
  Job running = claimed();
  VersionId v2 = publish("v2");
  ASSERT_EQ(only_job()->id, running.id);
  ASSERT_TRUE(report(running.id, JobStatus::kSuccessful));
  EXPECT_EQ(this->target().current_version, v1);
  EXPECT_EQ(only_job()->version, v2);
}

TEST_F(Jobs, move_current_only_when_every_agent_succeeded) {
  one_target();
  second_agent();
  publish("v1");
  ASSERT_EQ(state->jobs.size(), 2u);
  finish(JobStatus::kSuccessful);
  EXPECT_EQ(this->target().current_release, std::nullopt);
  EXPECT_EQ(state->jobs.size(), 2u) << "live until the attempt has ended";
  std::swap(agent, other_agent);
  finish(JobStatus::kFailure);
  EXPECT_EQ(this->target().current_release, std::nullopt);
  EXPECT_EQ(this->target().attempts, 1) << "an attempt is all jobs of one admission";
  EXPECT_EQ(state->jobs.size(), 0u);
}

TEST_F(Jobs, keep_their_version_known_however_many_come_after_it) {
  one_target();
  VersionId v1 = publish("v1");
  Job running = claimed();
  for (size_t n = 0; n < kHotVersions + 5; ++n) publish("later-" + std::to_string(n), VersionStatus::kReady);
  ASSERT_TRUE(report(running.id, JobStatus::kSuccessful));
  EXPECT_EQ(this->target().current_version, v1);
}

TEST_F(Jobs, have_their_context_stored_again_when_it_is_no_longer_fresh) {
  one_target();
  publish("v1");
  finish(JobStatus::kFailure);
  auto parts_put = [&] {
    CHECK(run(RedeployTarget{key()}).has_value());
    size_t n = 0;
    for (const Change& c : last)
      if (const auto* part = std::get_if<ContextPart>(&c.entity)) {
        EXPECT_EQ(part->stored_at, now);
        ++n;
      }
    finish(JobStatus::kFailure);
    return n;
  };
  EXPECT_EQ(parts_put(), 0u);
  now = now + kPartFresh - seconds(10);
  EXPECT_EQ(parts_put(), 0u);
  now = now + seconds(10);
  EXPECT_EQ(parts_put(), 2u) << "the shared one and the resource's";
  EXPECT_EQ(parts_put(), 0u);
  reload();
  EXPECT_EQ(parts_put(), 2u) << "a new owner does not know what is stored";
}

// ---- Targets that go ---------------------------------------------------------------------------------

TEST_F(Jobs, that_wait_are_cancelled_when_their_environment_is_deleted) {
  one_target();
  publish("v1");
  JobId job = only_job()->id;
  must(DeleteEnvironment{environment});
  drain();
  EXPECT_EQ(stored_job(job).status, JobStatus::kCancelled);
  EXPECT_FALSE(stored_job(job).live);
  EXPECT_EQ(state->jobs.size(), 0u);
  EXPECT_TRUE(run(DeleteAgent{agent}));
}

TEST_F(Jobs, of_an_attempt_that_lost_its_target_leave_memory_together) {
  one_target();
  second_agent();
  publish("v1");
  JobId done = finish(JobStatus::kSuccessful);
  std::swap(agent, other_agent);
  Job running = claimed();
  must(DeleteDeployment{deployment});
  drain();
  EXPECT_TRUE(stored_job(done).live) << "a running job goes on to its end";
  EXPECT_EQ(state->jobs.size(), 2u);
  ASSERT_TRUE(report(running.id, JobStatus::kSuccessful));
  EXPECT_FALSE(stored_job(done).live);
  EXPECT_EQ(state->jobs.size(), 0u);
  EXPECT_EQ(rows.count<TargetState>(), 0u);
}

TEST_F(Jobs, still_count_when_their_environment_comes_back_under_its_id) {
  one_target();
  publish("v1");
  Job running = claimed();
  must(DeleteEnvironment{environment});
  drain();
  must(UpsertEnvironment{.id = environment, .name = "env", .resource_selector = "true"});
  must(LinkEnvironment{system, environment});
  drain();
  ASSERT_TRUE(only_job()) << "one active release per target";
  EXPECT_EQ(only_job()->id, running.id);
  EXPECT_EQ(difference(picture_of(*state), picture_of(*rows.load())), "");
}

TEST_F(Jobs, that_were_cancelled_with_their_target_still_belong_to_the_attempt_when_it_comes_back) {
  one_target();
  second_agent();
  publish("v1");
  Job running = claimed();
  must(DeleteEnvironment{environment});
  drain();
  must(UpsertEnvironment{.id = environment, .name = "env", .resource_selector = "true"});
  must(LinkEnvironment{system, environment});
  drain();
  ASSERT_TRUE(report(running.id, JobStatus::kSuccessful));
  EXPECT_EQ(this->target().current_release, std::nullopt) << "the other job of the attempt never ran";
  EXPECT_EQ(state->jobs.size(), 2u) << "tried again";
}

TEST_F(Jobs, forget_with_their_target_what_it_knew) {
  one_target();
  publish("v1");
  finish(JobStatus::kSuccessful);
  must(DeleteEnvironment{environment});
  must(UpsertEnvironment{.id = environment, .name = "env", .resource_selector = "true"});
  must(LinkEnvironment{system, environment});
  drain();
  EXPECT_EQ(this->target().current_release, std::nullopt);
  EXPECT_TRUE(only_job());
}

// ---- Hand-over ---------------------------------------------------------------------------------------

TEST_F(Jobs, are_not_handed_over_once_another_release_is_desired) {
  one_target();
  publish("v1");
  JobId job = only_job()->id;
  TargetState row = this->target();
  row.desired_release = id<ReleaseId>(77);
  transact([&](Tx& tx) { return tx.put(row), true; });
  EXPECT_EQ(code(run(ClaimJob{agent, job, "one"})), ErrorCode::kConflict);
  Reply any = claim();
  ASSERT_TRUE(any);
  EXPECT_FALSE(any->job);
}

TEST_F(Jobs, are_not_handed_over_for_a_target_that_no_longer_exists_even_before_membership_settles) {
  one_target();
  publish("v1");
  JobId job = only_job()->id;
  must(UpsertEnvironment{.id = environment, .name = "env", .resource_selector = "false"});
  ASSERT_FALSE(state->settled());
  EXPECT_EQ(code(run(ClaimJob{agent, job, "one"})), ErrorCode::kConflict);
  drain();
  EXPECT_EQ(stored_job(job).status, JobStatus::kCancelled);
}

TEST_F(Jobs, are_returned_again_to_the_instance_that_claimed_them) {
  one_target();
  publish("v1");
  Job first = claimed("one", true);
  EXPECT_EQ(first.status, JobStatus::kQueued);
  EXPECT_TRUE(first.fences_itself);
  EXPECT_EQ(claimed("one").id, first.id);
  EXPECT_TRUE(last.empty()) << "the same claim again changes nothing";
  EXPECT_TRUE(run(ClaimJob{agent, first.id, "one"}));
  EXPECT_EQ(code(run(ClaimJob{agent, first.id, "two"})), ErrorCode::kConflict);
  EXPECT_FALSE(claim("two")->job);
  ASSERT_TRUE(report(first.id, JobStatus::kInProgress));
  EXPECT_FALSE(claim("one")->job) << "after its report the instance asks for the next";
}

TEST_F(Jobs, of_one_instance_are_all_returned_to_it_one_after_the_other) {
  one_target();
  must(UpsertResource{{"host-2", "host-2", "Host", "v1", {}, {}}, {}});
  drain();
  publish("v1");
  std::set<JobId> jobs = state->agents[state->agents.find(agent)].pending;
  for (JobId job : jobs) ASSERT_TRUE(run(ClaimJob{agent, job, "one"}));
  for (JobId job : jobs) {
    EXPECT_EQ(claimed().id, job);
    ASSERT_TRUE(report(job, JobStatus::kInProgress));
  }
  EXPECT_FALSE(claim()->job);
}

TEST_F(Jobs, are_claimed_oldest_first) {
  one_target();
  must(UpsertResource{{"host-2", "host-2", "Host", "v1", {}, {}}, {}});
  drain();
  publish("v1");
  std::set<JobId> waiting = state->agents[state->agents.find(agent)].pending;
  ASSERT_EQ(waiting.size(), 2u);
  EXPECT_EQ(claimed("one").id, *waiting.begin());
  EXPECT_EQ(claimed("two").id, *std::next(waiting.begin()));
}

TEST_F(Jobs, are_not_claimed_by_nobody_nor_from_an_agent_they_are_not_for) {
  one_target();
  publish("v1");
  JobId job = only_job()->id;
  EXPECT_EQ(code(run(ClaimJob{agent, {}, ""})), ErrorCode::kInvalid);
  EXPECT_EQ(code(run(ClaimJob{id<AgentId>(9), {}, "one"})), ErrorCode::kNotFound);
  AgentId second{must(UpsertAgent{.name = "b", .type = "http-pull"})};
  EXPECT_EQ(code(run(ClaimJob{second, job, "one"})), ErrorCode::kNotFound);
}

TEST_F(Jobs, of_a_pushing_agent_cannot_be_claimed) {
  one_target("webhook");
  publish("v1");
  EXPECT_EQ(code(claim()), ErrorCode::kConflict);
  EXPECT_EQ(code(run(ClaimJob{agent, only_job()->id, "one"})), ErrorCode::kConflict);
}

// ---- Reports -----------------------------------------------------------------------------------------

TEST_F(Jobs, go_from_claimed_to_in_progress_to_an_end_that_is_final) {
  one_target();
  publish("v1");
  JobId job = only_job()->id;
  EXPECT_EQ(code(report(job, JobStatus::kInProgress)), ErrorCode::kConflict) << "not claimed yet";
  claimed();
  EXPECT_EQ(code(report(job, JobStatus::kInProgress, "two")), ErrorCode::kConflict) << "held by another";
  for (JobStatus s : {JobStatus::kPending, JobStatus::kQueued})
    EXPECT_EQ(code(report(job, s)), ErrorCode::kInvalid);
  ASSERT_TRUE(report(job, JobStatus::kInProgress));
  Time started = now;
  EXPECT_EQ(only_job()->started_at, started);
  now = now + seconds(5);
  ASSERT_TRUE(report(job, JobStatus::kActionRequired));
  ASSERT_TRUE(report(job, JobStatus::kInProgress));
  EXPECT_EQ(only_job()->started_at, started) << "it started once";
  ASSERT_TRUE(run(ReportJob{job, "one", JobStatus::kSuccessful, "done", "run-7"}));
  EXPECT_EQ(stored_job(job).external_id, "run-7");
  EXPECT_EQ(stored_job(job).ended_at, now);
  EXPECT_FALSE(report(job, JobStatus::kFailure));
  EXPECT_EQ(stored_job(job).status, JobStatus::kSuccessful);
}

TEST_F(Jobs, of_a_running_attempt_answer_a_late_report_with_a_conflict) {
  one_target();
  second_agent();
  publish("v1");
  JobId done = finish(JobStatus::kSuccessful);
  EXPECT_EQ(code(report(done, JobStatus::kFailure)), ErrorCode::kConflict);
  EXPECT_EQ(stored_job(done).status, JobStatus::kSuccessful);
}

TEST_F(Jobs, are_cancelled_at_once_before_hand_over_and_by_request_after) {
  one_target();
  publish("v1");
  JobId waiting = only_job()->id;
  must(CancelJob{waiting});
  drain();
  EXPECT_EQ(stored_job(waiting).status, JobStatus::kCancelled);
  EXPECT_EQ(this->target().attempts, 1) << "a person's cancel is an end like another";
  publish("v2");
  Job running = claimed();
  must(CancelJob{running.id});
  EXPECT_EQ(only_job()->cancel_requested_at, now);
  EXPECT_EQ(run(Heartbeat{"one", {running.id}})->jobs, std::vector{running.id});
  ASSERT_TRUE(report(running.id, JobStatus::kCancelled));
  EXPECT_FALSE(run(CancelJob{running.id}));
}

TEST_F(Jobs, are_decided_by_hand_only_when_they_require_action) {
  one_target();
  publish("v1");
  Job job = claimed();
  EXPECT_EQ(code(run(DecideJob{job.id, JobStatus::kFailure, ""})), ErrorCode::kConflict);
  ASSERT_TRUE(report(job.id, JobStatus::kActionRequired));
  EXPECT_EQ(code(run(DecideJob{job.id, JobStatus::kInProgress, ""})), ErrorCode::kInvalid);
  must(DecideJob{job.id, JobStatus::kSuccessful, "looked"});
  EXPECT_EQ(this->target().current_release, job.release);
}

}  // namespace
}  // namespace ctrlplane
