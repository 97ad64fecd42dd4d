#include "sim/client.h"

#include <algorithm>

#include <fmt/core.h>

#include "sim/freezers.h"
#include "sim/reviewers.h"

namespace ctrlplane::sim {
namespace {

const char* const kAgentTypes[] = {"http-pull", "webhook-keyed", "webhook-lookup", "webhook"};

// What only versions ask about.
const char* const kScopes[] = {
    "environment.name == 'prod'",
    "environment.metadata['tier'] == 'gold'",
    "deployment.metadata['team'] == 'red' && resource.metadata['ring'] == 'a'",
    "environment.name == 'staging' || resource.name.endsWith('2')",
};

bool may_be_retried(const Reply& r) {
  if (r) return false;
  ErrorCode c = r.error().code;
  return c == ErrorCode::kUnknown || c == ErrorCode::kNotCommitted || c == ErrorCode::kUnavailable ||
         c == ErrorCode::kBusy;
}

std::string env_selector(const std::string& env) { return "resource.metadata['env'] == '" + env + "'"; }

// What deployments and environments choose their resources by; some ask for metadata that is not everywhere.
const char* const kSelectors[] = {
    "resource.metadata['env'] == 'prod'",
    "resource.metadata['env'] == 'staging'",
    "resource.metadata['env'] in ['prod', 'staging']",
    "'ring' in resource.metadata",
    "resource.metadata['ring'] != 'b'",
    "resource.name.endsWith('1') || resource.metadata['env'] == 'prod'",
    "resource.kind == 'Node' && !(resource.metadata['ring'] == 'a')",
};

}  // namespace

Request Client::keyed(Command c) {
  Request r{std::move(c), name_};
  Uuid key = world_.rng.uuid();
  r.idempotency = Idempotency{Digest{key.bytes}, digest_of(key.str())};
  return r;
}

// Silence and 503s are retried with the same key until there is an answer, or the client loses patience.
void Client::send(Request request, int tries, Callback<Reply> done) {
  ++world_.commands;
  Request copy = request;
  world_.call(w_, std::move(copy),
              [this, request = std::move(request), tries, done = std::move(done)](Reply r) mutable {
                if (!may_be_retried(r) || tries <= 0) return done(std::move(r));
                world_.time.after(
                    world_.rng.between(milliseconds(100), seconds(4)),
                    [this, request = std::move(request), tries, done = std::move(done)]() mutable {
                      send(std::move(request), tries - 1, std::move(done));
                    });
              });
}

ResourceInput Client::node(int n, const std::string& env) {
  std::string name = fmt::format("node-{}", n);
  ResourceInput in{name, name, "Node", "v1", {}, {{"env", env}}};
  if (n % 3 < 2) in.metadata.set("ring", world_.rng.chance(0.9) == (n % 3 == 0) ? "a" : "b");
  return in;
}

void Client::ask(Command c, std::string actor, int tries, Callback<Reply> done) {
  ask(std::move(c), std::move(actor), tries, Render{}, std::move(done));
}

void Client::ask(Command c, std::string actor, int tries, Render render, Callback<Reply> done) {
  Request r = keyed(std::move(c));
  r.actor = std::move(actor);
  r.render = std::move(render);
  send(std::move(r), tries, [done = std::move(done)](Reply reply) mutable {
    if (done) done(std::move(reply));
  });
}

void Client::create(Request request, Named what, Callback<Uuid> done) {
  int tries = world_.calm || done ? 1000 : static_cast<int>(world_.rng.below(6));
  // Every answer on the way counts: one "unknown" makes a later "not committed" of the same key mean less.
  bool only_try = tries == 0;
  send(std::move(request), tries, [this, what, only_try, done = std::move(done)](Reply r) mutable {
    if (r) {
      world_.checker.acknowledged(w_, what.table, what.name);
      if (done) done(r->id);
    } else if (r.error().code == ErrorCode::kNotCommitted && only_try && !what.shared) {
      world_.checker.told_not_committed(w_, what.table, what.name);
    } else if (r.error().code == ErrorCode::kConflict &&
               r.error().message.find("exists already") != std::string::npos) {
      world_.checker.told_exists(w_, what.table, what.name);
    }
  });
}

void Client::set_up(Callback<std::vector<AgentId>> done) {
  auto pull_agents = std::make_shared<std::vector<AgentId>>();
  auto after = std::make_shared<Callback<std::vector<AgentId>>>(std::move(done));
  auto left = std::make_shared<int>(0);
  auto finished = [pull_agents, after, left] {
    if (--*left == 0) (*after)(*pull_agents);
  };
  std::string system = fresh("system");
  create(keyed(UpsertSystem{{}, system, {}, {}, {}}), {"system", system}, [=, this](Uuid id) {
    system_ = {id};
    *left = 1;
    for (const char* env : {"staging", "prod"}) {
      *left += 1;
      UpsertEnvironment e{EnvironmentId{world_.rng.uuid()}, env, {}, env_selector(env), {}};
      if (e.name == "prod") e.metadata.set("tier", "gold");
      environments_.push_back(e);
      create(keyed(e), {"environment", env}, [=, this](Uuid env_id) {
        send(keyed(LinkEnvironment{system_, {env_id}}), 1000, [finished](Reply) { finished(); });
      });
    }
    for (const char* type : kAgentTypes) {
      *left += 2;
      create(keyed(UpsertAgent{{}, std::string("agent-") + type, type, {}, {}}),
             {"job_agent", std::string("agent-") + type}, [=](Uuid agent) {
               if (std::string_view(type) == "http-pull") pull_agents->push_back({agent});
               finished();
             });
      UpsertDeployment d{DeploymentId{world_.rng.uuid()},
                         std::string("app-") + type,
                         {},
                         {},
                         "true",
                         fmt::format("jobAgent.name == 'agent-{}'", type),
                         {},
                         minutes(20),
                         {}};
      if (d.name != "app-webhook") d.metadata.set("team", d.name == "app-http-pull" ? "red" : "blue");
      deployment_rows_.push_back(d);
      deployments_.push_back(*d.id);
      create(keyed(d), {"deployment", d.name}, [=, this](Uuid deployment) {
        send(keyed(LinkDeployment{system_, {deployment}}), 1000, [finished](Reply) { finished(); });
      });
    }
    if (world_.has_brackets) {  // another one for the pull agents
      *left += 1;
      UpsertDeployment d{DeploymentId{world_.rng.uuid()}, "app-tail"};
      d.resource_selector = "true";
      d.agent_selector = "jobAgent.name == 'agent-http-pull'";
      d.job_timeout = minutes(20);
      deployment_rows_.push_back(d);
      deployments_.push_back(*d.id);
      create(keyed(d), {"deployment", d.name}, [=, this](Uuid deployment) {
        send(keyed(LinkDeployment{system_, {deployment}}), 1000, [finished](Reply) { finished(); });
      });
    }
    *left += 1;
    create(keyed(UpsertProvider{{}, "scanner", {}}), {"resource_provider", "scanner"},
           [=, this](Uuid provider) {
             provider_ = {provider};
             SetProviderResources set{provider_, {}};
             for (int i = 0; i < 6; ++i) set.resources.push_back(node(i, i % 2 ? "prod" : "staging"));
             send(keyed(std::move(set)), 1000, [finished](Reply) { finished(); });
           });
    finished();
  });
}

void Client::start(Reviewers& reviewers, Freezers& freezers) {
  reviewers_ = &reviewers;
  freezers_ = &freezers;
  act();
  watch();
}

void Client::watch() {
  if (world_.calm) return;
  read_versions();
  world_.time.after(world_.rng.between(milliseconds(200), seconds(3)), [this] { watch(); });
}

void Client::act() {
  if (world_.calm) return;
  switch (world_.rng.below(16)) {
    case 0:
    case 1:
    case 2:
    case 3: publish(); break;
    case 4: publish_duplicate(); break;
    case 5: change_selector(); break;
    case 6:
    case 7: change_resource(); break;
    case 8: set_provider(); break;
    case 9:
    case 10:
    case 11: publish(); break;
    case 12: {
      std::string system = fresh("system");
      create(keyed(UpsertSystem{{}, system, {}, {}, {}}), {"system", system});
      break;
    }
    case 13:
    case 14: touch_a_job(); break;
    default: decide_lost_jobs(); break;
  }
  world_.time.after(world_.rng.between(milliseconds(500), seconds(12)), [this] { act(); });
}

// For some only: so that there is something to be left out of.
void Client::maybe_scope(CreateVersion& c) {
  if (!world_.rng.chance(0.2)) return;
  c.target_selector = world_.rng.chance(0.7) ? kSelectors[world_.rng.below(std::size(kSelectors))]
                                             : kScopes[world_.rng.below(std::size(kScopes))];
  if (world_.rng.chance(0.3)) c.on_selector_error = OnSelectorError::kExclude;
}

void Client::publish() {
  DeploymentId d = deployments_[world_.rng.below(deployments_.size())];
  std::string tag = fresh("v");
  CreateVersion c{.deployment = d, .tag = tag};
  bool building = world_.rng.chance(0.1);
  if (building) c.status = VersionStatus::kBuilding;
  if (world_.rng.chance(0.85)) c.metadata.set("channel", world_.rng.chance(0.7) ? "stable" : "beta");
  if (reviewers_->have_policies() && world_.rng.chance(0.05))
    if (DeploymentId on = deployments_[world_.rng.below(deployments_.size())]; on != d)
      c.dependencies.push_back({on, "!version.tag.endsWith('7')"});
  freezers_->maybe_bypass(c);
  maybe_scope(c);
  create(keyed(std::move(c)), {"deployment_version", tag}, [=, this](Uuid id) {
    acknowledged_tags_[d].push_back(tag);
    reviewers_->published({id}, d);
    VersionStatus next = building                  ? VersionStatus::kReady
                         : world_.rng.chance(0.15) ? VersionStatus::kRejected
                         : world_.rng.chance(0.1)  ? VersionStatus::kPaused
                                                   : VersionStatus::kReady;
    if (building || next != VersionStatus::kReady)
      world_.time.after(world_.rng.between(seconds(1), minutes(5)),
                        [=, this] { send(keyed(SetVersionStatus{{id}, next, {}}), 50, [](Reply) {}); });
  });
}

// Two clients race for one tag: one of them is told it exists, and then it must.
void Client::publish_duplicate() {
  DeploymentId d = deployments_[world_.rng.below(deployments_.size())];
  std::string tag = fresh("dup");
  for (int i = 0; i < 2; ++i)
    create(keyed(CreateVersion{.deployment = d, .tag = tag}), {"deployment_version", tag, true});
}

void Client::change_selector() {
  if (world_.rng.chance(0.5)) {
    UpsertDeployment d = deployment_rows_[world_.rng.below(deployment_rows_.size())];
    d.resource_selector =
        world_.rng.chance(0.6) ? "true" : kSelectors[world_.rng.below(std::size(kSelectors))];
    if (world_.rng.chance(0.3)) d.metadata.set("team", world_.rng.chance(0.5) ? "red" : "green");
    send(keyed(d), 20, [](Reply) {});
  } else {
    UpsertEnvironment e = environments_[world_.rng.below(environments_.size())];
    if (world_.rng.chance(0.3)) e.resource_selector = "true";
    if (world_.rng.chance(0.1))
      e.resource_selector = env_selector(e.name) + " && 'ring' in resource.metadata";
    if (world_.rng.chance(0.3)) e.metadata.set("tier", world_.rng.chance(0.5) ? "gold" : "iron");
    send(keyed(e), 20, [](Reply) {});
  }
}

void Client::change_resource() {
  int n = static_cast<int>(world_.rng.below(9));
  if (world_.rng.chance(0.3))
    send(keyed(DeleteResource{fmt::format("node-{}", n)}), 20, [](Reply) {});
  else
    send(keyed(UpsertResource{node(n, world_.rng.chance(0.5) ? "prod" : "staging"), provider_}), 20,
         [](Reply) {});
}

void Client::set_provider() {
  SetProviderResources set{provider_, {}};
  for (int i = 0; i < 9; ++i)
    if (world_.rng.chance(0.7)) set.resources.push_back(node(i, i % 2 ? "prod" : "staging"));
  send(keyed(std::move(set)), 20, [](Reply) {});
}

void Client::read_versions() {
  if (deployments_.empty()) return;  // still setting up
  DeploymentId d = deployments_[world_.rng.below(deployments_.size())];
  const auto& tags = acknowledged_tags_[d];
  // Only the latest: older ones may be out of memory by then.
  std::set<std::string> expected(tags.end() - std::min<long>(20, static_cast<long>(tags.size())), tags.end());
  Query q{[d](const State& state, Time) {
    std::string out;
    if (DeploymentIx ix = state.deployments.find(d))
      for (VersionIx v : state.deployments[ix].versions) out += state.versions[v].row.tag + "\n";
    return out;
  }};
  ++world_.commands;
  // To any replica, the owner or not, and with patience: a stopped one answers when it continues.
  world_.call(w_, {std::move(q), name_}, World::To::kAnybody, minutes(2), [this, expected](Reply r) {
    if (!r) return;
    std::set<std::string> seen;
    for (size_t at = 0, end; (end = r->text.find('\n', at)) != std::string::npos; at = end + 1)
      seen.insert(r->text.substr(at, end - at));
    world_.checker.read(w_, expected, seen);
  });
}

void Client::touch_a_job() {
  const auto& t = store::table_named("job");
  const auto& rows = world_.store.rows(w_, t);
  if (rows.empty()) return;
  auto it = rows.begin();
  std::advance(it, static_cast<long>(world_.rng.below(rows.size())));
  JobId job{std::get<Uuid>(it->first[0])};
  TargetKey target{{std::get<Uuid>(it->second[t.column("resource_id")])},
                   {std::get<Uuid>(it->second[t.column("environment_id")])},
                   {std::get<Uuid>(it->second[t.column("deployment_id")])}};
  if (world_.rng.chance(0.5))
    send(keyed(CancelJob{job}), 10, [](Reply) {});
  else
    send(keyed(RedeployTarget{target}), 10, [](Reply) {});
}

// A person rings the agent's owner first: what still runs, or may still arrive, is left alone.
void Client::decide_lost_jobs() {
  const auto& t = store::table_named("job");
  for (const auto& [key, row] : world_.store.rows(w_, t)) {
    if (std::get<std::string>(row[t.column("status")]) != "action_required") continue;
    JobId job{std::get<Uuid>(key[0])};
    Time updated{std::get<int64_t>(row[t.column("updated_at")])};
    if (world_.checker.is_running(w_, job) || updated + minutes(2) > world_.wall()) continue;
    send(keyed(DecideJob{job, JobStatus::kFailure, "looked at it"}), 10, [](Reply) {});
  }
}

}  // namespace ctrlplane::sim
