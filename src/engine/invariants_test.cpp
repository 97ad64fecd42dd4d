// Random commands against the promises of the core, checked on the rows alone.
#include <gtest/gtest.h>

#include <random>

#include <fmt/core.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::difference;
using testing::id;
using testing::picture_of;
using testing::World;

// Reads the changes of each command as somebody who sees only rows.
class Watcher {
 public:
  void see(const Changes& changes) {
    ++command_;
    std::set<TargetKey> written;
    for (const Change& c : changes) {
      if (const auto* job = std::get_if<Job>(&c.entity)) see_job(*job);
      if (const auto* t = std::get_if<TargetState>(&c.entity); t && c.op == Change::Op::kErase) {
        rows_.erase(t->key);
        chains_.erase(t->key);
      } else if (t) {
        see_target(*t, changes);
        written.insert(t->key);
      }
    }
    for (const TargetKey& key : written)
      if (auto it = rows_.find(key); it != rows_.end()) see_end_of_attempt(it->second);
    // An attempt that ended after its target had gone is nobody's.
    for (auto& [id, known] : jobs_) known.counted |= !known.row.live;
    check_one_active_release();
  }
  size_t jobs() const { return jobs_.size(); }
  size_t ends = 0, successes = 0, superseded = 0;

 private:
  struct Known {
    Job row;
    size_t attempt;  // the command that made it
    bool counted = false;
  };
  struct Chain {
    std::optional<ReleaseId> release;
    int64_t attempts = 0;
  };

  void see_job(const Job& job) {
    auto it = jobs_.find(job.id);
    if (it == jobs_.end()) {
      EXPECT_EQ(job.status, JobStatus::kPending) << "a job begins as pending";
      Chain& chain = chains_[job.target];
      if (chain.release != job.release || job.cause == JobCause::kRedeploy) chain = {job.release, 0};
      jobs_[job.id] = {job, command_};
      return;
    }
    Job& before = it->second.row;
    if (is_terminal(before.status)) {
      Job same = before;
      same.live = job.live;
      EXPECT_EQ(job, same) << "terminal is final";
      EXPECT_TRUE(before.live || !job.live) << "what has left memory does not come back";
    }
    if (job.cancelled_by_engine && !before.cancelled_by_engine) {
      ++superseded;
      EXPECT_EQ(job.status, JobStatus::kCancelled);
      EXPECT_FALSE(before.handed_over_at) << "the engine cancels only what nobody has been handed";
    }
    bool handed_over = job.handed_over_at && !before.handed_over_at;
    EXPECT_TRUE(!handed_over || rows_[job.target].desired_release == job.release)
        << "handed over though not desired";
    before = job;
  }
  void see_target(const TargetState& row, const Changes& changes) {
    auto before = rows_[row.key];
    if (row.current_release && row.current_release != before.current_release) {
      ++successes;
      size_t ended = 0;
      std::set<size_t> attempts;
      for (const Change& c : changes)
        if (const auto* job = std::get_if<Job>(&c.entity); job && job->target == row.key && !job->live) {
          ++ended;
          attempts.insert(jobs_[job->id].attempt);
          EXPECT_EQ(job->status, JobStatus::kSuccessful) << "current moves only on full success";
          EXPECT_EQ(job->release, row.current_release);
        }
      EXPECT_EQ(attempts.size(), 1u);
      size_t all = 0;
      for (const auto& [id, known] : jobs_)
        all += known.row.target == row.key && attempts.contains(known.attempt) ? 1u : 0u;
      EXPECT_EQ(ended, all) << "current moved before all jobs of the attempt were successful";
    }
    rows_[row.key] = row;
  }
  // Attempts, counted again from the jobs.
  void see_end_of_attempt(const TargetState& row) {
    Chain& chain = chains_[row.key];
    std::map<size_t, std::vector<Known*>> attempts;
    for (auto& [id, known] : jobs_)
      if (known.row.target == row.key && !known.counted) attempts[known.attempt].push_back(&known);
    for (auto& [number, jobs] : attempts) {
      bool over = true, success = true, engine = false;
      for (Known* k : jobs) {
        over &= !k->row.live;
        success &= k->row.status == JobStatus::kSuccessful;
        engine |= k->row.cancelled_by_engine;
      }
      if (!over) continue;
      ++ends;
      for (Known* k : jobs) k->counted = true;
      chain.attempts = success ? 0 : chain.attempts + (engine ? 0 : 1);
    }
    EXPECT_EQ(row.attempts, chain.attempts) << "attempts of " << row.key.str();
  }
  void check_one_active_release() {
    std::map<TargetKey, size_t> active;
    for (const auto& [id, known] : jobs_)
      if (!is_terminal(known.row.status)) {
        auto [it, first] = active.emplace(known.row.target, known.attempt);
        EXPECT_EQ(it->second, known.attempt) << "two active attempts on " << known.row.target.str();
      }
  }

  size_t command_ = 0;
  std::map<JobId, Known> jobs_;
  std::map<TargetKey, TargetState> rows_;
  std::map<TargetKey, Chain> chains_;
};

class RandomCommands {
 public:
  explicit RandomCommands(uint32_t seed) : rng_(seed) {
    for (uint64_t n = 0; n < 3; ++n) {
      constexpr const char* kTypes[] = {"http-pull", "webhook", "webhook-keyed"};
      world.must(UpsertAgent{.id = id<AgentId>(n), .name = fmt::format("a{}", n), .type = kTypes[n]});
      upsert_environment(n);
      upsert_deployment(n);
      world.must(UpsertSystem{.id = id<SystemId>(n % 2), .name = "s"});
      link(n);
    }
    for (int n = 0; n < 5; ++n) upsert_resource();
  }
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(rng_() % n); }

  // Nothing: what is due happens.
  std::optional<Command> next() {
    switch (pick(30)) {
      case 0:
      case 1:
      case 2: {
        CreateVersion c{.deployment = id<DeploymentId>(pick(3)), .tag = fmt::format("v{}", ++tag_)};
        if (pick(4) == 0) c.status = VersionStatus::kBuilding;
        if (pick(6) == 0) c.created_at = world.now - seconds(pick(1000));
        return c;
      }
      case 3:
      case 4: return SetVersionStatus{any_version(), static_cast<VersionStatus>(1 + pick(5)), ""};
      case 5:
      case 6:
      case 7:
      case 8: {
        ClaimJob c{id<AgentId>(pick(2) ? 0 : pick(3)), {}, fmt::format("i{}", pick(3)), pick(2) == 0};
        if (pick(4) == 0) c.job = any_job();
        return c;
      }
      case 9:
      case 10:
      case 11:
      case 12:
      case 13:
      case 14: {
        constexpr JobStatus kReported[] = {JobStatus::kInProgress, JobStatus::kSuccessful,
                                           JobStatus::kSuccessful, JobStatus::kSuccessful,
                                           JobStatus::kFailure,    JobStatus::kActionRequired};
        return ReportJob{any_job(), pick(3) ? "" : fmt::format("i{}", pick(3)), kReported[pick(6)], "", ""};
      }
      case 15: return CancelJob{any_job()};
      case 16: return DecideJob{any_job(), pick(2) ? JobStatus::kFailure : JobStatus::kSuccessful, ""};
      case 17: return RedeployTarget{any_target()};
      case 18: return Heartbeat{fmt::format("i{}", pick(3)), {any_job(), any_job()}};
      case 19:
      case 20:
      case 21: return begin_or_finish();
      case 22: return environment(pick(3));
      case 23: return deployment(pick(3));
      case 24: return pick(3) ? Command(resource()) : Command(DeleteResource{fmt::format("r{}", pick(6))});
      case 25: return link_command();
      case 26:
        if (pick(3)) return environment(pick(3));
        return pick(2) ? Command(DeleteEnvironment{id<EnvironmentId>(pick(3))})
                       : Command(DeleteDeployment{id<DeploymentId>(pick(3))});
      case 27: return agent();
      default: return std::nullopt;
    }
  }
  void run_one() {
    world.now = world.now + seconds(pick(8) == 0 ? 200 : pick(3));
    std::optional<Idempotency> key;
    if (pick(10) == 0)
      key = Idempotency{digest_of(std::to_string(pick(20))), digest_of(std::to_string(pick(2)))};
    if (auto command = next())
      world.run(std::move(*command), key);
    else
      world.tick();
  }

  World world;

 private:
  UpsertEnvironment environment(uint64_t n) {
    UpsertEnvironment c{
        .id = id<EnvironmentId>(n), .name = fmt::format("e{}", n), .resource_selector = selector()};
    return c;
  }
  UpsertDeployment deployment(uint64_t n) {
    UpsertDeployment c{
        .id = id<DeploymentId>(n), .name = fmt::format("d{}", n), .resource_selector = selector()};
    c.agent_selector = pick(3) ? fmt::format("jobAgent.name == 'a{}'", pick(4)) : "true";
    if (pick(2)) c.job_timeout = minutes(1 + pick(20));
    return c;
  }
  UpsertResource resource() {
    std::string name = fmt::format("r{}", pick(6));
    ResourceInput in{name, name, "Host", "v1", {}, {}};
    in.metadata.set("env", pick(2) ? "prod" : "test");
    return {in, {}};
  }
  std::optional<std::string> selector() {
    if (pick(5) == 0) return std::nullopt;
    return pick(3) ? "true" : fmt::format("resource.metadata['env'] == '{}'", pick(2) ? "prod" : "test");
  }
  Command link_command() {
    SystemId s = id<SystemId>(pick(2));
    bool on = pick(4) > 0;
    if (pick(2)) return LinkDeployment{s, id<DeploymentId>(pick(3)), on};
    return LinkEnvironment{s, id<EnvironmentId>(pick(3)), on};
  }
  Command agent() {
    uint64_t n = pick(4);  // the fourth is of a kind only its owner knows
    if (pick(3) == 0) return DeleteAgent{id<AgentId>(n)};
    constexpr const char* kTypes[] = {"http-pull", "webhook", "webhook-keyed", "fax"};
    UpsertAgent c{.id = id<AgentId>(n), .name = fmt::format("a{}", n), .type = kTypes[n]};
    c.metadata.set("turn", std::to_string(pick(5)));
    return c;
  }
  std::optional<Command> begin_or_finish() {
    const auto& outbox = world.state->outbox;
    if (outbox.empty()) return std::nullopt;
    const OutboxItem& item = std::next(outbox.begin(), pick(static_cast<uint32_t>(outbox.size())))->second;
    if (item.status == OutboxStatus::kPending || pick(4) == 0) return BeginSend{item.id};
    return FinishSend{item.id, item.attempt, static_cast<SendOutcome>(pick(2) ? 0 : pick(4)), "error"};
  }
  void upsert_environment(uint64_t n) { world.must(environment(n)); }
  void upsert_deployment(uint64_t n) { world.must(deployment(n)); }
  void upsert_resource() { world.must(resource()); }
  void link(uint64_t n) {
    world.must(LinkDeployment{id<SystemId>(n % 2), id<DeploymentId>(n)});
    world.must(LinkEnvironment{id<SystemId>(0), id<EnvironmentId>(n)});
  }
  template <class Row, class Fn>
  auto any(Fn&& key) {
    std::vector<decltype(key(std::declval<Row>()))> all;
    world.rows.each<Row>([&](const Row& r) { all.push_back(key(r)); });
    // Mostly something recent: what is old has come to its end.
    size_t from = all.size() > 20 && pick(5) ? all.size() - 20 : 0;
    if (all.empty()) return decltype(key(std::declval<Row>())){};
    return all[from + pick(static_cast<uint32_t>(all.size() - from))];
  }
  // Mostly one that is alive, sometimes one that has ended.
  JobId any_job() {
    std::vector<JobId> live;
    world.state->jobs.each([&](JobIx, const JobSlot& slot) { live.push_back(slot.row.id); });
    if (!live.empty() && pick(5)) return live[pick(static_cast<uint32_t>(live.size()))];
    return any<Job>([](const Job& j) { return j.id; });
  }
  VersionId any_version() {
    return any<Version>([](const Version& v) { return v.id; });
  }
  TargetKey any_target() {
    return any<TargetState>([](const TargetState& t) { return t.key; });
  }

  std::mt19937 rng_;
  int tag_ = 0;
};

// Nothing is left that anything could still be done about: what the background audit claims.
void expect_at_rest(const World& w) {
  const State& s = *w.state;
  s.deployments.each([&](DeploymentIx, const DeploymentSlot& d) {
    for (TargetIx t : d.targets) EXPECT_TRUE(plan(s, w.now, t).empty()) << "not woken: " << s.key_of(t).str();
  });
  s.jobs.each([&](JobIx, const JobSlot& slot) {
    const Job& job = slot.row;
    if (job.status == JobStatus::kPending) {
      ASSERT_TRUE(slot.target && s.at(slot.target).exists)
          << "waits for a target that is gone: " << job.id.str();
      EXPECT_EQ(s.at(slot.target).desired_release, job.release) << "waits though superseded";
    }
    if (!is_terminal(job.status)) return;
    bool waits_for_other = false;
    s.jobs.each([&](JobIx, const JobSlot& o) {
      waits_for_other |= o.row.target == job.target && !is_terminal(o.row.status);
    });
    EXPECT_TRUE(waits_for_other) << "kept in memory for nothing: " << job.id.str();
  });
}

TEST(Engine, keeps_its_promises_under_random_commands) {
  size_t ends = 0, successes = 0, superseded = 0;
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    RandomCommands random(seed);
    Watcher watcher;
    random.world.watch = [&](const Changes& c) { watcher.see(c); };
    for (int step = 0; step < 800; ++step) {
      random.run_one();
      if (random.pick(3) == 0) random.world.drain();
      if (random.pick(150) == 0) random.world.reload();
      if (::testing::Test::HasFailure()) FAIL() << "at step " << step;
    }
    ends += watcher.ends, successes += watcher.successes, superseded += watcher.superseded;
  }
  // The run means something only if much has happened.
  EXPECT_GT(ends, 500u);
  EXPECT_GT(successes, 100u);
  EXPECT_GT(superseded, 50u);
}

TEST(Engine, misses_no_wake_up) {
  for (uint32_t seed = 100; seed < 130; ++seed) {
    SCOPED_TRACE(seed);
    RandomCommands random(seed);
    for (int step = 0; step < 500; ++step) {
      random.run_one();
      if (random.pick(4)) continue;
      random.world.drain();
      expect_at_rest(random.world);
      if (::testing::Test::HasFailure()) FAIL() << "at step " << step;
    }
  }
}

TEST(Engine, loaded_from_rows_is_what_the_changes_made) {
  for (uint32_t seed = 200; seed < 210; ++seed) {
    SCOPED_TRACE(seed);
    RandomCommands random(seed);
    for (int step = 0; step < 400; ++step) {
      random.run_one();
      if (random.pick(6)) continue;
      random.world.drain();
      auto loaded = random.world.rows.load();
      ASSERT_TRUE(loaded->settled()) << "a row without parents, at step " << step;
      ASSERT_EQ(difference(picture_of(*random.world.state), picture_of(*loaded)), "") << "at step " << step;
    }
  }
}

TEST(Engine, decides_the_same_from_the_same_inputs) {
  for (uint32_t seed = 300; seed < 308; ++seed) {
    SCOPED_TRACE(seed);
    RandomCommands random(seed);
    for (int step = 0; step < 300; ++step) {
      random.run_one();
      if (random.pick(3) == 0) random.world.drain();
      if (random.pick(6)) continue;
      auto command = random.next();
      Changes changes[2];
      for (Changes& out : changes) {
        auto state = random.world.rows.load();
        Tx tx(*state, random.world.now, random.world.uptime(), IdSource(random.world.now, 42), out);
        command ? (void)execute(tx, Request{*command}) : (void)run_due_timers(tx, 64);
        while (work(tx)) {
        }
      }
      ASSERT_EQ(changes[0], changes[1]) << "at step " << step;
    }
  }
}

}  // namespace
}  // namespace ctrlplane
