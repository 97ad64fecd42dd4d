#include "engine/freezes.h"

#include <gtest/gtest.h>

#include "engine/freeze_impact.h"
#include "engine/testing.h"
#include "policy/freezes.h"

namespace ctrlplane {
namespace {

struct Freezes : ::testing::Test, testing::World {
  void SetUp() override { one_target(); }

  FreezeId freeze(CreateFreeze c = {}) {
    if (c.reason.empty()) c.reason = "incident";
    return FreezeId{must(std::move(c))};
  }
  Reply thaw(FreezeId id, FreezeRights rights = {.thaw = true}) {
    Reply r = run(ThawFreeze{.id = id, .rights = rights});
    drain();
    return r;
  }
  const Freeze& row(FreezeId id) { return state->freezes[state->freezes.find(id)].row; }
  std::vector<FreezeAction> history(FreezeId id) {
    std::vector<std::pair<FreezeEventId, FreezeAction>> all;
    rows.each<FreezeEvent>([&](const FreezeEvent& e) {
      if (e.freeze == id) all.push_back({e.id, e.action});
    });
    std::sort(all.begin(), all.end());
    std::vector<FreezeAction> actions;
    for (auto& [event, action] : all) actions.push_back(action);
    return actions;
  }
  ErrorCode refused(const Reply& r) { return r ? ErrorCode::kInternal : r.error().code; }
};

TEST_F(Freezes, hold_a_waiting_job_and_let_it_go_at_the_thaw) {
  publish("v1");
  FreezeId f = freeze();
  JobId job = only_job()->id;
  EXPECT_EQ(refused(run(ClaimJob{agent, job, "one", false})), ErrorCode::kFrozen);
  Reply any = claim();
  ASSERT_TRUE(any);
  EXPECT_FALSE(any->job) << "there is nothing to claim";
  ASSERT_TRUE(thaw(f));
  any = claim();
  ASSERT_TRUE(any && any->job);
  EXPECT_EQ(any->job->id, job) << "the same job, not another one";
}

TEST_F(Freezes, say_which_freeze_refuses_a_claim) {
  publish("v1");
  FreezeId f = freeze();
  Reply r = run(ClaimJob{agent, only_job()->id, "one", false});
  ASSERT_FALSE(r);
  ASSERT_EQ(r.error().details.size(), 1u);
  EXPECT_EQ(r.error().details[0].path, "freezeId");
  EXPECT_EQ(r.error().details[0].message, f.str());
}

TEST_F(Freezes, let_nothing_start_by_any_path) {
  VersionId v1 = publish("v1");
  finish(JobStatus::kSuccessful);
  freeze();
  VersionId v2 = publish("v2");
  EXPECT_FALSE(only_job());
  EXPECT_EQ(refused(run(RedeployTarget{key()})), ErrorCode::kFrozen);
  EXPECT_EQ(refused(run(ForceDeploy{key(), v2, ""})), ErrorCode::kFrozen);
  set_status(v1, VersionStatus::kRejected);  // would go back, if there were anything
  EXPECT_FALSE(only_job());
}

TEST_F(Freezes, only_let_the_newest_go_afterwards) {
  publish("v1");
  FreezeId f = freeze();
  publish("v2");
  VersionId v3 = publish("v3");
  ASSERT_TRUE(run(ThawFreeze{.id = f, .rights = {.thaw = true}}));
  EXPECT_FALSE(claim()->job) << "v1 waits, but is not what is wanted now";
  drain();
  Reply r = claim();
  ASSERT_TRUE(r && r->job);
  EXPECT_EQ(r->job->version, v3);
}

TEST_F(Freezes, expire_exactly_and_by_themselves) {
  publish("v1");
  FreezeId f = freeze({.expires_in = hours(2)});
  pass(hours(2) - microseconds(1));
  EXPECT_FALSE(claim()->job);
  EXPECT_FALSE(row(f).ended());
  pass(microseconds(1));
  EXPECT_EQ(row(f).thawed_at, row(f).expires_at);
  EXPECT_TRUE(row(f).thawed_by.empty());
  EXPECT_TRUE(claim()->job);
  EXPECT_EQ(history(f),
            (std::vector{FreezeAction::kActivated, FreezeAction::kExpiringSoon, FreezeAction::kExpired}));
}

TEST_F(Freezes, hold_by_the_clock_before_their_timer_has_fired) {
  publish("v1");
  FreezeId f = freeze({.expires_in = hours(1), .effective_at = now + hours(1)});
  now = now + hours(1);  // nothing has run since
  EXPECT_EQ(refused(run(ClaimJob{agent, only_job()->id, "one", false})), ErrorCode::kFrozen);
  now = now + hours(1);
  EXPECT_FALSE(row(f).ended());
  EXPECT_TRUE(run(ClaimJob{agent, only_job()->id, "one", false}));
}

TEST_F(Freezes, keep_their_timers_over_an_extension_and_a_load) {
  publish("v1");
  FreezeId f = freeze({.expires_in = hours(1)});
  must(UpdateFreeze{.id = f, .expires_in = hours(3), .rights = {.extend = true}});
  reload();
  drain();
  pass(hours(2));
  EXPECT_FALSE(row(f).ended());
  pass(hours(1));
  EXPECT_TRUE(row(f).ended());
  EXPECT_TRUE(claim()->job);
}

TEST_F(Freezes, begin_when_they_were_planned_for) {
  FreezeId f = freeze({.effective_at = now + hours(1)});
  EXPECT_EQ(history(f), std::vector{FreezeAction::kScheduled});
  publish("v1");
  finish(JobStatus::kSuccessful);
  pass(hours(1));
  EXPECT_EQ(history(f), (std::vector{FreezeAction::kScheduled, FreezeAction::kActivated}));
  publish("v2");
  EXPECT_FALSE(only_job());
}

TEST_F(Freezes, list_exactly_what_agents_have) {
  publish("v1");
  FreezeId waiting = freeze();
  auto in_flight = [&](FreezeId id) {
    return jobs_in_flight_under(*state, FreezeOutline::of(row(id)).value()).size();
  };
  EXPECT_EQ(in_flight(waiting), 0u);
  ASSERT_TRUE(thaw(waiting));
  ASSERT_TRUE(claim()->job);
  FreezeId claimed = freeze();
  EXPECT_EQ(in_flight(claimed), 1u);
  ASSERT_TRUE(report(only_job()->id, JobStatus::kSuccessful));
  EXPECT_EQ(in_flight(claimed), 0u);
}

TEST_F(Freezes, that_cancel_stop_what_runs_and_start_it_again_later) {
  publish("v1");
  JobId job = claim()->job->id;
  FreezeId f = freeze({.in_flight = InFlight::kCancel});
  drain();
  Reply beat = run(Heartbeat{"one", {job}});
  ASSERT_TRUE(beat);
  EXPECT_EQ(beat->jobs, std::vector{job});
  ASSERT_TRUE(report(job, JobStatus::kFailure));
  EXPECT_EQ(target().attempts, 0) << "no attempt is used";
  EXPECT_FALSE(only_job());
  ASSERT_TRUE(thaw(f));
  ASSERT_TRUE(only_job());
  EXPECT_NE(only_job()->id, job);
}

TEST_F(Freezes, do_not_end_narrower_or_wider_ones) {
  FreezeId wide = freeze();
  FreezeId narrow = freeze({.scope = FreezeScope::kEnvironment, .entity = environment.uuid});
  publish("v1");
  ASSERT_TRUE(thaw(narrow));
  EXPECT_FALSE(only_job());
  ASSERT_TRUE(thaw(wide));
  EXPECT_TRUE(only_job());
}

TEST_F(Freezes, are_passed_by_an_exempt_version_and_say_so_once) {
  FreezeId f = freeze();
  now = now + seconds(1);
  CreateVersion c{.deployment = deployment, .tag = "hotfix"};
  c.bypass_freeze = true;
  must(c);
  drain();
  ASSERT_TRUE(only_job());
  finish(JobStatus::kSuccessful);
  must(RedeployTarget{key()});
  finish(JobStatus::kSuccessful);
  EXPECT_EQ(history(f), (std::vector{FreezeAction::kActivated, FreezeAction::kBypassed}));
}

TEST_F(Freezes, are_not_passed_by_an_old_hotfix) {
  CreateVersion c{.deployment = deployment, .tag = "hotfix"};
  c.bypass_freeze = true;
  must(c);
  drain();
  finish(JobStatus::kSuccessful);
  publish("v2", VersionStatus::kFailed);  // newer, and there before the next freeze
  now = now + seconds(1);
  freeze();
  EXPECT_EQ(refused(run(RedeployTarget{key()})), ErrorCode::kFrozen);
}

TEST_F(Freezes, are_passed_by_force_only_if_that_is_said) {
  VersionId v = publish("v1");
  finish(JobStatus::kSuccessful);
  FreezeId f = freeze();
  EXPECT_EQ(refused(run(ForceDeploy{key(), v, "hotfix"})), ErrorCode::kFrozen);
  must(ForceDeploy{.target = key(), .version = v, .reason = "hotfix", .bypass_freeze = true});
  EXPECT_TRUE(claim()->job);
  EXPECT_EQ(history(f).back(), FreezeAction::kBypassed);
}

TEST_F(Freezes, fail_closed_when_their_selector_cannot_be_evaluated) {
  freeze({.selector = "int(resource.metadata['zone']) == 1"});
  publish("v1");
  EXPECT_TRUE(only_job()) << "a missing key does not match";
  finish(JobStatus::kSuccessful);
  Metadata m;
  m.set("zone", "not a number");
  must(UpsertResource{{"host", "host", "Host", "v1", {}, m}, {}});
  drain();
  publish("v2");
  EXPECT_FALSE(only_job());
}

TEST_F(Freezes, are_found_again_when_a_resource_leaves_their_selector) {
  Metadata m;
  m.set("tier", "critical");
  must(UpsertResource{{"host", "host", "Host", "v1", {}, m}, {}});
  drain();
  publish("v1");
  freeze({.selector = "resource.metadata['tier'] == 'critical'"});
  EXPECT_FALSE(claim()->job);
  must(UpsertResource{{"host", "host", "Host", "v1", {}, {}}, {}});
  EXPECT_TRUE(claim()->job);
}

TEST_F(Freezes, do_not_start_a_held_job_whose_window_has_closed) {
  publish("v0");
  finish(JobStatus::kSuccessful);
  UpsertPolicy p{.name = "office", .selector = "true"};
  p.rules.push_back(
      {.type = "deploymentWindow",
       .body = Json::parse_object(
                   R"({"rrule":"FREQ=DAILY;BYHOUR=0;BYMINUTE=0;BYSECOND=0","durationMinutes":120})")
                   .value()});
  must(p);
  while (now.us % hours(24).us != 0) now = now + seconds(1);
  pass(Duration{});
  publish("v1");
  ASSERT_TRUE(only_job());
  FreezeId f = freeze();
  pass(hours(4));
  ASSERT_TRUE(run(ThawFreeze{.id = f, .rights = {.thaw = true}}));
  EXPECT_FALSE(claim()->job);
  drain();
  EXPECT_FALSE(only_job());
  pass(hours(20));
  EXPECT_TRUE(claim()->job);
}

TEST_F(Freezes, let_held_work_go_at_a_pace) {
  for (int i = 0; i < 5; ++i) must(UpsertResource{{fmt::format("h{}", i), "h", "Host", "v1", {}, {}}, {}});
  drain();
  FreezeId f = freeze();
  publish("v1");
  must(ThawFreeze{.id = f, .resume_per_minute = 2, .rights = {.thaw = true}});
  drain();
  EXPECT_EQ(state->jobs.size(), 1u);
  pass(seconds(30));
  EXPECT_EQ(state->jobs.size(), 2u);
  pass(seconds(60));
  EXPECT_EQ(state->jobs.size(), 4u);
  publish("v2");
  EXPECT_GT(state->jobs.size(), 4u) << "what was published afterwards was not held";
}

TEST_F(Freezes, ask_for_a_second_person_where_the_workspace_does) {
  must(SetFreezeSettings{{.second_person_thaws = true}});
  FreezeId f = freeze();
  EXPECT_EQ(refused(thaw(f)), ErrorCode::kForbidden);
  EXPECT_EQ(refused(thaw(f, {.thaw = true, .admin = true})), ErrorCode::kInvalid) << "a reason is needed";
  must(ThawFreeze{.id = f, .reason = "alone at night", .rights = {.thaw = true, .admin = true}});
  bool glass = false;
  rows.each<FreezeEvent>(
      [&](const FreezeEvent& e) { glass |= e.metadata.text() == R"({"breakGlass":true})"; });
  EXPECT_TRUE(glass);
}

TEST_F(Freezes, end_once) {
  FreezeId f = freeze();
  ASSERT_TRUE(thaw(f));
  Reply again = thaw(f);
  EXPECT_EQ(refused(again), ErrorCode::kConflict);
  EXPECT_NE(again.error().message.find("tester"), std::string::npos);
  EXPECT_EQ(refused(run(UpdateFreeze{.id = f, .expires_in = hours(1), .rights = {.extend = true}})),
            ErrorCode::kConflict);
}

TEST_F(Freezes, refuse_what_cannot_be) {
  auto path = [&](CreateFreeze c) {
    Reply r = run(std::move(c));
    return r ? std::string("accepted") : r.error().details.at(0).path;
  };
  EXPECT_EQ(path({}), "reason");
  EXPECT_EQ(path({.scope = FreezeScope::kSystem, .reason = "r"}), "scopeEntityId");
  EXPECT_EQ(path({.scope = FreezeScope::kSystem, .entity = deployment.uuid, .reason = "r"}), "scopeEntityId");
  EXPECT_EQ(path({.entity = system.uuid, .reason = "r"}), "scopeEntityId");
  EXPECT_EQ(path({.reason = "r", .expires_in = Duration{0}}), "expiresIn");
  EXPECT_EQ(path({.reason = "r", .expires_at = now}), "expiresAt");
  EXPECT_EQ(path({.reason = "r", .expires_in = hours(1), .expires_at = now + hours(1)}), "expiresIn");
  EXPECT_EQ(path({.reason = "r", .selector = "resource.nam == 'x'"}), "selector");
}

TEST_F(Freezes, touch_no_target) {
  for (int i = 0; i < 50; ++i) must(UpsertResource{{fmt::format("h{}", i), "h", "Host", "v1", {}, {}}, {}});
  drain();
  freeze();
  EXPECT_LE(last.size(), 3u) << "the freeze, its event and the audit entry";
  EXPECT_FALSE(has_work(*state));
}

TEST_F(Freezes, are_forgotten_when_there_are_many_that_ended) {
  for (int i = 0; i < 1005; ++i) {
    now = now + seconds(1);
    ASSERT_TRUE(thaw(freeze()));
  }
  EXPECT_EQ(state->freezes.size(), 1000u);
  EXPECT_EQ(rows.count<Freeze>(), 1005u);
}

}  // namespace
}  // namespace ctrlplane
