#include "engine/restore.h"

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

struct Restore : ::testing::Test, testing::World {
  // A backup of the workspace as it is now is put back a day later.
  FreezeId restore(size_t max_rows = 500) {
    FreezeId f = begin_restore();
    finish_restore(max_rows);
    return f;
  }
  FreezeId begin_restore() {
    last_commit = now;
    reload();
    point = restore_point(*state, last_commit, now + hours(24));
    now = point.now;
    EXPECT_TRUE(point.freeze.is_nil());
    auto f = transact([&](Tx& tx) { return freeze_restored(tx, point); });
    CHECK(f.has_value(), f ? std::string() : f.error().message);
    return *f;
  }
  void finish_restore(size_t max_rows = 500) {
    int steps = 0;
    while (!transact([&](Tx& tx) { return forget_some_intentions(tx, point, max_rows); }).done()) {
      EXPECT_LE(last.size(), max_rows);
      CHECK(++steps < 100, "a restore comes to an end");
    }
    reload();  // by the server that starts then
    drain();
  }
  void thaw(FreezeId f) {
    must(ThawFreeze{.id = f, .reason = "looked", .rights = {.thaw = true}});
    drain();
  }
  Reply decide(JobId job, JobStatus status) {
    Reply r = run(DecideJob{job, status, ""});
    drain();
    return r;
  }
  JobId claimed() {
    Reply r = claim();
    CHECK(r && r->job, "there is no job to claim");
    return r->job->id;
  }
  const Freeze& row(FreezeId f) { return state->freezes[state->freezes.find(f)].row; }
  void retry_failures() {
    Json body = Json::parse_object(R"({"maxRetries":3,"retryOnStatuses":["failure","cancelled"]})").value();
    UpsertPolicy p{.name = "again", .selector = "true"};
    p.rules.push_back({{}, "retry", body, ""});
    must(p);
    drain();
  }

  Time last_commit;
  RestorePoint point;
};

TEST_F(Restore, makes_a_waiting_job_a_persons_to_decide) {
  one_target();
  publish("v1");
  JobId job = only_job()->id;
  restore();
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
  EXPECT_TRUE(only_job()->message.starts_with("may have run since the backup of ")) << only_job()->message;
  EXPECT_EQ(only_job()->handed_over_at, point.now) << "it is in flight";
  EXPECT_EQ(only_job()->holder, "");
  EXPECT_EQ(state->in_flight().cardinality(), 1u);
  EXPECT_EQ(jobs_to_decide(*state), 1u);
  EXPECT_FALSE(claim()->job);
  EXPECT_FALSE(run(ClaimJob{agent, job, "one", false}));
}

TEST_F(Restore, makes_a_running_job_a_persons_to_decide) {
  one_target("http-pull", hours(1));
  publish("v1");
  JobId job = claimed();
  ASSERT_TRUE(report(job, JobStatus::kInProgress));
  restore();
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
  EXPECT_EQ(only_job()->holder, "one");
  pass(hours(48));
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired) << "no timeout and no lost lease ends it";
  EXPECT_TRUE(report(job, JobStatus::kSuccessful)) << "whoever had it may still report";
  EXPECT_FALSE(only_job());
}

TEST_F(Restore, does_not_let_one_that_waited_for_a_person_time_out) {
  one_target("http-pull", hours(20));
  publish("v1");
  claimed();
  pass(hours(1));  // its agent does not come back
  ASSERT_EQ(only_job()->status, JobStatus::kActionRequired);
  restore();
  pass(hours(48));
  ASSERT_TRUE(only_job());
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
  EXPECT_NE(only_job()->message.find("was lost"), std::string::npos) << "what was known is still said";
  EXPECT_NE(only_job()->message.find("may have been decided since"), std::string::npos);
}

TEST_F(Restore, lets_nothing_start) {
  one_target();
  publish("v1");
  finish(JobStatus::kSuccessful);
  FreezeId f = restore();
  EXPECT_TRUE(row(f).active(now));
  EXPECT_EQ(row(f).created_by, kRestoreActor);
  publish("v2");
  EXPECT_FALSE(only_job());
  EXPECT_FALSE(claim()->job);
  thaw(f);
  EXPECT_TRUE(only_job()) << "what is new goes out after the thaw";
}

TEST_F(Restore, keeps_a_target_for_its_job_after_the_thaw) {
  retry_failures();
  one_target();
  publish("v1");
  JobId job = only_job()->id;
  FreezeId f = restore();
  thaw(f);
  publish("v2");
  pass(hours(48));
  ASSERT_TRUE(only_job());
  EXPECT_EQ(only_job()->id, job);
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
  EXPECT_FALSE(claim()->job);
}

TEST_F(Restore, ends_with_what_people_say) {
  one_target();
  VersionId v1 = publish("v1");
  JobId job = only_job()->id;
  FreezeId f = restore();
  ASSERT_TRUE(decide(job, JobStatus::kSuccessful));
  EXPECT_EQ(target().current_version, v1);
  EXPECT_FALSE(decide(job, JobStatus::kFailure)) << "terminal is final";
  thaw(f);
  EXPECT_FALSE(only_job());
  VersionId v2 = publish("v2");
  finish(JobStatus::kSuccessful);
  EXPECT_EQ(target().current_version, v2);
}

TEST_F(Restore, tries_again_after_the_thaw_what_people_say_has_failed) {
  retry_failures();
  one_target();
  publish("v1");
  JobId job = only_job()->id;
  FreezeId f = restore();
  ASSERT_TRUE(decide(job, JobStatus::kFailure));
  pass(hours(1));
  EXPECT_FALSE(only_job());
  thaw(f);
  pass(hours(1));
  ASSERT_TRUE(only_job());
  EXPECT_EQ(only_job()->cause, JobCause::kRetry);
}

TEST_F(Restore, sends_nothing_that_was_decided_before) {
  one_target("webhook-keyed");
  must(UpsertChannel{.name = "hook", .config = Json::parse_object(R"({"url":"http://x"})").value()});
  FreezeId old = FreezeId{must(CreateFreeze{.reason = "before"})};
  must(ThawFreeze{.id = old, .rights = {.thaw = true}});
  publish("v1");
  size_t notices = 0;
  for (const auto& [id, item] : state->outbox) notices += item.kind == OutboxKind::kNotice;
  ASSERT_EQ(notices, 2u);
  ASSERT_TRUE(state->outbox_of(only_job()->id));
  restore();
  ASSERT_EQ(state->outbox.size(), 1u) << "the restore's own news";
  EXPECT_NE(state->outbox.begin()->second.payload.find("Restored from a backup"), std::string::npos);
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
}

TEST_F(Restore, sends_nothing_again_that_was_half_sent) {
  one_target("webhook-keyed");
  publish("v1");
  ASSERT_TRUE(run(BeginSend{*state->outbox_of(only_job()->id)}));
  ASSERT_EQ(only_job()->status, JobStatus::kQueued);
  run(CancelJob{only_job()->id});
  ASSERT_EQ(state->outbox.size(), 2u) << "a start and a cancel";
  FreezeId f = restore();
  EXPECT_TRUE(state->outbox.empty());
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
  thaw(f);
  pass(hours(1));
  EXPECT_TRUE(state->outbox.empty());
  EXPECT_EQ(rows.count<OutboxItem>(), 2u);
  rows.each<OutboxItem>([](const OutboxItem& i) { EXPECT_EQ(i.status, OutboxStatus::kAbandoned); });
}

TEST_F(Restore, leaves_no_job_without_its_start_when_it_is_interrupted) {
  one_target("webhook");
  publish("v1");
  begin_restore();
  transact([&](Tx& tx) { return forget_some_intentions(tx, point, 500); });
  EXPECT_EQ(only_job()->status, JobStatus::kActionRequired);
  EXPECT_FALSE(state->outbox_of(only_job()->id)) << "both in one commit";
}

TEST_F(Restore, is_not_passed_by_a_version_that_bypasses_freezes) {
  one_target();
  FreezeId known = FreezeId{must(CreateFreeze{.reason = "incident"})};
  must(CreateVersion{.deployment = deployment, .tag = "hotfix", .bypass_freeze = true});
  drain();
  finish(JobStatus::kFailure);
  FreezeId f = restore();
  EXPECT_FALSE(run(RedeployTarget{key()})) << "it may have run since";
  thaw(f);
  EXPECT_TRUE(run(RedeployTarget{key()})) << "the freeze it was made for does not stop it";
  EXPECT_TRUE(row(known).active(now));
}

TEST_F(Restore, has_no_bypass_left_where_nothing_was_frozen) {
  one_target();
  must(CreateVersion{.deployment = deployment, .tag = "hotfix", .bypass_freeze = true});
  drain();
  finish(JobStatus::kFailure);
  restore();
  EXPECT_FALSE(run(RedeployTarget{key()}));
}

TEST_F(Restore, done_again_changes_nothing) {
  one_target();
  publish("v1");
  FreezeId f = restore();
  last_commit = point.now;
  RestorePoint again = restore_point(*state, last_commit, now + hours(1));
  EXPECT_EQ(again.freeze, f);
  EXPECT_EQ(again.now, point.now);
  EXPECT_EQ(again.backup_of, point.backup_of);
  EXPECT_TRUE(transact([&](Tx& tx) { return forget_some_intentions(tx, again, 500); }).done());
  EXPECT_TRUE(last.empty());
}

TEST_F(Restore, goes_on_where_it_was_interrupted) {
  one_target();
  for (int i = 0; i < 8; ++i)
    must(UpsertResource{{"host" + std::to_string(i), "host", "Host", "v1", {}, {}}, {}});
  drain();
  publish("v1");
  ASSERT_EQ(state->jobs.size(), 9u);
  FreezeId f = begin_restore();
  transact([&](Tx& tx) { return forget_some_intentions(tx, point, 4); });
  reload();
  EXPECT_EQ(jobs_to_decide(*state), 2u);
  EXPECT_FALSE(claim()->job) << "frozen first";
  last.clear();
  point = restore_point(*state, point.now, now + hours(1));
  EXPECT_EQ(point.freeze, f);
  finish_restore(4);
  EXPECT_EQ(jobs_to_decide(*state), 9u);
}

TEST_F(Restore, of_another_backup_is_another_one) {
  one_target();
  publish("v1");
  FreezeId first = restore();
  now = now + hours(1);
  publish("v2");
  FreezeId second = restore();
  EXPECT_NE(first, second);
  EXPECT_TRUE(row(first).active(now));
  EXPECT_TRUE(row(second).active(now));
}

TEST_F(Restore, is_later_than_the_backup_whatever_the_clock_says) {
  RestorePoint p = restore_point(*state, now, now - hours(5));
  EXPECT_GT(p.now, now);
  EXPECT_TRUE(p.freeze.is_nil());
}

TEST_F(Restore, is_not_mistaken_for_a_freeze_that_somebody_made) {
  FreezeId f{must(CreateFreeze{.reason = "mine", .metadata = {{"restored", "true"}}})};
  EXPECT_TRUE(restore_point(*state, row(f).created_at, now).freeze.is_nil());
}

TEST_F(Restore, freezes_for_as_long_as_the_workspace_allows) {
  must(SetFreezeSettings{{.max_ttl = hours(8), .ttl_required = true}});
  FreezeId f = restore();
  EXPECT_EQ(row(f).expires_at, point.now + hours(8));
  must(SetFreezeSettings{{.ttl_required = true}});
  now = now + hours(1);
  f = restore();
  EXPECT_GT(*row(f).expires_at, now + hours(24 * 365));
}

TEST_F(Restore, says_what_it_did) {
  one_target();
  publish("v1");
  FreezeId f = restore();
  EXPECT_NE(row(f).reason.find(format_rfc3339(last_commit)), std::string::npos) << row(f).reason;
  size_t told = 0;
  rows.each<AuditEntry>([&](const AuditEntry& e) { told += e.action == "workspace.restored"; });
  EXPECT_EQ(told, 1u);
}

}  // namespace
}  // namespace ctrlplane
