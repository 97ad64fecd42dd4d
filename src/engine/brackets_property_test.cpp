// Random brackets and limits under random events. After every command no limit is exceeded and order is
// kept; at rest nothing is left to do, which a workspace loaded anew confirms; and when people stop
// interfering everything that could move has moved.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/brackets.h"
#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::World;
using Outcome = MemberOutcome;

constexpr int kDeployments = 5, kResources = 5;
constexpr int kTooMuch = 3000;   // units of work before it rests
constexpr int kLongEnough = 60;  // rounds of twenty minutes until nothing happens any more

bool takes_part(const MemberSlot& m) { return m.row.participation != Participation::kSkipped; }
bool is_over(const MemberSlot& m) {
  return (m.row.outcome == Outcome::kSucceeded && !m.row.next_version) ||
         m.row.outcome == Outcome::kSkipped || m.row.outcome == Outcome::kAborted ||
         m.row.outcome == Outcome::kRolledBack;
}

class Life : public World {
 public:
  explicit Life(uint64_t seed) : random_(seed) {
    agent = AgentId{must(UpsertAgent{.name = "agent", .type = "http-pull"})};
    system = SystemId{must(UpsertSystem{.name = "system"})};
    environment = EnvironmentId{must(UpsertEnvironment{.name = "env", .resource_selector = "true"})};
    must(LinkEnvironment{system, environment});
    for (int i = 0; i < kDeployments; ++i) {
      UpsertDeployment c{
          .name = fmt::format("d{}", i), .resource_selector = "true", .agent_selector = "true"};
      deployments_.push_back(DeploymentId{must(c)});
      must(LinkDeployment{system, deployments_.back()});
    }
    for (int i = 0; i < kResources; ++i) put_resource(i);
    put_policy(0);
    put_policy(1);
    drain();
    watch = [this](const Changes& changes) { see(changes); };
  }

  std::string step() {
    std::string what = one_event();
    rest();
    return what;
  }

  // What was wrong since the last time; empty: nothing.
  std::string check() {
    state->groups.each([&](GroupIx g, const GroupSlot& group) {
      if (group.row.status == GroupStatus::kReady && !start_blocker(*state, now, g))
        wrong_ += fmt::format("group {} is ready, and nothing keeps it\n", group.row.id.str());
    });
    check_that_it_rests();
    return std::exchange(wrong_, {});
  }

  // People leave it alone, nothing fails, time goes by.
  void settle() {
    for (FreezeId f : std::exchange(freezes_, {}))
      (void)run(ThawFreeze{.id = f, .reason = "over", .rights = {true, true, true}});
    rest();
    for (int quiet = 0, i = 0; quiet < 3; ++i) {
      const bool worked = end_all_jobs();
      go_by(minutes(20));
      quiet = worked || state->jobs.size() > 0 ? 0 : quiet + 1;
      if (i == kLongEnough) {
        wrong_ += fmt::format("it does not come to rest: {} jobs\n", state->jobs.size());
        return;
      }
    }
    state->groups.each([&](GroupIx g, const GroupSlot& group) {
      const GroupStatus s = group.row.status;
      if (s == GroupStatus::kExecuting || s == GroupStatus::kCollecting)
        wrong_ += fmt::format("group {} is {} for ever\n", group.row.id.str(), to_string(s));
      if (s == GroupStatus::kReady && !start_blocker(*state, now, g))
        wrong_ += fmt::format("group {} is ready for ever\n", group.row.id.str());
      if (s == GroupStatus::kQueued && others_of(group).empty())
        wrong_ += fmt::format("group {} is queued behind nobody\n", group.row.id.str());
    });
    for (const auto& [rule, of] : state->all_holders())
      for (const auto& [resource, slot] : of)
        if (!state->slot_in_use(slot)) wrong_ += fmt::format("slot {} is left over\n", resource.str());
  }

  // Every group there is, for who has to find out.
  std::string groups() const {
    std::string all;
    state->groups.each([&](GroupIx g, const GroupSlot& group) {
      const auto wait = group.resource && group.row.ready_at && !group.row.ended()
                            ? start_blocker(*state, now, g)
                            : std::nullopt;
      all += fmt::format("{} on {}: {} {} {}, waits: {}\n", group.row.id.str(), group.row.resource.str(),
                         to_string(group.row.status), to_string(group.row.course), group.row.note,
                         wait ? wait->why : "");
      for (const MemberSlot& m : group.members)
        all += fmt::format("  {} {} {} {} {}{}\n", name_of(m.row.deployment), to_string(m.row.role),
                           to_string(m.row.participation), to_string(m.row.outcome),
                           m.version ? state->versions[m.version].row.tag : "-",
                           m.row.next_version ? " and another" : "");
    });
    return all;
  }

  size_t started = 0, granted = 0, completed = 0, failed = 0;

 private:
  // ---- After every command -----------------------------------------------------------------------------

  void see(const Changes& changes) {
    std::map<RuleId, int64_t> gained;
    for (const Change& c : changes) {
      if (const auto* job = std::get_if<Job>(&c.entity)) see_job(*job);
      if (const auto* g = std::get_if<BracketGroup>(&c.entity); g && !g->retired) {
        completed += g->status == GroupStatus::kCompleted;
        failed += g->status == GroupStatus::kFailed;
        started += g->started_at == now && g->status == GroupStatus::kExecuting;
      }
      if (const auto* slot = std::get_if<ConcurrencySlot>(&c.entity)) {
        if (c.op == Change::Op::kErase)
          --gained[slot->rule];
        else if (!held_.contains({slot->rule, slot->resource}))
          ++gained[slot->rule];
        c.op == Change::Op::kPut ? (void)held_.insert({slot->rule, slot->resource})
                                 : (void)held_.erase({slot->rule, slot->resource});
      }
    }
    for (const auto& [rule, by] : gained) see_holders(rule, by);
    see_groups();
    see_slots_of_jobs();
  }

  void see_holders(RuleId rule, int64_t gained) {
    const auto holders = static_cast<int64_t>(state->holders(rule).size());
    granted += gained > 0;
    if (gained > 0 && holders > policy::slots_of(*state, rule))
      wrong_ += fmt::format("{} hold a slot of {}\n", holders, policy::slots_of(*state, rule));
  }

  void see_job(const Job& job) {
    if (!jobs_.insert(job.id).second || !job.group) return;
    const GroupSlot& group = state->groups[state->groups.find(*job.group)];
    const MemberSlot& m = *group.member(job.target.deployment);
    if (job.cause == JobCause::kRollback) return;
    const VersionIx v = state->versions.find(job.version);
    if (m.version != v) wrong_ += fmt::format("job {} is not of the lock\n", job.id.str());
    for (const MemberSlot& o : group.members) {
      if (&o == &m || !takes_part(o) || is_over(o)) continue;
      const bool needs = std::any_of(
          m.row.depends_on.begin(), m.row.depends_on.end(),
          [&](const MemberEdge& e) { return e.on == o.row.deployment && !is_skipped(e.rule, v); });
      const bool behind = m.row.role != MemberRole::kPreHook && o.row.role == MemberRole::kPreHook;
      const bool closes = m.row.role == MemberRole::kPostHook && o.row.role == MemberRole::kWork &&
                          o.row.outcome != Outcome::kFailed;
      const bool winds_down = group.row.course == GroupCourse::kWindDown;
      if (behind || closes || (needs && !winds_down))
        wrong_ += fmt::format("job {} started before its turn\n", job.id.str());
      const bool needed = std::any_of(
          o.row.depends_on.begin(), o.row.depends_on.end(),
          [&](const MemberEdge& e) { return e.on == m.row.deployment && !is_skipped(e.rule, o.version); });
      // One that was called off in the same breath, because the group turned back, was beside nobody.
      if (needed && o.row.outcome == Outcome::kRunning && state->jobs.find(job.id))
        wrong_ += fmt::format("job {} of {} started beside {}, which depends on it\n", job.id.str(),
                              name_of(m.row.deployment), name_of(o.row.deployment));
    }
    if (m.row.role == MemberRole::kPreHook && m.row.outcome == Outcome::kSucceeded)
      wrong_ += fmt::format("job {} repeats a pre-hook\n", job.id.str());
  }

  bool is_skipped(RuleId rule, VersionIx v) const {
    const auto& skips = state->versions[v].skips;
    return std::any_of(skips.begin(), skips.end(), [&](const PolicySkip& s) { return s.rule == rule; });
  }

  std::vector<GroupId> others_of(const GroupSlot& group) const {
    std::vector<GroupId> all;
    state->groups.each([&](GroupIx, const GroupSlot& o) {
      if (o.row.rule == group.row.rule && o.row.resource == group.row.resource && o.row.id != group.row.id &&
          !o.row.ended())
        all.push_back(o.row.id);
    });
    return all;
  }

  void see_groups() {
    std::map<std::tuple<RuleId, ResourceId, bool>, int> count;
    state->groups.each([&](GroupIx, const GroupSlot& g) {
      if (!g.row.active() && g.row.status != GroupStatus::kCollecting) return;
      if (++count[{g.row.rule, g.row.resource, g.row.active()}] > 1)
        wrong_ += fmt::format("two groups at once: {}\n", g.row.id.str());
    });
  }

  void see_slots_of_jobs() {
    state->jobs.each([&](JobIx, const JobSlot& job) {
      for (RuleId rule : job.row.slots)
        if (!state->holds_slot(rule, job.row.target.resource))
          wrong_ += fmt::format("job {} has lost its slot\n", job.row.id.str());
    });
  }

  void rest() {
    for (int i = 0; has_work(*state); ++i) {
      if (i == kTooMuch) {
        wrong_ += "the engine does not come to rest\n";
        return;
      }
      transact([](Tx& tx) { return work(tx); });
    }
  }
  void go_by(Duration d) {
    now = now + d;
    for (auto next = state->timers.next(); next && *next <= now; next = state->timers.next()) tick();
    for (auto lease = state->lease_timers.next(); lease && *lease <= uptime();
         lease = state->lease_timers.next())
      tick();
    rest();
  }

  // Who waits for slots in which order is memory only: whoever comes later may not be asked first.
  void keep_places(State& fresh) const {
    for (const auto& [rule, line] : state->lines())
      for (const LineKey& place : line.order())
        for (TargetIx t : line.find(place.resource)->targets)
          if (TargetIx same = fresh.target(state->key_of(t))) fresh.wait_in_line(rule, place, same);
  }

  // A workspace that comes from its rows looks at everything once.
  void check_that_it_rests() {
    std::unique_ptr<State> fresh = rows.load();
    keep_places(*fresh);
    Changes changes;
    for (int i = 0; has_work(*fresh) && i < kTooMuch; ++i) {
      Tx tx(*fresh, now, uptime(), IdSource(now, mix64(static_cast<uint64_t>(i))), changes);
      work(tx);
    }
    for (const Change& c : changes) wrong_ += what_was_left(c);
  }

  // Locks that go into a group which waits as well move nobody, nor does another order of those who wait.
  std::string what_was_left(const Change& c) {
    if (const auto* job = std::get_if<Job>(&c.entity))
      return fmt::format("a job of {} was left to make\n", name_of(job->target.deployment));
    if (const auto* slot = std::get_if<ConcurrencySlot>(&c.entity))
      return fmt::format("a slot on {} was left\n", slot->resource.str());
    const auto* g = std::get_if<BracketGroup>(&c.entity);
    if (!g || g->merged_into || g->retired) return {};
    const GroupIx known = state->groups.find(g->id);
    const bool waits = g->status == GroupStatus::kReady || g->status == GroupStatus::kQueued;
    if (known && (waits || state->groups[known].row.status == g->status)) return {};
    return fmt::format("group {} on {} was left to become {} ({}) {}\n", g->id.str(), g->resource.str(),
                       to_string(g->status), known ? to_string(state->groups[known].row.status) : "it is new",
                       g->note);
  }

  std::string name_of(DeploymentId d) const {
    return state->deployments[state->deployments.find(d)].row.name;
  }

  // ---- What happens ------------------------------------------------------------------------------------

  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool chance(int percent) { return below(100) < static_cast<size_t>(percent); }
  template <class List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }

  void put_resource(int i) {
    std::string identifier = fmt::format("r{}", i);
    ResourceInput in{identifier, identifier, "Host", "v1", {}, {}};
    if (chance(80)) in.metadata.set("ring", chance(60) ? "a" : "b");
    must(UpsertResource{in, {}});
  }

  static UpsertPolicy::RuleInput rule(std::string type, const std::string& body) {
    return {.id = {}, .type = std::move(type), .body = Json::parse_object("{" + body + "}").value()};
  }
  UpsertPolicy::RuleInput a_limit() {
    constexpr std::string_view groups[] = {"true", "resource.metadata['ring'] == 'a'"};
    const bool count = chance(60);
    return rule("resourceConcurrency",
                fmt::format(R"~("groupSelector":"{}","limitType":"{}","limitValue":{})~", one_of(groups),
                            count ? "count" : "percentage", count ? 1 + below(3) : 5 + below(60)));
  }
  UpsertPolicy::RuleInput a_bracket() {
    constexpr std::string_view modes[] = {"collection_window", "wait_for_all", "immediate"};
    constexpr std::string_view unchanged[] = {"skip_unchanged", "redeploy_current"};
    constexpr std::string_view rollback[] = {"all_members", "individual", "halt_and_notify"};
    std::string body = fmt::format(
        R"~("readinessMode":"{}","readinessWindowSeconds":{},"unchangedMemberStrategy":"{}",)~"
        R"~("overlapStrategy":"{}","rollbackStrategy":"{}","deploymentSelector":"true")~",
        one_of(modes), below(900), one_of(unchanged), chance(50) ? "merge" : "queue", one_of(rollback));
    if (chance(50)) body += fmt::format(R"~(,"stuckTimeoutSeconds":{})~", 60 + below(3000));
    if (chance(50))
      body +=
          R"~(,"preHookSelector":"deployment.name == 'd0'","postHookSelector":"deployment.name == 'd4'")~";
    return rule("deploymentBracket", body);
  }
  void put_policy(size_t i) {
    UpsertPolicy c{.name = fmt::format("p{}", i), .selector = "true"};
    if (chance(20)) c.selector = "resource.metadata['ring'] == 'a'";
    if (policies_.contains(i)) c.id = policies_[i];
    c.enabled = chance(92);
    if (i == 0) {
      c.rules.push_back(a_bracket());
      add_order(c);
    }
    if (i != 0 || chance(30)) c.rules.push_back(a_limit());
    if (i == 2) c.rules.push_back(rule("anyApproval", R"~("minApprovals":1)~"));
    policies_[i] = PolicyId{must(c)};
  }
  void add_order(UpsertPolicy& c) {
    for (int i = 1; i < kDeployments; ++i) {
      std::vector<std::string> on;
      for (int j = 0; j < i; ++j)
        if (j == 0 || i == kDeployments - 1 || chance(40)) on.push_back(fmt::format("'d{}'", j));
      c.rules.push_back(
          rule("deploymentDependency", fmt::format(R"~("dependsOn":"deployment.name in [{}]",)~"
                                                   R"~("appliesTo":"deployment.name == 'd{}'")~",
                                                   fmt::join(on, ", "), i)));
    }
    if (chance(50)) c.rules.push_back(rule("retry", R"~("maxRetries":1,"backoffSeconds":120)~"));
    if (chance(50)) c.rules.push_back(rule("rollback", ""));
  }

  std::string publish_one() {
    now = now + seconds(1);
    CreateVersion c{.deployment = one_of(deployments_), .tag = fmt::format("v{}", ++tags_)};
    c.bypass_freeze = chance(10);
    if (chance(20))
      c.target_selector = chance(70) ? "resource.metadata['ring'] == 'a'" : "resource.name != 'r1'";
    versions_.push_back(VersionId{must(c)});
    return "publish " + c.tag;
  }
  std::string end_a_job(int percent) {
    const std::string instance = fmt::format("i{}", ++claims_);
    Reply r = run(ClaimJob{agent, {}, instance, false});
    if (!r || !r->job) return "no job";
    const JobStatus status = chance(percent) ? JobStatus::kSuccessful : JobStatus::kFailure;
    EXPECT_TRUE(run(ReportJob{r->job->id, instance, status, "", ""}));
    return fmt::format("a job ends as {}", to_string(status));
  }
  bool end_all_jobs() {
    bool any = false;
    for (int i = 0; i < 1000; ++i) {
      if (end_a_job(100) == "no job") break;
      rest();
      any = true;
    }
    return any;
  }
  std::string act() {
    std::vector<GroupId> ids;
    state->groups.each([&](GroupIx, const GroupSlot& g) { ids.push_back(g.row.id); });
    if (ids.empty()) return "no group";
    ActOnGroup c{.group = one_of(ids), .action = static_cast<GroupAction>(below(6))};
    if (chance(60)) c.deployment = one_of(deployments_);
    c.relock = chance(50);
    c.run_post_hooks = chance(50);
    if (c.action == GroupAction::kAbort && chance(50)) c.action = GroupAction::kRetry;
    const bool done = run(c).has_value();
    return fmt::format("action {}{}", static_cast<int>(c.action), done ? "" : " refused");
  }
  std::string freeze() {
    if (!freezes_.empty() && chance(60)) {
      (void)run(ThawFreeze{.id = freezes_.back(), .reason = "over", .rights = {true, true, true}});
      freezes_.pop_back();
      return "thaw";
    }
    CreateFreeze c{.scope = FreezeScope::kDeployment, .entity = one_of(deployments_).uuid, .reason = "no"};
    if (chance(40)) c.scope = FreezeScope::kWorkspace, c.entity = {};
    constexpr InFlight kinds[] = {InFlight::kFinishJobs, InFlight::kFinishBrackets, InFlight::kCancel};
    c.in_flight = one_of(kinds);
    freezes_.push_back(FreezeId{must(c)});
    return "freeze";
  }
  std::string touch_a_target() {
    std::vector<TargetKey> keys;
    state->deployments.each([&](DeploymentIx, const DeploymentSlot& d) {
      for (TargetIx t : d.targets)
        if (state->at(t).exists) keys.push_back(state->key_of(t));
    });
    if (keys.empty() || versions_.empty()) return "no target";
    const TargetKey key = one_of(keys);
    if (chance(50)) return (void)run(RedeployTarget{key}), "redeploy";
    return (void)run(ForceDeploy{key, one_of(versions_), "", chance(50)}), "force";
  }
  std::string edit() {
    const size_t n = below(10);
    if (n < 4) return put_policy(below(3)), "policy";
    if (n < 7) return put_resource(static_cast<int>(below(kResources))), "resource";
    if (n < 8) return (void)run(DeleteResource{fmt::format("r{}", below(kResources))}), "no resource";
    UpsertDeployment c{.id = one_of(deployments_), .agent_selector = "true"};
    c.name = state->deployments[state->deployments.find(*c.id)].row.name;
    c.resource_selector = chance(70) ? "true" : "resource.metadata['ring'] == 'b'";
    return must(c), "deployment";
  }
  std::string say() {
    if (versions_.empty()) return "nothing to say";
    const VersionId v = versions_[versions_.size() - 1 - below(std::min<size_t>(versions_.size(), 6))];
    if (chance(40)) return must(SetApproval{.version = v}), "approval";
    const VersionStatus s = chance(60) ? VersionStatus::kReady : VersionStatus::kRejected;
    return must(SetVersionStatus{v, s, ""}), "status";
  }
  std::string one_event() {
    const size_t n = below(100);
    if (n < 16) return publish_one();
    if (n < 50) return end_a_job(80);
    if (n < 64) return go_by(seconds(static_cast<int64_t>(10 + below(900)))), "time";
    if (n < 76) return act();
    if (n < 82) return freeze();
    if (n < 87) return edit();
    if (n < 93) return touch_a_target();
    if (n < 95) return reload(), "restart";
    return say();
  }

  std::mt19937_64 random_;
  std::vector<DeploymentId> deployments_;
  std::map<size_t, PolicyId> policies_;
  std::vector<VersionId> versions_;
  std::vector<FreezeId> freezes_;
  std::set<JobId> jobs_;
  std::set<std::pair<RuleId, ResourceId>> held_;
  std::string wrong_;
  int tags_ = 0, claims_ = 0;
};

TEST(BracketsProperty, limits_hold_order_is_kept_and_nothing_waits_that_could_move) {
  // More of them: CTRLPLANE_LIVES=1000; one of them again: CTRLPLANE_LIVES=265..265.
  const char* wanted = std::getenv("CTRLPLANE_LIVES");
  const std::string range = wanted ? wanted : "12";
  const size_t dots = range.find("..");
  const uint64_t first = dots == std::string::npos ? 1 : std::stoull(range);
  const uint64_t last = std::stoull(dots == std::string::npos ? range : range.substr(dots + 2));
  const uint64_t lives = last - first + 1;
  constexpr int kSteps = 150;
  size_t started = 0, granted = 0, completed = 0, failed = 0;
  for (uint64_t seed = first; seed <= last; ++seed) {
    Life life(seed);
    std::string story;
    for (int i = 0; i < kSteps; ++i) {
      story += fmt::format("{} {}; ", i, life.step());
      const std::string wrong = life.check();
      ASSERT_EQ(wrong, "") << "seed " << seed << ": " << story << "\n" << life.groups();
    }
    life.settle();
    ASSERT_EQ(life.check(), "") << "seed " << seed << ", settled: " << story << "\n" << life.groups();
    started += life.started, granted += life.granted, completed += life.completed, failed += life.failed;
  }
  EXPECT_GT(started, lives);
  EXPECT_GT(granted, lives);
  EXPECT_GT(completed, lives / 2);
  EXPECT_GT(failed, lives / 4);
}

}  // namespace
}  // namespace ctrlplane
