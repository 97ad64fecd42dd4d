#include "engine/outbox.h"

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::World;

struct Outbox : ::testing::Test, World {
  // One job of such an agent waits to be sent.
  void waiting(std::string type) {
    one_target(std::move(type));
    publish("v1");
    CHECK(state->outbox.size() == 1);
    start = state->outbox.begin()->first;
    job = *state->outbox.begin()->second.job;
  }
  std::optional<SendPermit> begin() {
    Reply r = run(BeginSend{start});
    CHECK(r.has_value());
    return r->permit;
  }
  void end(SendOutcome outcome, int64_t attempt = 1) {
    must(FinishSend{start, attempt, outcome, "why"});
    drain();
  }
  OutboxItem item() const { return state->outbox.at(start); }
  bool closed() const { return !state->outbox.contains(start); }
  OutboxStatus stored() const {
    OutboxStatus status{};
    rows.each<OutboxItem>([&](const OutboxItem& i) { status = i.id == start ? i.status : status; });
    return status;
  }
  OutboxId start;
  JobId job;
};

TEST_F(Outbox, commits_sending_and_the_hand_over_before_anything_is_sent) {
  waiting("webhook");
  auto permit = begin();
  ASSERT_TRUE(permit);
  EXPECT_EQ(permit->mode, SendMode::kSend);
  EXPECT_EQ(permit->job->id, job);
  EXPECT_EQ(permit->item.attempt, 1);
  EXPECT_EQ(item().status, OutboxStatus::kSending);
  EXPECT_EQ(only_job()->status, JobStatus::kQueued);
  EXPECT_EQ(only_job()->handed_over_at, now);
  EXPECT_EQ(item().next_attempt_at, now + kSendGrace) << "until then it may be on its way";
}

TEST_F(Outbox, is_done_with_what_was_accepted) {
  waiting("webhook");
  begin();
  end(SendOutcome::kAccepted);
  EXPECT_TRUE(closed());
  EXPECT_EQ(stored(), OutboxStatus::kDelivered);
  EXPECT_EQ(only_job()->status, JobStatus::kQueued);
  ASSERT_TRUE(report(job, JobStatus::kSuccessful, ""));
  EXPECT_TRUE(this->target().current_release);
}

TEST_F(Outbox, ends_the_job_that_was_rejected) {
  waiting("webhook");
  begin();
  end(SendOutcome::kRejected);
  EXPECT_EQ(stored(), OutboxStatus::kAbandoned);
  EXPECT_EQ(stored_job(job).status, JobStatus::kInvalidIntegration);
  EXPECT_EQ(this->target().attempts, 1);
}

TEST_F(Outbox, sends_again_with_growing_pauses_what_certainly_did_not_arrive) {
  waiting("webhook");
  Duration before{};
  for (int64_t attempt = 1; attempt <= 12; ++attempt) {
    ASSERT_TRUE(begin());
    end(SendOutcome::kNotSent, attempt);
    EXPECT_EQ(item().status, OutboxStatus::kPending);
    EXPECT_EQ(only_job()->status, JobStatus::kPending);
    EXPECT_EQ(only_job()->handed_over_at, std::nullopt);
    Duration wait = item().next_attempt_at - now;
    EXPECT_GE(wait, before);
    EXPECT_LE(wait, kMaxBackoff);
    before = wait;
    now = item().next_attempt_at;
  }
}

TEST_F(Outbox, does_not_send_again_what_was_cancelled_meanwhile) {
  waiting("webhook");
  begin();
  must(CancelJob{job});
  end(SendOutcome::kNotSent);
  EXPECT_EQ(stored_job(job).status, JobStatus::kCancelled);
  EXPECT_EQ(stored(), OutboxStatus::kAbandoned);
}

TEST_F(Outbox, supersedes_what_did_not_arrive_and_is_no_longer_wanted) {
  waiting("webhook");
  begin();
  publish("v2");
  EXPECT_EQ(only_job()->id, job);
  end(SendOutcome::kNotSent);
  EXPECT_EQ(stored_job(job).status, JobStatus::kCancelled);
  EXPECT_TRUE(stored_job(job).cancelled_by_engine);
  EXPECT_NE(only_job()->id, job);
}

TEST_F(Outbox, in_doubt_sends_again_to_a_receiver_that_deduplicates) {
  waiting("webhook-keyed");
  begin();
  end(SendOutcome::kInDoubt);
  EXPECT_EQ(item().status, OutboxStatus::kSending);
  EXPECT_GE(item().next_attempt_at, now + kSendGrace);
  now = item().next_attempt_at;
  auto permit = begin();
  ASSERT_TRUE(permit);
  EXPECT_EQ(permit->mode, SendMode::kSend);
  EXPECT_EQ(permit->item.attempt, 2);
}

TEST_F(Outbox, in_doubt_asks_a_receiver_that_can_be_asked) {
  waiting("webhook-lookup");
  begin();
  end(SendOutcome::kInDoubt);
  EXPECT_GE(item().next_attempt_at, now + kSendGrace) << "asked too early it would hear a wrong no";
  now = item().next_attempt_at;
  auto permit = begin();
  ASSERT_TRUE(permit);
  EXPECT_EQ(permit->mode, SendMode::kAsk);
  end(SendOutcome::kNotSent, 2);
  EXPECT_EQ(only_job()->status, JobStatus::kPending) << "it is not there: as if never sent";
}

TEST_F(Outbox, in_doubt_asks_a_person_where_nothing_else_helps) {
  waiting("webhook");
  begin();
  end(SendOutcome::kInDoubt);
  EXPECT_TRUE(closed());
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
  ASSERT_EQ(state->outbox.size(), 1u);
  EXPECT_EQ(state->outbox.begin()->second.kind, OutboxKind::kNotice);
}

TEST_F(Outbox, recovers_what_a_crash_left_half_sent_as_each_receiver_allows) {
  struct Case {
    const char* type;
    std::optional<SendMode> mode;
    JobStatus status;
  };
  for (const Case& c : {Case{"webhook-keyed", SendMode::kSend, JobStatus::kQueued},
                        Case{"webhook-lookup", SendMode::kAsk, JobStatus::kQueued},
                        Case{"webhook", std::nullopt, JobStatus::kActionRequired}}) {
    SCOPED_TRACE(c.type);
    World w;
    w.one_target(c.type);
    w.publish("v1");
    OutboxId id = w.state->outbox.begin()->first;
    ASSERT_TRUE(w.run(BeginSend{id})->permit);
    w.reload();
    w.drain();
    w.pass(kSendGrace);
    auto permit = w.run(BeginSend{id})->permit;
    EXPECT_EQ(permit.has_value(), c.mode.has_value());
    if (permit) {
      EXPECT_EQ(permit->mode, *c.mode);
    }
    EXPECT_EQ(w.only_job()->status, c.status);
  }
}

TEST_F(Outbox, takes_the_receivers_report_as_proof_of_arrival) {
  for (SendOutcome outcome : {SendOutcome::kInDoubt, SendOutcome::kNotSent}) {
    World w;
    w.one_target("webhook");
    w.publish("v1");
    OutboxId id = w.state->outbox.begin()->first;
    ASSERT_TRUE(w.run(BeginSend{id})->permit);
    ASSERT_TRUE(w.report(w.only_job()->id, JobStatus::kInProgress, ""));
    w.must(FinishSend{id, 1, outcome, "connection reset"});
    EXPECT_EQ(w.only_job()->status, JobStatus::kInProgress);
    EXPECT_TRUE(w.state->outbox.empty());
  }
}

TEST_F(Outbox, takes_the_receivers_report_as_proof_of_arrival_after_a_crash) {
  waiting("webhook");
  begin();
  ASSERT_TRUE(report(job, JobStatus::kInProgress, ""));
  reload();
  pass(kSendGrace);
  EXPECT_FALSE(begin());
  EXPECT_EQ(only_job()->status, JobStatus::kInProgress);
  EXPECT_TRUE(closed());
}

TEST_F(Outbox, sends_nothing_for_a_job_that_has_ended) {
  waiting("webhook");
  must(CancelJob{job});
  EXPECT_TRUE(closed());
  EXPECT_FALSE(begin());
}

TEST_F(Outbox, tries_again_when_a_refused_hand_over_becomes_possible) {
  waiting("webhook");
  must(UpsertEnvironment{.id = environment, .name = "env", .resource_selector = "false"});
  EXPECT_FALSE(begin());
  EXPECT_EQ(only_job()->status, JobStatus::kPending);
  EXPECT_GT(item().next_attempt_at, now) << "a commit the pump will see: it is not forgotten";
  must(UpsertEnvironment{.id = environment, .name = "env", .resource_selector = "true"});
  drain();
  pass(kFirstBackoff);
  EXPECT_TRUE(begin());
}

TEST_F(Outbox, refuses_an_answer_to_an_earlier_attempt) {
  waiting("webhook");
  begin();
  end(SendOutcome::kNotSent);
  EXPECT_EQ(run(FinishSend{start, 1, SendOutcome::kAccepted, ""}).error().code, ErrorCode::kConflict);
  now = item().next_attempt_at;
  begin();
  EXPECT_EQ(run(FinishSend{start, 1, SendOutcome::kAccepted, ""}).error().code, ErrorCode::kConflict);
}

TEST_F(Outbox, repeats_notices_and_gives_up_in_the_end) {
  transact([](Tx& tx) { return enqueue_notice(tx, "operators", "{}"), true; });
  start = state->outbox.begin()->first;
  for (int64_t attempt = 1; attempt <= kMaxNoticeAttempts; ++attempt) {
    ASSERT_TRUE(begin()) << attempt;
    must(FinishSend{start, attempt, SendOutcome::kInDoubt, "no route"});
    if (!closed()) now = item().next_attempt_at;
  }
  EXPECT_EQ(stored(), OutboxStatus::kAbandoned);
}

}  // namespace
}  // namespace ctrlplane
