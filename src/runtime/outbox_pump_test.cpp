#include "runtime/outbox_pump.h"

#include <gtest/gtest.h>

#include "runtime/testing.h"

namespace ctrlplane {
namespace {

using store::CommitOutcome;
using testing::Asked;
using testing::LoopWorld;

// Takes note of what comes; the test answers.
struct Backend final : Receiver {
  struct Message {
    SendPermit permit;
    Duration at;
    std::move_only_function<void(SendOutcome, std::string)> done;
  };
  explicit Backend(VirtualTime& time) : time(time) {}
  void deliver(const SendPermit& permit,
               std::move_only_function<void(SendOutcome, std::string)> done) override {
    got.push_back({permit, time.now(), std::move(done)});
  }
  void answer(SendOutcome outcome) { answer(got.size() - 1, outcome); }
  void answer(size_t i, SendOutcome outcome) { got[i].done(outcome, "because"); }
  VirtualTime& time;
  std::deque<Message> got;
};

struct Pump : ::testing::Test, LoopWorld {
  Pump() { connect(); }
  // The process's own part; again after a crash.
  void connect() {
    loop.reset();
    pump = std::make_unique<OutboxPump>(
        [this](WorkspaceId, Request r, ReplyFn done) {
          bool begins = std::holds_alternative<BeginSend>(r.command);
          bool ends = std::holds_alternative<FinishSend>(r.command);
          int& refusals = begins ? refuse_begins : refuse_ends;
          if ((begins || ends) && refusals > 0 && refusals--)
            return executor.post(
                [done = std::move(done)]() mutable { done(fail(ErrorCode::kBusy, "full")); });
          loop->submit(std::move(r), std::move(done));
        },
        executor);
    for (const char* channel : {"webhook", "webhook-keyed", "webhook-lookup"})
      pump->add_receiver(channel, backend);
    listeners = {pump.get()};
    start();
  }
  void crash() {
    port.commits.clear();
    connect();
  }
  OutboxItem row() const { return loop->state()->outbox.begin()->second; }
  OutboxStatus status() const { return row().status; }
  bool done() const { return loop->state()->outbox.empty(); }

  Backend backend{time};
  std::unique_ptr<OutboxPump> pump;
  int refuse_begins = 0, refuse_ends = 0;  // so many of the next
};

bool is_sending(const store::Commit& commit) {
  for (const Change& c : commit.changes)
    if (auto* item = std::get_if<OutboxItem>(&c.entity)) return item->status == OutboxStatus::kSending;
  return false;
}

TEST_F(Pump, commits_sending_then_sends_then_commits_the_outcome) {
  targets(1, "webhook");
  port.hold_commits = true;
  submit(CreateVersion{.deployment = deployment, .tag = "v1"});
  run();
  while (!is_sending(port.commits.front().commit)) port.release(), run();
  EXPECT_TRUE(backend.got.empty()) << "`sending` is not durable yet";
  pass(seconds(1));
  EXPECT_TRUE(backend.got.empty());
  port.land();
  run();
  EXPECT_TRUE(backend.got.empty()) << "nor known to be";
  port.answer(CommitOutcome::kDurable);
  run();
  ASSERT_EQ(backend.got.size(), 1u);
  EXPECT_EQ(backend.got[0].permit.item.attempt, 1);
  EXPECT_EQ(backend.got[0].permit.job->id, only_job().id);
  EXPECT_TRUE(port.commits.empty());
  backend.answer(SendOutcome::kAccepted);
  run();
  ASSERT_EQ(port.commits.size(), 1u);
  port.release();
  pass(minutes(10));
  EXPECT_TRUE(done());
  EXPECT_EQ(backend.got.size(), 1u);
}

TEST_F(Pump, sends_nothing_whose_sending_was_not_committed_until_it_is) {
  targets(1, "webhook");
  port.hold_commits = true;
  submit(CreateVersion{.deployment = deployment, .tag = "v1"});
  run();
  while (!is_sending(port.commits.front().commit)) port.release(), run();
  port.hold_commits = false;
  port.answer(CommitOutcome::kInDoubt);
  run();
  ASSERT_EQ(backend.got.size(), 1u) << "from the row that was loaded again";
  EXPECT_EQ(backend.got[0].permit.item.attempt, 1);
}

TEST_F(Pump, tries_again_with_growing_pauses_what_certainly_did_not_arrive) {
  targets(1, "webhook");
  publish();
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(backend.got.size(), static_cast<size_t>(i) + 1);
    backend.answer(SendOutcome::kNotSent);
    pass(seconds(1 << i) - microseconds(1));
    EXPECT_EQ(backend.got.size(), static_cast<size_t>(i) + 1);
    pass(microseconds(1));
  }
  EXPECT_EQ(backend.got.back().permit.item.attempt, 6);
}

TEST_F(Pump, a_permission_that_has_aged_is_not_used) {
  targets(1, "webhook");
  port.hold_commits = true;
  submit(CreateVersion{.deployment = deployment, .tag = "v1"});
  run();
  while (!is_sending(port.commits.front().commit)) port.release(), run();
  pass(seconds(20) + microseconds(1));
  port.hold_commits = false;
  port.release();
  run();
  EXPECT_TRUE(backend.got.empty());
  EXPECT_EQ(status(), OutboxStatus::kPending);
  EXPECT_EQ(only_job().status, JobStatus::kPending);
  pass(kFirstBackoff);
  ASSERT_EQ(backend.got.size(), 1u);
  EXPECT_EQ(backend.got[0].permit.item.attempt, 2);
}

TEST_F(Pump, a_permission_is_used_up_to_its_last_moment) {
  targets(1, "webhook");
  port.hold_commits = true;
  submit(CreateVersion{.deployment = deployment, .tag = "v1"});
  run();
  while (!is_sending(port.commits.front().commit)) port.release(), run();
  pass(seconds(20));
  port.release();
  run();
  EXPECT_EQ(backend.got.size(), 1u);
}

// "Not sent" would say that the receiver was asked and has not got it, and the job would start twice.
TEST_F(Pump, a_question_that_was_not_asked_has_no_answer) {
  targets(1, "webhook-lookup");
  publish();
  backend.answer(SendOutcome::kInDoubt);
  run();
  port.hold_commits = true;
  pass(kSendGrace);
  ASSERT_EQ(port.commits.size(), 1u);
  pass(seconds(21));
  port.hold_commits = false;
  port.release();
  run();
  EXPECT_EQ(backend.got.size(), 1u);
  EXPECT_EQ(status(), OutboxStatus::kSending);
  EXPECT_EQ(only_job().status, JobStatus::kQueued);
  pass(minutes(3));
  ASSERT_EQ(backend.got.size(), 2u);
  EXPECT_EQ(backend.got[1].permit.mode, SendMode::kAsk);
}

TEST_F(Pump, what_an_earlier_owner_may_have_sent_is_left_alone_for_the_grace) {
  targets(1, "webhook-keyed");
  publish();
  ASSERT_EQ(backend.got.size(), 1u);
  crash();
  executor.step_wall(hours(1));  // the boot clock counts, whatever this one does
  loop->audit(0);
  pass(kSendGrace - microseconds(1));
  EXPECT_EQ(backend.got.size(), 1u);
  pass(microseconds(1));
  ASSERT_EQ(backend.got.size(), 2u);
  EXPECT_EQ(backend.got[1].permit.mode, SendMode::kSend);
  EXPECT_EQ(backend.got[1].permit.item.attempt, 2);
  backend.got[0].done(SendOutcome::kAccepted, "");  // of a process that is gone
  run();
  EXPECT_EQ(status(), OutboxStatus::kSending);
}

TEST_F(Pump, what_was_pending_at_a_load_keeps_its_pause) {
  targets(1, "webhook");
  publish();
  for (int i = 0; i < 4; ++i) backend.answer(SendOutcome::kNotSent), pass(seconds(1 << i));
  backend.answer(SendOutcome::kNotSent);  // 16 s from here
  run();
  size_t before = backend.got.size();
  crash();
  pass(seconds(16) - microseconds(1));
  EXPECT_EQ(backend.got.size(), before);
  pass(microseconds(1));
  EXPECT_EQ(backend.got.size(), before + 1);
}

TEST_F(Pump, a_channel_nobody_delivers_to_is_tried_again_later) {
  targets(1, "webhook");
  pump = std::make_unique<OutboxPump>(
      [this](WorkspaceId, Request r, ReplyFn d) { loop->submit(std::move(r), std::move(d)); }, executor);
  listeners = {pump.get()};
  start();
  publish();
  EXPECT_EQ(status(), OutboxStatus::kPending);
  EXPECT_NE(row().last_error.find("webhook"), std::string::npos);
  pump->add_receiver("webhook", backend);
  pass(seconds(2));
  EXPECT_EQ(backend.got.size(), 1u);
}

TEST_F(Pump, sends_so_many_at_a_time_and_the_next_when_one_is_done) {
  targets(300, "webhook");
  publish();
  EXPECT_EQ(backend.got.size(), 256u);
  backend.answer(0, SendOutcome::kAccepted);
  run();
  EXPECT_EQ(backend.got.size(), 257u);
  backend.answer(1, SendOutcome::kNotSent);
  run();
  EXPECT_EQ(backend.got.size(), 258u) << "one that pauses holds no place";
  for (size_t i = 2; i < backend.got.size(); ++i) backend.answer(i, SendOutcome::kAccepted), run();
  pass(minutes(1));
  EXPECT_EQ(backend.got.size(), 301u);
}

// It stood in line before the load and stands there again: the second look must not come too early.
TEST_F(Pump, what_waits_in_line_over_a_load_is_looked_at_once) {
  targets(257, "webhook-lookup");
  publish();
  ASSERT_EQ(backend.got.size(), 256u);
  loop->reacquire();
  run();
  backend.answer(0, SendOutcome::kAccepted);
  run();
  ASSERT_EQ(backend.got.size(), 257u);
  backend.answer(256, SendOutcome::kInDoubt);
  backend.answer(1, SendOutcome::kAccepted);
  pass(kSendGrace - microseconds(1));
  EXPECT_EQ(backend.got.size(), 257u) << "asked now it would hear a wrong no";
  pass(microseconds(1));
  ASSERT_EQ(backend.got.size(), 258u);
  EXPECT_EQ(backend.got[257].permit.mode, SendMode::kAsk);
}

TEST_F(Pump, a_start_refused_by_a_full_lane_is_not_forgotten) {
  targets(1, "webhook");
  refuse_begins = 2;
  publish();
  EXPECT_TRUE(backend.got.empty());
  pass(seconds(5));
  EXPECT_EQ(backend.got.size(), 1u);
}

TEST_F(Pump, an_outcome_refused_by_a_full_lane_is_not_forgotten) {
  targets(1, "webhook");
  publish();
  refuse_ends = 2;
  backend.answer(SendOutcome::kAccepted);
  pass(seconds(5));
  EXPECT_TRUE(done());
  pass(minutes(5));
  EXPECT_EQ(only_job().status, JobStatus::kQueued);
  EXPECT_EQ(backend.got.size(), 1u);
}

TEST_F(Pump, nothing_of_a_workspace_that_is_lost_is_begun) {
  targets(300, "webhook");
  publish();
  take_away();
  EXPECT_EQ(ask(UpsertSystem{.name = "late"}).refused(), ErrorCode::kNotCommitted);
  size_t before = backend.got.size();
  for (size_t i = 0; i < before; ++i) backend.answer(i, SendOutcome::kNotSent);
  pass(minutes(10));
  EXPECT_EQ(backend.got.size(), before);
}

}  // namespace
}  // namespace ctrlplane
