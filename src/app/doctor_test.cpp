// What the doctor says of a store: nothing of a healthy one, and the right thing of each that is not.
#include "app/doctor.h"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include "app/backup_verb.h"
#include "app/doctor_store.h"
#include "app/doctor_verb.h"
#include "app/doctor_workspace.h"
#include "engine/testing.h"
#include "store/sim/sim_store.h"

namespace ctrlplane::app {
namespace {

using testing::World;

// A workspace that the engine made, and a store with its rows.
class Patient : public World {
 public:
  Patient() { one_target(); }

  // The rows so far, as one commit.
  void store_all() {
    Changes changes;
    auto put = [&](const auto& row) { changes.push_back(Change::put(row)); };
    rows.each<System>(put), rows.each<Environment>(put), rows.each<Deployment>(put);
    rows.each<SystemDeployment>(put), rows.each<SystemEnvironment>(put), rows.each<Version>(put);
    rows.each<Resource>(put), rows.each<JobAgent>(put), rows.each<Release>(put);
    rows.each<TargetState>(put), rows.each<Job>(put), rows.each<ContextPart>(put);
    rows.each<OutboxItem>(put);
    commit(std::move(changes));
  }
  void commit(Changes changes) {
    if (seq_ == 0) {
      ASSERT_TRUE(db.acquire({}, {}, {}, token_));
    }
    store::Commit c{.token = token_, .seq = ++seq_, .now = now, .changes = std::move(changes)};
    ASSERT_EQ(db.commit(std::span(&c, 1)).front(), store::CommitOutcome::kDurable);
  }
  WorkspaceHealth look() {
    auto health = examine(db, {}, now);
    EXPECT_TRUE(health) << health.error().message;
    return health ? *health : WorkspaceHealth{};
  }
  // The only thing that is broken, with how often.
  std::string broken() {
    std::string out;
    for (const Broken& b : look().broken) out += fmt::format("{} {};", b.count, b.what);
    return out;
  }

  store::SimStore db;

 private:
  store::Token token_{Uuid::from_halves(1, 1)};
  int64_t seq_ = 0;
};

TEST(Doctor, finds_nothing_in_what_the_engine_leaves_behind) {
  Patient p;
  p.publish("v1");
  p.finish(JobStatus::kSuccessful);
  p.publish("v2");
  ASSERT_TRUE(p.claim());
  p.store_all();
  WorkspaceHealth health = p.look();
  EXPECT_EQ(health.targets, 1u);
  EXPECT_EQ(health.live_jobs, 1u);
  EXPECT_EQ(health.versions, 2u);
  EXPECT_TRUE(health.due.empty()) << health.due.begin()->first << " " << health.due.begin()->second;
  EXPECT_TRUE(health.broken.empty()) << health.broken.front().what;
  EXPECT_FALSE(health.rows_without_parents);
}

TEST(Doctor, sees_a_version_that_is_gone) {
  Patient p;
  const VersionId v = p.publish("v1");
  p.finish(JobStatus::kSuccessful);
  p.store_all();
  p.commit({Change::erase(Version{.id = v})});
  EXPECT_EQ(p.broken(),
            "1 targets whose current version is not there;1 targets whose desired version is not there;");
}

TEST(Doctor, sees_a_release_that_is_gone) {
  Patient p;
  p.publish("v1");
  p.finish(JobStatus::kSuccessful);
  p.store_all();
  p.commit({Change::erase(Release{.id = p.target().current_release.value()})});
  EXPECT_EQ(p.broken(),
            "1 targets whose current release is not there;1 targets whose last release is not there;");
}

TEST(Doctor, sees_a_live_job_without_its_agent) {
  Patient p;
  p.publish("v1");
  p.store_all();
  p.commit({Change::erase(JobAgent{.id = p.agent})});
  EXPECT_EQ(p.broken(), "1 live jobs whose agent is not there;");
}

TEST(Doctor, sees_a_live_job_without_its_context) {
  Patient p;
  p.publish("v1");
  p.store_all();
  p.commit({Change::erase(ContextPart{.digest = p.only_job()->resource_part})});
  EXPECT_EQ(p.broken(), "1 live jobs whose context is not there;");
}

TEST(Doctor, sees_two_active_releases_on_one_target) {
  Patient p;
  p.publish("v1");
  p.store_all();
  Job second = p.only_job().value();
  second.id = JobId{Uuid::from_halves(9, 9)};
  second.release = ReleaseId{Uuid::from_halves(9, 8)};
  p.commit(
      {Change::put(second), Change::put(Release{second.release, second.target, second.version, {}, {}})});
  EXPECT_EQ(p.broken(), "1 targets with two active releases;");
}

TEST(Doctor, sees_decisions_that_were_not_made) {
  Patient p;
  const VersionId v = p.publish("v1", VersionStatus::kBuilding);
  p.store_all();
  EXPECT_TRUE(p.look().due.empty());
  Version ready = p.state->versions[p.state->versions.find(v)].row;
  ready.status = VersionStatus::kReady;
  p.commit({Change::put(ready)});
  EXPECT_EQ(p.look().due, (std::map<std::string, std::string>{{"app/env/host", "starts a job of v1"}}));
}

TEST(Doctor, a_decision_that_stays_due_is_a_problem_only_where_nobody_is_late) {
  WorkspaceHealth before, after;
  before.owner.seq = after.owner.seq = 7;
  before.due = {{"app/env/host", "starts a job"}, {"app/env/other", "desires v1"}};
  after.due = {{"app/env/host", "starts a job"}};
  auto health = [&](const Servers& servers, const WorkspaceHealth* again) {
    Health worst = Health::kOk;
    for (const Finding& f : judge_workspace("acme", before, again, servers))
      worst = std::max(worst, f.health);
    return worst;
  };
  const Servers running{.one_file = true, .running = true}, none{.one_file = true};
  EXPECT_EQ(health(running, &after), Health::kProblem);
  EXPECT_EQ(health(none, &after), Health::kOk) << "the next start makes it";
  EXPECT_EQ(health(running, nullptr), Health::kOk);
  after.owner.seq = 8;
  EXPECT_EQ(health(running, &after), Health::kWarning) << "it is at work";
  after.due.clear();
  EXPECT_EQ(health(running, &after), Health::kOk);
}

TEST(Doctor, a_replica_lives_whose_beat_goes_on) {
  auto replica = [](uint64_t n, int64_t beat) {
    return store::Replica{.id = {Uuid::from_halves(1, n)}, .address = fmt::format("host{}", n), .beat = beat};
  };
  const Servers s =
      compare_beats({replica(1, 5), replica(2, 9)}, {replica(1, 6), replica(2, 9), replica(3, 1)});
  EXPECT_TRUE(s.running);
  EXPECT_EQ(s.silent, 1u);
  EXPECT_TRUE(s.alive.contains(replica(1, 0).id) && s.alive.contains(replica(3, 0).id));
  WorkspaceHealth owned_by_the_dead;
  owned_by_the_dead.owner.replica = replica(2, 0).id;
  EXPECT_EQ(judge_workspace("acme", owned_by_the_dead, nullptr, s).front().health, Health::kWarning);
  EXPECT_FALSE(compare_beats({replica(2, 9)}, {replica(2, 9)}).running);
}

TEST(Doctor, judges_schemas) {
  EXPECT_EQ(judge_schema(3, 3, 3).health, Health::kOk);
  EXPECT_EQ(judge_schema(4, 3, 3).health, Health::kOk) << "an upgrade is rolling";
  EXPECT_EQ(judge_schema(4, 4, 3).health, Health::kProblem);
  EXPECT_EQ(judge_schema(2, 2, 3).health, Health::kWarning);
  EXPECT_EQ(judge_schema(0, 0, 3).health, Health::kProblem);
}

TEST(Doctor, judges_disks) {
  constexpr int64_t kGigabyte = 1'000'000'000;
  EXPECT_EQ(judge_disk(20 * kGigabyte, kGigabyte, 0).health, Health::kOk);
  EXPECT_EQ(judge_disk(20 * kGigabyte, 30 * kGigabyte, 0).health, Health::kWarning) << "no room for a copy";
  EXPECT_EQ(judge_disk(20 * kGigabyte, kGigabyte, 5 * kGigabyte).health, Health::kWarning) << "a long log";
  EXPECT_EQ(judge_disk(kGigabyte / 10, kGigabyte / 100, 0).health, Health::kProblem);
}

TEST(Doctor, judges_settings_of_postgresql) {
  const PostgresSettings good{.fsync = "on",
                              .synchronous_commit = "on",
                              .full_page_writes = "on",
                              .encoding = "UTF8",
                              .standby_names = "ANY 1 (b, c)",
                              .standbys = 2,
                              .synchronous = 2,
                              .connections_left = 50};
  auto worst = [](const PostgresSettings& s) {
    Health w = Health::kOk;
    for (const Finding& f : judge_settings(s)) w = std::max(w, f.health);
    return w;
  };
  auto but = [&](auto&& change) {
    PostgresSettings s = good;
    change(s);
    return worst(s);
  };
  EXPECT_EQ(worst(good), Health::kOk);
  EXPECT_EQ(but([](auto& s) { s.fsync = "off"; }), Health::kProblem);
  EXPECT_EQ(but([](auto& s) { s.synchronous_commit = "local"; }), Health::kProblem);
  EXPECT_EQ(but([](auto& s) { s.full_page_writes = "off"; }), Health::kProblem);
  EXPECT_EQ(but([](auto& s) { s.encoding = "SQL_ASCII"; }), Health::kProblem);
  EXPECT_EQ(but([](auto& s) { s.read_only = true; }), Health::kProblem);
  EXPECT_EQ(but([](auto& s) { s.standby_names = ""; }), Health::kWarning);
  EXPECT_EQ(but([](auto& s) { s.synchronous = 0; }), Health::kProblem) << "commits hang";
  EXPECT_EQ(but([](auto& s) { s.synchronous = 0, s.hidden = 2; }), Health::kOk) << "it cannot be seen";
  EXPECT_EQ(but([](auto& s) { s.connections_left = 3; }), Health::kWarning);
}

TEST(Doctor, a_name_that_is_no_database_is_a_problem) {
  SystemClock clock;
  for (const char* name : {"nonsense", "sqlite:", "sqlite:/no/such/file.db"}) {
    const Diagnosis d = diagnose({.database = name}, clock, [](Duration) {});
    EXPECT_FALSE(d.healthy()) << name;
    EXPECT_EQ(d.findings.front().check, "database");
  }
}

TEST(Doctor, tells_problems_with_what_to_do) {
  Diagnosis d;
  d.add({Health::kOk, "schema", "version 3"});
  d.add({Health::kWarning, "disk", "little", "Make room."});
  EXPECT_TRUE(d.healthy());
  EXPECT_EQ(diagnosis_text(d),
            "ok       schema  version 3\n"
            "warning  disk    little\n"
            "                 -> Make room.\n"
            "\nhealthy, 1 warning\n");
  d.add({Health::kProblem, "workspace x\x1b", "bad"});
  EXPECT_FALSE(d.healthy());
  EXPECT_NE(diagnosis_text(d).find("problem  workspace x?  bad"), std::string::npos);
  EXPECT_TRUE(diagnosis_text(d).ends_with("\n1 problem, 1 warning\n"));
}

TEST(Backup, the_command_for_postgresql_has_no_password_in_it) {
  EXPECT_EQ(pg_dump_command("postgresql://me:secret@db/x", "a'b"),
            R"(pg_dump --format=custom --file='a'\''b' --dbname='postgresql://me@db/x')");
  EXPECT_EQ(pg_dump_command("host=db password=secret", "f"),
            "pg_dump --format=custom --file='f' --dbname='host=db '");
}

}  // namespace
}  // namespace ctrlplane::app
