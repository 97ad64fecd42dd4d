// Replies, grouped commits and lanes.
#include "runtime/workspace_loop.h"

#include <gtest/gtest.h>

#include "runtime/testing.h"

namespace ctrlplane {
namespace {

using store::CommitOutcome;
using testing::Asked;
using testing::count_systems;
using testing::kWorkspace;
using testing::LoopWorld;

struct Loop : ::testing::Test, LoopWorld {
  Loop() { port.hold_commits = true; }
  // One pending job, all durable.
  JobId one_job() {
    port.hold_commits = false;
    targets(1);
    publish();
    port.hold_commits = true;
    port.sent.clear();
    return only_job().id;
  }
};

TEST_F(Loop, every_reply_waits_for_the_state_it_saw_to_be_durable) {
  start();
  Asked write = ask(UpsertSystem{.name = "one"});
  Asked read = ask(count_systems());
  Asked refused = ask(DeleteSystem{testing::id<SystemId>(404)});
  for (const Asked& a : {write, read, refused}) EXPECT_FALSE(a.answered());
  EXPECT_EQ(port.sent.size(), 1u) << "nothing but the write had anything to commit";
  port.release();
  run();
  EXPECT_TRUE(write.succeeded());
  ASSERT_TRUE(read.succeeded());
  EXPECT_EQ(read->text, "1");
  EXPECT_EQ(refused.refused(), ErrorCode::kNotFound);
}

TEST_F(Loop, with_nothing_outstanding_a_read_is_answered_without_a_commit) {
  start();
  Asked read = ask(count_systems());
  ASSERT_TRUE(read.succeeded());
  EXPECT_EQ(read->text, "0");
  EXPECT_TRUE(port.sent.empty());
}

TEST_F(Loop, a_read_that_saw_a_gathering_change_waits_for_that_one) {
  start();
  Asked first = ask(UpsertSystem{.name = "one"});
  Asked of_first = ask(count_systems());
  Asked second = ask(UpsertSystem{.name = "two"});
  Asked of_second = ask(count_systems());
  port.release();
  run();
  EXPECT_TRUE(first.succeeded());
  EXPECT_TRUE(of_first.succeeded());
  EXPECT_FALSE(second.answered());
  EXPECT_FALSE(of_second.answered()) << "it saw what is still on its way";
  port.release();
  run();
  ASSERT_TRUE(of_second.succeeded());
  EXPECT_EQ(of_second->text, "2");
}

TEST_F(Loop, what_comes_while_a_commit_is_under_way_goes_together_in_the_next) {
  start();
  ask(UpsertSystem{.name = "one"});
  std::vector<Asked> next;
  for (const char* name : {"two", "three", "four"}) next.push_back(ask(UpsertSystem{.name = name}));
  ASSERT_EQ(port.sent.size(), 1u);
  port.release();
  run();
  ASSERT_EQ(port.sent.size(), 2u);
  port.release();
  run();
  for (const Asked& a : next) EXPECT_TRUE(a.succeeded());
  ask(UpsertSystem{.name = "five"});
  ASSERT_EQ(port.sent.size(), 3u);
  size_t systems = 0;
  for (const Change& c : port.sent[1].changes) systems += std::holds_alternative<System>(c.entity);
  EXPECT_EQ(systems, 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(port.sent[i].seq, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(port.sent[i].token, owner().token);
    EXPECT_EQ(port.sent[i].workspace, kWorkspace);
  }
}

TEST_F(Loop, listeners_hear_of_a_commit_before_its_replies_leave) {
  struct Listener : FeedListener {
    std::vector<std::string>* log;
    void loaded(WorkspaceLoop&) override { log->push_back("loaded"); }
    void committed(WorkspaceId, int64_t seq, Time, const Changes& changes) override {
      log->push_back("committed " + std::to_string(seq) + (changes.empty() ? " empty" : ""));
    }
  } listener;
  std::vector<std::string> log;
  listener.log = &log;
  listeners = {&listener};
  start();
  loop->submit({UpsertSystem{.name = "one"}}, [&](Reply) { log.push_back("reply"); });
  run();
  EXPECT_EQ(log, (std::vector<std::string>{"loaded"}));
  port.release();
  run();
  EXPECT_EQ(log, (std::vector<std::string>{"loaded", "committed 1", "reply"}));
}

TEST_F(Loop, without_the_lease_only_what_has_its_own_commit_is_answered) {
  start();
  has_lease = false;
  Asked write = ask(UpsertSystem{.name = "one"});
  Asked read = ask(count_systems());
  Asked refused = ask(DeleteSystem{testing::id<SystemId>(404)});
  port.release();
  run();
  EXPECT_TRUE(write.succeeded()) << "the fence has spoken";
  EXPECT_EQ(read.refused(), ErrorCode::kUnavailable);
  EXPECT_EQ(refused.refused(), ErrorCode::kUnavailable);
}

// ---- Lanes ---------------------------------------------------------------------------------------------

TEST_F(Loop, a_cancel_submitted_last_runs_first_and_the_api_after_the_agents) {
  start();
  JobId job = one_job();
  Asked api = submit(testing::read([](const State& s, Time) { return std::to_string(s.jobs.size()); }));
  Asked other = submit(ClaimJob{agent, {}, "instance"});
  Asked cancel = submit(CancelJob{job});
  run();
  port.release();
  run();
  ASSERT_TRUE(api.succeeded() && other.succeeded() && cancel.succeeded());
  EXPECT_FALSE(other->job) << "the cancel had ended it";
  EXPECT_EQ(api->text, "0");
}

TEST_F(Loop, agents_go_before_the_api) {
  start();
  one_job();
  Asked api = submit(testing::read([](const State& s, Time) {
    std::string status;
    s.jobs.each([&](JobIx, const JobSlot& j) { status = to_string(j.row.status); });
    return status;
  }));
  submit(ClaimJob{agent, {}, "instance"});
  run();
  port.release();
  run();
  EXPECT_EQ(api->text, to_string(JobStatus::kQueued));
}

TEST_F(Loop, full_lanes_refuse_later_and_only_their_own) {
  limits.queue = {2, 2, 2, 1};
  start();
  JobId job = one_job();
  std::vector<Asked> api, agents, stop;
  for (int i = 0; i < 3; ++i) api.push_back(submit(count_systems()));
  for (int i = 0; i < 3; ++i) agents.push_back(submit(ClaimJob{agent, {}, "instance"}));
  for (int i = 0; i < 3; ++i) stop.push_back(submit(CancelJob{job}));
  EXPECT_FALSE(api[2].answered()) << "never from within submit";
  run();
  while (!port.commits.empty()) port.release(), run();
  for (auto* lane : {&api, &agents, &stop}) {
    EXPECT_NE((*lane)[0].refused(), ErrorCode::kBusy);
    EXPECT_NE((*lane)[1].refused(), ErrorCode::kBusy);
    EXPECT_EQ((*lane)[2].refused(), ErrorCode::kBusy);
  }
  EXPECT_TRUE(ask(count_systems()).succeeded()) << "there is room again";
}

struct FullBatch : Loop {
  // Commits of few rows, one of them under way and the next one full.
  void fill() {
    limits.min_rows = 1;
    start();
    job = one_job();
    ask(UpsertSystem{.name = "in flight"});
    for (int i = 0; i < 40; ++i) writes.push_back(submit(UpsertSystem{.name = "s" + std::to_string(i)}));
    run();
  }
  JobId job;
  std::vector<Asked> writes;
};

TEST_F(FullBatch, bounds_what_gathers) {
  fill();
  EXPECT_EQ(port.sent.size(), 1u);
  EXPECT_LT(loop->state()->systems.size(), 20u);
  port.hold_commits = false;
  port.release();
  run();
  for (const Asked& w : writes) EXPECT_TRUE(w.succeeded());
  EXPECT_GT(port.sent.size(), 3u);
  EXPECT_EQ(stored<System>(), 42u);
}

TEST_F(FullBatch, does_not_hold_up_the_stop_lane) {
  fill();
  size_t before = loop->state()->systems.size();
  submit(count_systems());
  ask(CancelJob{job});
  EXPECT_EQ(loop->state()->jobs.size(), 0u) << "cancelled at once";
  EXPECT_EQ(loop->state()->systems.size(), before) << "the others wait for the commit";
}

TEST_F(FullBatch, costs_no_turns_while_it_waits) {
  fill();
  EXPECT_EQ(pass(milliseconds(500)), 0u);
  submit(count_systems());
  EXPECT_LE(run(), 2u);
}

TEST_F(Loop, commits_that_come_back_during_long_work_do_not_multiply_its_turns) {
  port.hold_commits = false;
  start();
  targets(600);
  limits.units_per_slice = 1;
  begin();
  while (!loop->active()) time.step(time.now());
  size_t most = 0;
  for (int i = 0; i < 300; ++i) {
    if (i % 4 == 0) submit(UpsertSystem{.name = "s" + std::to_string(i)});
    time.step(time.now());
    most = std::max(most, time.pending());
  }
  EXPECT_TRUE(loop->state()->any_dirty()) << "the work must outlast the commits";
  EXPECT_GT(loop->stats().commits, 20u);
  EXPECT_LT(most, 10u) << "a beat or a cancel would wait behind all of these";
}

}  // namespace
}  // namespace ctrlplane
