#include "bench/freeze_world.h"

#include "engine/freeze_impact.h"
#include "model/json_writer.h"

namespace ctrlplane::bench {
namespace {

constexpr int kWarmUp = 400;  // commits until the log of a new file has grown to the size it keeps
constexpr size_t kRest = 5;   // ms after which an agent that got nothing asks again

std::string jobs_in_flight(const State& state, FreezeId id) {
  const FreezeIx f = state.freezes.find(id);
  CHECK(f, "a freeze was made that is not there");
  const FreezeOutline outline = must(FreezeOutline::of(state.freezes[f].row));
  JsonWriter w;
  w.open_array();
  for (JobIx j : jobs_in_flight_under(state, outline)) {
    const Job& job = state.jobs[j].row;
    w.open().member("id", job.id).member("status", to_string(job.status));
    w.member("releaseTargetKey", job.target.str()).member("versionId", job.version);
    w.member("jobAgentId", job.agent).close();
  }
  return w.close_array().take();
}

}  // namespace

// ---- The world -----------------------------------------------------------------------------------------

FreezeWorld::FreezeWorld(store::Store& store, Fleet f) : engine(store, f.workspace), fleet(std::move(f)) {
  engine.start(fleet.token);
  provider = ProviderId{engine.call(UpsertProvider{.name = "clouds"}).id};
  const std::string selector = "resource.kind == 'Bystander'";
  const SystemId system{engine.call(UpsertSystem{.name = "bystanders"}).id};
  const EnvironmentId environment{
      engine.call(UpsertEnvironment{.name = "bystanders", .resource_selector = selector}).id};
  UpsertDeployment d{.name = "bystander", .resource_selector = selector, .agent_selector = "true"};
  bystander = DeploymentId{engine.call(d).id};
  engine.call(LinkDeployment{system, bystander});
  engine.call(LinkEnvironment{system, environment});
  engine.call(UpsertResource{.resource = {"bystander", "bystander", "Bystander", "v1", {}, {}}});
  engine.wait_until_idle();
  CHECK(engine.stats().decisions > 0, "nothing was decided");
}

void FreezeWorld::publish(DeploymentId d, bool exempt) {
  CreateVersion c{.deployment = d, .tag = fmt::format("p{}", ++published_)};
  c.bypass_freeze = exempt;
  engine.call(std::move(c));
}

void FreezeWorld::freeze(CreateFreeze command, ReplyFn done) {
  Request request{.command = std::move(command), .actor = "bench"};
  request.render = [](const State& state, Time, const Answer& a) {
    return jobs_in_flight(state, FreezeId{a.id});
  };
  engine.on_loop([&](WorkspaceLoop& loop) { loop.submit(std::move(request), std::move(done)); });
}

FreezeId FreezeWorld::freeze(CreateFreeze command) {
  std::promise<Reply> promise;
  freeze(std::move(command), [&](Reply reply) { promise.set_value(std::move(reply)); });
  return FreezeId{must(promise.get_future().get()).id};
}

void FreezeWorld::thaw(FreezeId id) {
  engine.call(ThawFreeze{.id = id, .reason = "over", .rights = {.extend = true, .thaw = true}});
}

void FreezeWorld::set_resources(size_t n, ReplyFn done) {
  SetProviderResources set{.provider = provider};
  const std::string label = std::to_string(++sets_);
  for (size_t i = 0; i < n; ++i) {
    set.resources.push_back(resource_input(i));
    set.resources.back().metadata.set("set", label);
  }
  engine.submit(std::move(set), std::move(done));
}

void FreezeWorld::edit_policy(size_t deployments) {
  UpsertPolicy p{.id = policy_, .name = "tags"};
  p.selector = fmt::format("deployment.name < 'app-{:03}'", deployments);
  p.rules.push_back(
      {.type = "versionSelector",
       .body = Json::trusted(fmt::format(R"({{"selector":"version.tag != 'no-such-tag-{}'"}})", ++edits_))});
  policy_ = PolicyId{engine.call(std::move(p)).id};
}

// ---- The load ------------------------------------------------------------------------------------------

JobLoad::JobLoad(FreezeWorld& world, size_t agents, size_t first)
    : world_(world), next_(first), resting_(agents), thread_([this] { run(); }) {
  for (size_t i = 0; i < agents; ++i) claim(i);
}

JobLoad::~JobLoad() {
  stopping_ = true;
  thread_.join();
  for (const auto& is_resting : resting_)
    while (!is_resting) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void JobLoad::run() {
  const auto& deployments = world_.fleet.deployments;
  for (size_t turn = 0; !stopping_; ++turn) {
    const bool busy = world_.engine.on_loop(
        [](WorkspaceLoop& loop) { return !loop.active() || loop.state()->any_dirty(); });
    for (int i = 0; publishing_ && !busy && i < 2; ++i)
      world_.publish(deployments[next_++ % deployments.size()]);
    for (size_t i = 0; turn % kRest == 0 && i < resting_.size(); ++i)
      if (resting_[i] && !stopping_ && resting_[i].exchange(false)) claim(i);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void JobLoad::rest(size_t agent) { resting_[agent] = true; }

void JobLoad::claim(size_t agent) {
  ClaimJob c{.agent = world_.fleet.agent, .job = {}, .instance = fmt::format("load-{}", agent)};
  world_.engine.submit(std::move(c), [this, agent](Reply reply) {
    if (!reply || !reply->job) return rest(agent);
    ++handed_over_;
    broken_ += forbidden_;
    report(agent, reply->job->id);
  });
}

// Also at the end: nobody is left with a job.
void JobLoad::report(size_t agent, JobId job) {
  ReportJob r{.job = job, .instance = fmt::format("load-{}", agent), .status = JobStatus::kSuccessful};
  world_.engine.submit(std::move(r), [this, agent](Reply) {
    if (stopping_) return rest(agent);
    claim(agent);
  });
}

// ---- Time and the disk ---------------------------------------------------------------------------------

Metronome::Metronome(Duration every, std::function<void(Duration planned)> fn)
    : thread_([this, every, fn = std::move(fn)] {
        for (Duration at = clock_.boot(); !stopping_; at = at + every) {
          const Duration ahead = at - clock_.boot();
          if (ahead.us > 0) std::this_thread::sleep_for(std::chrono::microseconds(ahead.us));
          fn(at);
        }
      }) {}

Metronome::~Metronome() {
  stopping_ = true;
  thread_.join();
}

OneRowCommits::OneRowCommits(Kind kind, const std::string& address) : store_(open_store(kind, address)) {
  commit_.workspace = WorkspaceId{Uuid::from_halves(5, 5)};
  commit_.token = store::Token{Uuid::from_halves(6, 6)};
  must(store_->acquire(commit_.workspace, {}, {}, commit_.token));
  for (int i = 0; i < kWarmUp; ++i) commit();
}

void OneRowCommits::commit() {
  ++commit_.seq;
  commit_.changes = {Change::put(AuditEntry{.id = {Uuid::from_halves(1, static_cast<uint64_t>(commit_.seq))},
                                            .actor = "bench",
                                            .action = "one.row",
                                            .subject = "one row",
                                            .details = "{}"})};
  CHECK(store_->commit({&commit_, 1}).front() == store::CommitOutcome::kDurable, "one-row commit");
}

}  // namespace ctrlplane::bench
