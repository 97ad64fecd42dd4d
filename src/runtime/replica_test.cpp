#include "runtime/replica.h"

#include <gtest/gtest.h>

#include "runtime/testing.h"

namespace ctrlplane {
namespace {

using testing::Asked;
using testing::count_systems;
using testing::kStart;
using testing::kWorkspace;

// Lease 10 s, margin 2 s; beats and questions every 2 s from its start on.
struct Process {
  Process(VirtualTime& time, store::Store& store, uint64_t n, Duration beat_every = seconds(2))
      : executor(time, kStart + hours(static_cast<int64_t>(n))), port(store, executor) {
    ReplicaConfig config{.id = testing::id<store::ReplicaId>(n), .address = "replica-" + std::to_string(n)};
    config.beat_every = beat_every;
    config.look_every = seconds(2);
    config.overdue = seconds(5);
    replica = std::make_unique<Replica>(
        executor, port, config, [n, next = uint64_t{0}]() mutable { return Uuid::from_halves(n, ++next); });
    replica->want(kWorkspace);
    replica->start();
  }
  bool serves() {
    WorkspaceLoop* loop = replica->loop(kWorkspace);
    return loop && loop->active();
  }
  Asked submit(Command command) {
    Asked asked;
    replica->submit(kWorkspace, {std::move(command)}, asked.here());
    return asked;
  }
  VirtualExecutor executor;
  testing::ScriptedPort port;
  std::unique_ptr<Replica> replica;
};

struct Replicas : ::testing::Test {
  VirtualTime time;
  store::SimStore store;
  std::unique_ptr<Process> a, b, c;

  std::unique_ptr<Process> start(uint64_t n) { return std::make_unique<Process>(time, store, n); }
  void until(Duration t) { time.run_until(t); }
  store::Owner owner() { return store.owners()->front(); }
  int64_t beat_of(uint64_t n) {
    auto replicas = store.replicas().value();
    for (const store::Replica& r : replicas)
      if (r.id == testing::id<store::ReplicaId>(n)) return r.beat;
    return 0;
  }
  Asked ask(Process& p, Command command) {
    Asked asked = p.submit(std::move(command));
    until(time.now());
    return asked;
  }
};

TEST_F(Replicas, a_workspace_nobody_owns_is_taken_at_once) {
  a = start(1);
  until({0});
  EXPECT_TRUE(a->serves());
  EXPECT_EQ(owner().replica, testing::id<store::ReplicaId>(1));
  EXPECT_TRUE(ask(*a, UpsertSystem{.name = "one"}).succeeded());
}

TEST_F(Replicas, beats_go_on_and_keep_challengers_away) {
  a = start(1);
  until(seconds(1));
  b = start(2);
  EXPECT_EQ(beat_of(1), 1);
  until(seconds(3));
  EXPECT_EQ(beat_of(1), 2);
  until(minutes(10));
  EXPECT_EQ(beat_of(1), 301);
  EXPECT_TRUE(a->serves());
  EXPECT_FALSE(b->replica->loop(kWorkspace));
  EXPECT_EQ(owner().epoch, 1);
}

TEST_F(Replicas, who_does_not_own_says_so_later_and_not_from_within_submit) {
  a = start(1);
  until({0});
  b = start(2);
  until(seconds(1));
  Asked asked = b->submit(count_systems());
  EXPECT_FALSE(asked.answered());
  until(seconds(1));
  EXPECT_EQ(asked.refused(), ErrorCode::kUnavailable);
}

TEST_F(Replicas, reads_are_answered_until_lease_less_margin_after_the_last_good_beat_was_sent) {
  a = start(1);
  until(milliseconds(4500));
  a->port.down = true;
  until(seconds(12));
  EXPECT_TRUE(a->replica->may_answer_reads());
  EXPECT_TRUE(ask(*a, count_systems()).succeeded());
  until(seconds(12) + microseconds(1));
  EXPECT_FALSE(a->replica->may_answer_reads());
  EXPECT_EQ(ask(*a, count_systems()).refused(), ErrorCode::kUnavailable);
}

TEST_F(Replicas, the_time_counts_from_when_a_beat_was_sent_not_from_its_answer) {
  a = start(1);
  until(seconds(1));
  a->port.hold_beats = true;
  until(seconds(7));
  a->port.release(a->port.beats);  // sent at 2 s
  until(seconds(10));
  EXPECT_TRUE(a->replica->may_answer_reads());
  until(seconds(10) + microseconds(1));
  EXPECT_FALSE(a->replica->may_answer_reads());
}

TEST_F(Replicas, before_its_first_beat_a_replica_answers_no_read) {
  a = std::make_unique<Process>(time, store, 1);
  EXPECT_FALSE(a->replica->may_answer_reads());
  until({0});
  EXPECT_TRUE(a->replica->may_answer_reads());
}

// ---- Taking over ---------------------------------------------------------------------------------------

TEST_F(Replicas, a_challenger_waits_a_full_lease_from_when_it_first_saw_the_last_beat) {
  a = start(1);
  until(seconds(1));
  b = start(2);
  until(milliseconds(20500));
  a.reset();  // its last beat, of 20 s, is first seen at 21 s
  until(seconds(31) - microseconds(1));
  EXPECT_FALSE(b->replica->loop(kWorkspace));
  until(seconds(31));
  EXPECT_TRUE(b->serves());
  EXPECT_EQ(owner().epoch, 2);
}

TEST_F(Replicas, what_was_acknowledged_before_a_crash_is_there_after_the_take_over) {
  a = start(1);
  until(seconds(1));
  b = start(2);
  ASSERT_TRUE(ask(*a, UpsertSystem{.name = "one"}).succeeded());
  a.reset();
  until(seconds(15));
  Asked read = ask(*b, count_systems());
  ASSERT_TRUE(read.succeeded());
  EXPECT_EQ(read->text, "1");
}

TEST_F(Replicas, an_owner_whose_row_is_missing_is_waited_for_as_long) {
  ASSERT_TRUE(store.acquire(kWorkspace, testing::id<store::ReplicaId>(9), {}, testing::id<store::Token>(9)));
  a = start(1);
  until(seconds(10) - microseconds(1));
  EXPECT_FALSE(a->replica->loop(kWorkspace));
  until(seconds(12));
  EXPECT_TRUE(a->serves());
}

// The owner is well. One answer takes long to come back; what it says is old, not the beat.
TEST_F(Replicas, late_news_does_not_make_an_owner_look_dead) {
  a = std::make_unique<Process>(time, store, 1, seconds(6));
  until(seconds(1));
  b = start(2);
  until(seconds(2));
  b->port.hold_ownerships = true;
  until(seconds(15));
  b->port.release(b->port.questions);  // asked at 3 s, the same beat as at 1 s
  until(seconds(15));
  EXPECT_FALSE(b->replica->loop(kWorkspace));
  EXPECT_EQ(owner().epoch, 1);
}

TEST_F(Replicas, of_two_challengers_one_wins) {
  a = start(1);
  until(seconds(1));
  b = start(2);
  c = start(3);
  until(seconds(20));
  a.reset();
  until(seconds(60));
  EXPECT_NE(b->serves(), c->serves());
  EXPECT_EQ(owner().epoch, 2);
  Process& winner = b->serves() ? *b : *c;
  EXPECT_EQ(owner().replica, winner.replica->config().id);
  EXPECT_TRUE(ask(winner, UpsertSystem{.name = "one"}).succeeded());
  EXPECT_FALSE((b->serves() ? *c : *b).replica->loop(kWorkspace));
}

TEST_F(Replicas, who_lost_its_workspace_is_a_challenger_again) {
  a = start(1);
  until(seconds(1));
  // Taken by a process that then dies.
  ASSERT_TRUE(store.acquire(kWorkspace, testing::id<store::ReplicaId>(9), owner().token,
                            testing::id<store::Token>(9)));
  EXPECT_EQ(ask(*a, UpsertSystem{.name = "one"}).refused(), ErrorCode::kNotCommitted);
  EXPECT_FALSE(a->replica->loop(kWorkspace));
  until(seconds(11));
  EXPECT_FALSE(a->replica->loop(kWorkspace));
  until(seconds(14));
  EXPECT_TRUE(a->serves());
  EXPECT_TRUE(ask(*a, UpsertSystem{.name = "one"}).succeeded());
}

// ---- Gaps ----------------------------------------------------------------------------------------------

TEST_F(Replicas, after_a_gap_in_its_beats_an_owner_acquires_again) {
  a = start(1);
  until(seconds(1));
  a->executor.stop();
  until(seconds(9));
  a->executor.resume();
  until(seconds(9));
  EXPECT_EQ(owner().epoch, 2);
  EXPECT_TRUE(a->serves());
  EXPECT_TRUE(ask(*a, count_systems()).succeeded());
}

TEST_F(Replicas, a_pause_within_the_lease_costs_nothing) {
  a = start(1);
  until(seconds(1));
  a->executor.stop();
  until(seconds(7));
  a->executor.resume();
  until(seconds(60));
  EXPECT_EQ(owner().epoch, 1);
}

TEST_F(Replicas, an_owner_stopped_past_its_lease_reads_nothing_stale_when_it_continues) {
  a = start(1);
  until(seconds(1));
  b = start(2);
  a->executor.stop();
  until(seconds(14));
  ASSERT_TRUE(ask(*b, UpsertSystem{.name = "one"}).succeeded());
  Asked read = a->submit(count_systems());
  a->executor.resume();
  until(seconds(30));
  EXPECT_EQ(read.refused(), ErrorCode::kUnavailable);
  EXPECT_FALSE(a->replica->loop(kWorkspace));
  EXPECT_TRUE(b->serves());
}

// Sent within the lease, on its way longer: meanwhile a challenger was right to take over.
TEST_F(Replicas, a_beat_that_arrives_late_does_not_hide_the_gap) {
  a = start(1);
  until(seconds(1));
  b = start(2);
  a->port.hold_beats = true;
  until(milliseconds(11'500));
  ASSERT_TRUE(b->serves());
  ASSERT_TRUE(ask(*b, UpsertSystem{.name = "one"}).succeeded());
  a->port.beats.pop_front();
  a->port.release(a->port.beats);  // sent at 4 s
  until(milliseconds(11'500));
  Asked read = ask(*a, count_systems());
  EXPECT_EQ(read.refused(), ErrorCode::kUnavailable);
  EXPECT_FALSE(a->serves());
}

TEST_F(Replicas, drain_waits_for_every_loop) {
  a = start(1);
  until(seconds(1));
  a->port.hold_commits = true;
  Asked write = ask(*a, UpsertSystem{.name = "one"});
  bool drained = false;
  a->replica->drain([&] { drained = true; });
  until(seconds(1));
  EXPECT_FALSE(drained);
  a->port.release();
  until(seconds(1));
  EXPECT_TRUE(write.succeeded());
  EXPECT_TRUE(drained);
}

// ---- Shares ----------------------------------------------------------------------------------------------

struct Shares : Replicas {
  std::vector<WorkspaceId> all;
  void SetUp() override {
    for (uint64_t n = 1; n <= 6; ++n) all.push_back({Uuid::from_halves(0x3b, n)});
  }
  std::unique_ptr<Process> start_wanting_all(uint64_t n) {
    auto p = start(n);
    p->replica->want_no_more(kWorkspace);
    for (WorkspaceId w : all) p->replica->want(w);
    return p;
  }
  size_t owned_by(const Process& p) {
    size_t n = 0;
    const std::vector<store::Owner> rows = *store.owners();
    for (const store::Owner& o : rows) n += o.replica == p.replica->config().id;
    return n;
  }
};

TEST_F(Shares, a_new_replica_gets_its_share_and_then_nothing_moves) {
  a = start_wanting_all(1);
  until(seconds(5));
  EXPECT_EQ(owned_by(*a), 6u);
  b = start_wanting_all(2);
  until(seconds(40));
  EXPECT_EQ(owned_by(*a), 3u);
  EXPECT_EQ(owned_by(*b), 3u);
  c = start_wanting_all(3);
  until(seconds(80));
  EXPECT_EQ(owned_by(*a), 2u);
  EXPECT_EQ(owned_by(*b), 2u);
  EXPECT_EQ(owned_by(*c), 2u);
  std::vector<store::Owner> before = *store.owners();
  until(minutes(10));
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ((*store.owners())[i].epoch, before[i].epoch);
}

TEST_F(Shares, what_a_dead_replica_had_is_shared_by_the_others) {
  a = start_wanting_all(1);
  b = start_wanting_all(2);
  c = start_wanting_all(3);
  until(minutes(2));
  c.reset();
  until(minutes(2) + seconds(16));
  EXPECT_EQ(owned_by(*a), 3u);
  EXPECT_EQ(owned_by(*b), 3u);
}

TEST_F(Shares, who_leaves_hands_everything_over_within_seconds_and_knows_it) {
  a = start_wanting_all(1);
  b = start_wanting_all(2);
  until(minutes(2));
  bool left = false;
  a->replica->leave(seconds(60), [&] { left = true; });
  until(minutes(2) + seconds(20));
  EXPECT_TRUE(left);
  EXPECT_EQ(owned_by(*b), 6u);
  EXPECT_EQ(a->replica->owner_of(all[0]), (Peer{b->replica->config().id, "replica-2"}));
  EXPECT_FALSE(a->replica->serves(all[0]));
}

TEST_F(Shares, who_is_alone_need_not_wait_to_leave) {
  a = start_wanting_all(1);
  until(seconds(5));
  bool left = false;
  a->replica->leave(seconds(60), [&] { left = true; });
  until(seconds(5));
  EXPECT_TRUE(left);
  EXPECT_EQ(owned_by(*a), 6u) << "nobody is there to take it";
}

TEST_F(Shares, after_a_clean_end_the_next_start_waits_for_nobody) {
  a = start_wanting_all(1);
  until(seconds(5));
  bool drained = false;
  a->replica->drain([&] { drained = true; });
  until(seconds(5));
  EXPECT_TRUE(drained);
  EXPECT_TRUE(store.replicas()->empty());
  a.reset();
  b = start_wanting_all(2);
  until(seconds(5) + milliseconds(1));
  EXPECT_EQ(owned_by(*b), 6u);
}

TEST_F(Shares, a_release_that_got_lost_leaves_the_workspace_where_it_was) {
  a = start_wanting_all(1);
  until(seconds(5));
  a->port.hold_releases = true;
  b = start_wanting_all(2);
  until(seconds(20));
  ASSERT_EQ(a->port.releases.size(), 1u) << "one move at a time";
  a->port.down = true;
  a->port.release(a->port.releases);
  until(seconds(20));
  a->port.down = a->port.hold_releases = false;
  until(seconds(60));
  EXPECT_EQ(owned_by(*a), 3u);
  EXPECT_EQ(owned_by(*b), 3u);
}

TEST_F(Shares, what_is_accepted_is_answered_before_it_is_given_away) {
  a = start_wanting_all(1);
  until(seconds(5));
  a->port.hold_commits = true;
  std::vector<Asked> writes(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    a->replica->submit(all[i], {UpsertSystem{.name = "one"}}, writes[i].here());
  b = start_wanting_all(2);
  until(seconds(12));
  EXPECT_EQ(owned_by(*b), 0u);
  a->port.hold_commits = false;
  while (!a->port.commits.empty()) a->port.release();
  until(seconds(60));
  for (const Asked& write : writes) EXPECT_TRUE(write.succeeded());
  EXPECT_EQ(owned_by(*b), 3u);
}

TEST_F(Replicas, a_replica_that_goes_leaves_nothing_behind_that_runs) {
  a = start(1);
  until(seconds(1));
  a->port.hold_commits = true;
  Asked write = ask(*a, UpsertSystem{.name = "one"});
  a->replica.reset();
  a->port.release();
  until(minutes(1));
  EXPECT_FALSE(write.answered());
}

}  // namespace
}  // namespace ctrlplane
