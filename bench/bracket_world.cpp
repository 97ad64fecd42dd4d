#include "bench/bracket_world.h"

#include <time.h>

#include <algorithm>

namespace ctrlplane::bench {
namespace {

constexpr std::string_view kNames[kMembers] = {"drain", "os-patch", "kubelet", "containerd", "uncordon"};
// How long each takes, in seconds.
constexpr std::pair<int64_t, int64_t> kTakes[kMembers] = {
    {30, 600}, {120, 900}, {20, 120}, {20, 120}, {2, 10}};
constexpr int64_t kWindow = 24 * 3600;

constexpr std::string_view kBracket =
    R"~({"deploymentSelector":"deployment.metadata['part'] == 'node'",)~"
    R"~("readinessMode":"collection_window","readinessWindowSeconds":86400,)~"
    R"~("preHookSelector":"deployment.name == 'drain'",)~"
    R"~("postHookSelector":"deployment.name == 'uncordon'"})~";

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

ResourceInput node(size_t n) {
  ResourceInput in;
  in.identifier = in.name = fmt::format("node-{:06}", n);
  in.kind = "Node";
  in.version = "kubernetes/v1";
  in.config = Json::trusted(fmt::format(R"({{"address":"n{:06}.example.test"}})", n));
  in.metadata = {{"cluster", "one"}, {"zone", fmt::format("zone-{}", n % 3)}};
  return in;
}

UpsertPolicy::RuleInput rule(std::string type, std::string body) {
  return {.id = {}, .type = std::move(type), .body = Json::trusted(std::move(body)), .shown_created_at = {}};
}

UpsertPolicy::RuleInput comes_after(std::string_view own, std::string_view on) {
  return rule("deploymentDependency",
              fmt::format(R"({{"appliesTo":"{}","dependsOn":"{}","require":"all"}})", own, on));
}

class Upgrade {
 public:
  Upgrade(Runner& runner, const Sizes& sizes) : runner_(runner), sizes_(sizes) {}

  void run() {
    stage(Stage::kDeclare, [&] { declare(); });
    stage(Stage::kFirst, [&] {
      for (size_t m = 0; m < kMembers; ++m) publish(static_cast<Member>(m), "v1");
      runner_.work();
    });
    runner_.crew.count_anew();
    stage(Stage::kPolicy, [&] { declare_policy(); });
    stage(Stage::kCollect, [&] {
      for (Member m : {Member::kOsPatch, Member::kKubelet, Member::kContainerd}) {
        publish(m, "v2");
        runner_.pass(hours(1));
      }
    });
    stage(Stage::kLock, [&] { runner_.pass(seconds(kWindow) - hours(3) + seconds(1)); });
    stage(Stage::kUpgrade, [&] { runner_.work(); });
  }

 private:
  template <class Fn>
  void stage(Stage s, Fn fn) {
    progress("{} nodes: {}", sizes_.nodes, name_of(s));
    runner_.begins(s);
    const double cpu = cpu_seconds();
    const Stopwatch watch;
    fn();
    runner_.spent[static_cast<size_t>(s)] = {watch.seconds(), cpu_seconds() - cpu, memory().resident};
  }

  void declare() {
    const AgentId agent{runner_.call(UpsertAgent{.name = "nodes", .type = "http-pull"}).id};
    const SystemId system{runner_.call(UpsertSystem{.name = "nodes"}).id};
    const EnvironmentId environment{
        runner_.call(UpsertEnvironment{.name = "production", .resource_selector = "true"}).id};
    runner_.call(LinkEnvironment{system, environment});
    for (size_t m = 0; m < kMembers; ++m) {
      UpsertDeployment d{.name = std::string(kNames[m]), .agent_selector = "true"};
      d.resource_selector = "resource.kind == 'Node'";
      d.metadata = {{"part", "node"}};
      members_[m] = DeploymentId{runner_.call(std::move(d)).id};
      runner_.call(LinkDeployment{system, members_[m]});
    }
    runner_.crew.serve(agent, members_);
    SetProviderResources set{.provider = ProviderId{runner_.call(UpsertProvider{.name = "cluster"}).id}};
    for (size_t n = 0; n < sizes_.nodes; ++n) set.resources.push_back(node(n));
    runner_.call(std::move(set));
    runner_.pass({});
  }

  void declare_policy() {
    UpsertPolicy p{.name = "node upgrade", .selector = "true"};
    p.rules = {rule("deploymentBracket", std::string(kBracket)),
               rule("resourceConcurrency",
                    fmt::format(R"({{"groupSelector":"resource.kind == 'Node'","limitType":"percentage",)"
                                R"("limitValue":{}}})",
                                sizes_.percent)),
               comes_after("deployment.name == 'os-patch'", "deployment.name == 'drain'"),
               comes_after("deployment.name in ['kubelet', 'containerd']", "deployment.name == 'os-patch'"),
               comes_after("deployment.name == 'uncordon'", "deployment.name in ['kubelet', 'containerd']"),
               rule("retry", R"({"maxRetries":1})")};
    runner_.call(std::move(p));
    runner_.pass({});
  }

  void publish(Member m, std::string tag) {
    runner_.call(CreateVersion{.deployment = members_[static_cast<size_t>(m)], .tag = std::move(tag)});
    runner_.pass({});
  }

  Runner& runner_;
  const Sizes sizes_;
  std::array<DeploymentId, kMembers> members_;
};

}  // namespace

std::string_view name_of(Stage s) {
  switch (s) {
    case Stage::kDeclare: return "declare nodes";
    case Stage::kFirst: return "first versions, no rules";
    case Stage::kPolicy: return "declare the policy";
    case Stage::kCollect: return "three new versions";
    case Stage::kLock: return "windows close";
    case Stage::kUpgrade: return "upgrade";
  }
  return "";
}

void upgrade(Runner& runner, const Sizes& sizes) { Upgrade(runner, sizes).run(); }

// ---- Agents --------------------------------------------------------------------------------------------

void Crew::serve(AgentId agent, const std::array<DeploymentId, kMembers>& members) {
  agent_ = agent;
  members_ = members;
}

// Without rules nodes are not drained before and uncordoned after: nobody is out by that.
void Crew::count_anew() {
  tally = {};
  out_.clear();
}

Duration Crew::some(Duration least, Duration most) {
  const auto span = static_cast<uint64_t>((most - least).us);
  return least + microseconds(static_cast<int64_t>(mix64(++chance_) % (span + 1)));
}

void Crew::plan(Time at, Act act) {
  act.at = at;
  act.order = ++order_;
  acts_.push(act);
}

Act Crew::take() {
  Act act = acts_.top();
  acts_.pop();
  return act;
}

Member Crew::member_of(const Job& job) const {
  const auto at = std::find(members_.begin(), members_.end(), job.target.deployment);
  CHECK(at != members_.end(), "a job of somebody else");
  return static_cast<Member>(at - members_.begin());
}

void Crew::look(const Changes& changes, Time now) {
  for (const Change& c : changes) {
    if (const auto* job = std::get_if<Job>(&c.entity); job && job->status == JobStatus::kPending) {
      if (free_.empty()) free_.push_back(workers_++);
      plan(now + some({}, seconds(2)), {.kind = Act::Kind::kClaim, .worker = free_.back()});
      free_.pop_back();
    }
    if (const auto* slot = std::get_if<ConcurrencySlot>(&c.entity)) {
      const std::pair key(slot->rule, slot->resource);
      if (c.op == Change::Op::kPut)
        holders_.insert(key);
      else
        holders_.erase(key);
      tally.most_holders = std::max(tally.most_holders, holders_.size());
    }
  }
}

Command Crew::command_for(const Act& act) const {
  const std::string instance = fmt::format("worker-{}", act.worker);
  if (act.kind == Act::Kind::kClaim) return ClaimJob{.agent = agent_, .job = {}, .instance = instance};
  const bool ends = act.kind == Act::Kind::kEnd;
  return ReportJob{
      .job = act.job, .instance = instance, .status = ends ? JobStatus::kSuccessful : JobStatus::kInProgress};
}

void Crew::answered(const Act& act, const Reply& reply, Time now) {
  CHECK(reply, reply ? "" : reply.error().message);
  ++tally.acts[static_cast<size_t>(act.kind)];
  Act then = act;
  switch (act.kind) {
    case Act::Kind::kClaim:
      CHECK(reply->job, "there was a job, and nobody got it");
      then.kind = Act::Kind::kBegin;
      then.job = reply->job->id;
      then.member = member_of(*reply->job);
      then.node = reply->job->target.resource;
      if (then.member == Member::kDrain) out_.insert(then.node);
      tally.most_out = std::max(tally.most_out, out_.size());
      return plan(now + some({}, seconds(1)), then);
    case Act::Kind::kBegin: {
      const auto [least, most] = kTakes[static_cast<size_t>(act.member)];
      then.kind = Act::Kind::kEnd;
      return plan(now + some(seconds(least), seconds(most)), then);
    }
    case Act::Kind::kEnd:
      ++tally.jobs;
      tally.drains += act.member == Member::kDrain;
      if (act.member == Member::kUncordon) out_.erase(act.node);
      free_.push_back(act.worker);
  }
}

}  // namespace ctrlplane::bench
