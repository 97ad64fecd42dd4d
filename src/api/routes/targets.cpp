// Release targets and releases.
#include <algorithm>

#include <fmt/core.h>

#include "api/families.h"
#include "api/freeze_views.h"
#include "api/job_views.h"
#include "api/target_key.h"
#include "api/target_page.h"
#include "api/views.h"
#include "api/words.h"
#include "engine/explain.h"
#include "model/agent_type.h"
#include "policy/freezes.h"

namespace ctrlplane::api {
namespace {

// ---- Overview: from memory alone -------------------------------------------------------------------------

void write_version(JsonWriter& w, std::string_view name, const State& s, VersionIx v) {
  if (!v) return;
  w.key(name).open().member("id", s.versions[v].row.id).member("tag", s.versions[v].row.tag).close();
}

void write_active_job(JsonWriter& w, const State& s, JobIx j) {
  const Job& job = s.jobs[j].row;
  AgentIx a = s.agents.find(job.agent);
  bool pulled = a && agent_type(s.agents[a].row.type).delivery == Delivery::kPull;
  w.key("activeJob").open().member("id", job.id).member("status", wire(job.status, pulled));
  w.member("createdAt", job.created_at).member_unless_empty("message", job.message).close();
}

// Also where nothing waits for it: whoever looks at a target under a freeze is told.
std::string reason_of(const State& s, Time now, TargetIx t, const Freeze* freeze) {
  std::string reason = why(s, now, t);
  if (!freeze) return reason;
  const std::string frozen = policy::frozen_message(*freeze);
  return reason.find(frozen) == std::string::npos ? fmt::format("{}. {}", reason, frozen) : reason;
}

void write_overview(JsonWriter& w, const State& s, Time now, TargetIx t) {
  const TargetSlot& target = s.at(t);
  const Resource& resource = s.resources[target.resource].row;
  const Environment& environment = s.environments[target.environment].row;
  const Deployment& deployment = s.deployments[target.deployment].row;
  w.open().key("releaseTarget");
  write(w, s.key_of(t));
  w.key("resource").open().member("id", resource.id).member("identifier", resource.identifier);
  w.member("name", resource.name).member("kind", resource.kind).close();
  w.key("environment").open().member("id", environment.id).member("name", environment.name).close();
  w.key("deployment").open().member("id", deployment.id).member("name", deployment.name).close();
  w.key("state").open();
  write_version(w, "currentVersion", s, target.current_version);
  write_version(w, "desiredVersion", s, target.desired_version);
  if (target.first_job) write_active_job(w, s, target.first_job);
  if (!target.last_job.is_nil())
    w.key("latestJob")
        .open()
        .member("id", target.last_job)
        .member("status", wire(target.last_status, false))
        .close();
  w.member("attempts", target.attempts);
  const Freeze* freeze = freeze_over(s, now, t);
  w.member("reason", reason_of(s, now, t, freeze));
  if (freeze) write_brief(w.key("freeze"), *freeze);
  if (is_off_main_line(s, t)) w.member("offMainLine", true);
  write_warnings(w, scope_warnings(s, t));
  w.close().close();
}

Status list(Call& c) {
  TargetFilter filter{.deployment = TRY(c.query_id<DeploymentId>("deploymentId")),
                      .environment = TRY(c.query_id<EnvironmentId>("environmentId")),
                      .resource = TRY(c.query_id<ResourceId>("resourceId")),
                      .off_main_line = c.query("offMainLine") == "true"};
  return c.read([filter, page = c.page()](const State& s, Time now) -> Result<std::string> {
    TargetPage found = TRY(page_of_targets(s, filter, page));
    return cold_page_text(found.items, static_cast<int64_t>(found.total), page,
                          [&](JsonWriter& w, TargetIx t) { write_overview(w, s, now, t); });
  });
}

// ---- State with releases and jobs: from memory, then from the store ---------------------------------------

struct Snapshot {
  TargetKey key;
  ReleaseId desired, current;
  JobId job;                // the active one, or the last
  std::string freeze = {};  // over the target: a JSON object, or empty
  Holdings held = {};
};

Snapshot snapshot_of(const State& s, Time now, TargetIx t) {
  const TargetSlot& slot = s.at(t);
  JobId job = slot.first_job ? s.jobs[slot.first_job].row.id : slot.last_job;
  Snapshot out{s.key_of(t), slot.desired_release, slot.current_release, job};
  if (const Freeze* f = freeze_over(s, now, t)) {
    JsonWriter w;
    write_brief(w, *f);
    out.freeze = w.take();
    out.held = held_among(s, now, {job});
  }
  return out;
}

struct StatePage {
  std::vector<Snapshot> items;
  size_t total = 0;
};

class StateWriter {
 public:
  static Result<StateWriter> read(Call& c, const std::vector<Snapshot>& items) {
    StateWriter out;
    std::set<JobId> jobs;
    std::set<ReleaseId> releases;
    for (const Snapshot& s : items) {
      if (!s.job.is_nil()) jobs.insert(s.job);
      if (!s.desired.is_nil()) releases.insert(s.desired);
      if (!s.current.is_nil()) releases.insert(s.current);
    }
    out.jobs_ = TRY((rows_by_id<Job>(c.store(), c.workspace(), jobs)));
    std::vector<Job> list;
    for (const auto& [id, job] : out.jobs_) list.push_back(job);
    out.contexts_ =
        TRY(JobContexts::read(c.store(), c.workspace(), list, {.resources = false, .entities = false}));
    TRY(out.contexts_.add_releases(c.store(), releases));
    Holdings held;
    for (const Snapshot& s : items) held.insert(s.held.begin(), s.held.end());
    out.contexts_.show_held(std::move(held));
    return out;
  }

  void write_state(JsonWriter& w, const Snapshot& s) const {
    w.open();
    if (contexts_.has_release(s.desired)) contexts_.write_release(w.key("desiredRelease"), s.desired);
    if (contexts_.has_release(s.current)) contexts_.write_release(w.key("currentRelease"), s.current);
    if (auto it = jobs_.find(s.job); it != jobs_.end()) {
      w.key("latestJob").open().key("job");
      contexts_.write_job(w, it->second, false);
      w.key("verifications").open_array().close_array().close();
    }
    if (!s.freeze.empty()) w.key("freeze").raw(s.freeze);
    w.close();
  }
  void write_release(JsonWriter& w, ReleaseId id) const { contexts_.write_release(w, id); }
  bool has_release(ReleaseId id) const { return contexts_.has_release(id); }

 private:
  std::map<JobId, Job> jobs_;
  JobContexts contexts_;
};

Status list_states(Call& c) {
  TargetFilter filter{.deployment = c.body().id<DeploymentId>("deploymentId"),
                      .environment = c.body().id<EnvironmentId>("environmentId"),
                      .resource = {}};
  return c.ask<StatePage>(
      [filter, page = c.page()](const State& s, Time now) -> Result<StatePage> {
        TargetPage found = TRY(page_of_targets(s, filter, page));
        StatePage cut{.items = {}, .total = found.total};
        for (TargetIx t : found.items) cut.items.push_back(snapshot_of(s, now, t));
        return cut;
      },
      [](Call& call, StatePage cut) -> Status {
        auto states = TRY(StateWriter::read(call, cut.items));
        return call.reply(cold_page_text(cut.items, static_cast<int64_t>(cut.total), call.page(),
                                         [&](JsonWriter& w, const Snapshot& s) {
                                           w.open().key("releaseTarget");
                                           write(w, s.key);
                                           states.write_state(w.key("state"), s);
                                           w.close();
                                         }));
      });
}

Status get_state(Call& c) {
  TargetKey key = TRY(target_key_in(c));
  return c.ask<Snapshot>(
      [key](const State& s, Time now) -> Result<Snapshot> {
        return snapshot_of(s, now, TRY(find_target(s, key)));
      },
      [](Call& call, Snapshot s) -> Status {
        auto states = TRY(StateWriter::read(call, {s}));
        JsonWriter w;
        states.write_state(w, s);
        return call.reply(w.take());
      });
}

Status get_desired(Call& c) {
  TargetKey key = TRY(target_key_in(c));
  return c.ask<Snapshot>(
      [key](const State& s, Time now) -> Result<Snapshot> {
        return snapshot_of(s, now, TRY(find_target(s, key)));
      },
      [](Call& call, Snapshot s) -> Status {
        auto states = TRY(StateWriter::read(call, {s}));
        if (!states.has_release(s.desired))
          return fail(ErrorCode::kNotFound, "no release is desired on this target yet");
        JsonWriter w;
        states.write_release(w.open().key("desiredRelease"), s.desired);
        w.close();
        return call.reply(w.take());
      });
}

Status jobs(Call& c) {
  TargetKey key = TRY(target_key_in(c));
  return c.later([key](Call& call) -> Status {
    store::ColdQuery query;
    query.equals = {{"resource_id", store::CellView(key.resource.uuid)},
                    {"environment_id", store::CellView(key.environment.uuid)},
                    {"deployment_id", store::CellView(key.deployment.uuid)}};
    query.order_by = "created_at";
    query.descending = true;
    auto found = TRY(cold_page<Job>(call.store(), call.workspace(), query, call.page()));
    return with_held(call, found.items, [found](Call& last, Holdings held) -> Status {
      auto contexts = TRY(JobContexts::read(last.store(), last.workspace(), found.items,
                                            {.resources = false, .entities = false}));
      contexts.show_held(std::move(held));
      return last.reply(
          cold_page_text(found.items, found.total, last.page(),
                         [&](JsonWriter& w, const Job& job) { contexts.write_job(w, job, false); }));
    });
  });
}

// ---- Actions and previews --------------------------------------------------------------------------------

Status redeploy(Call& c) {
  return c.write(RedeployTarget{TRY(target_key_in(c))}, [](const State&, Time, const Answer& answer) {
    JsonWriter w;
    w.open().member("id", answer.id).member("message", "Redeploy requested").key("jobIds").open_array();
    for (JobId id : answer.jobs) w.value(id);
    w.close_array().close();
    return w.take();
  });
}

// The release targets that a resource would have if it were there.
Status preview(Call& c) {
  const Body& b = c.body();
  auto resource = std::make_shared<Resource>();
  resource->identifier = b.text("identifier");
  resource->name = b.text("name");
  resource->kind = b.text("kind");
  resource->version = b.text("version");
  resource->config = TRY(b.document("config"));
  resource->metadata = b.metadata("metadata");
  return c.read([resource, page = c.page()](const State& s, Time) -> Result<std::string> {
    auto matches = [&](const MemberSet& m) {
      return m.selector && m.selector->match(*resource) == ctrlplane::Match::kYes;
    };
    struct Row {
      const System* system;
      const Deployment* deployment;
      const Environment* environment;
    };
    std::vector<Row> found;
    s.systems.each([&](SystemIx, const SystemSlot& system) {
      std::vector<const Environment*> environments;
      for (EnvironmentIx e : system.environments)
        if (matches(s.environments[e].members)) environments.push_back(&s.environments[e].row);
      if (environments.empty()) return;
      for (DeploymentIx d : system.deployments)
        if (matches(s.deployments[d].members))
          for (const Environment* e : environments) found.push_back({&system.row, &s.deployments[d].row, e});
    });
    std::sort(found.begin(), found.end(), [](const Row& a, const Row& b) {
      return std::tie(a.system->name, a.deployment->name, a.environment->name) <
             std::tie(b.system->name, b.deployment->name, b.environment->name);
    });
    return page_of(found, page, [&](JsonWriter& w, const Row& row) {
      write(w.open().key("system"), s.id(), *row.system);
      write(w.key("deployment"), s.id(), *row.deployment);
      write(w.key("environment"), s.id(), *row.environment);
      w.close();
    });
  });
}

Status get_release(Call& c) {
  ReleaseId id = TRY(c.id<ReleaseId>("releaseId"));
  return c.later([id](Call& call) -> Status {
    auto release = TRY(row<Release>(call.store(), call.workspace(), id.uuid));
    if (!release) return fail(ErrorCode::kNotFound, fmt::format("no release {}", id.str()));
    auto version = TRY(row<Version>(call.store(), call.workspace(), release->version.uuid));
    JsonWriter w;
    write(w, *release, version ? &*version : nullptr);
    return call.reply(w.take());
  });
}

}  // namespace

Family target_family() {
  using namespace permission;
  constexpr std::string_view kAll = CTRLPLANE_W "/release-targets";
  return {"Release targets",
          {
              {.method = "GET",
               .path = kAll,
               .id = "listReleaseTargets",
               .summary = "Release targets with what they run, should run and wait for",
               .permission = kRead,
               .query = paged({{"deploymentId", "uuid"},
                               {"environmentId", "uuid"},
                               {"resourceId", "uuid"},
                               {"offMainLine", "boolean", "only those that run a scoped version"}}),
               .outcomes = {{200, "TargetOverviewPage"}},
               .handler = list},
              {.method = "POST",
               .path = CTRLPLANE_W "/release-targets/state",
               .id = "listReleaseTargetStates",
               .summary = "State of the release targets of a deployment in an environment",
               .permission = kRead,
               .query = paged(),
               .body = "ReleaseTargetQuery",
               .outcomes = {{200, "ReleaseTargetStatePage"}},
               .handler = list_states},
              {.method = "POST",
               .path = CTRLPLANE_W "/release-targets/resource-preview",
               .id = "previewReleaseTargets",
               .summary = "Release targets that a resource would have",
               .permission = kRead,
               .query = paged(),
               .body = "ResourcePreviewRequest",
               .outcomes = {{200, "ReleaseTargetPreviewPage"}},
               .handler = preview},
              {.method = "GET",
               .path = CTRLPLANE_W "/release-targets/{releaseTargetKey}/state",
               .id = "getReleaseTargetState",
               .summary = "What a release target runs and should run",
               .permission = kRead,
               .query = {{"bypassCache", "boolean", "accepted and without effect"}},
               .outcomes = {{200, "ReleaseTargetState"}},
               .handler = get_state},
              {.method = "GET",
               .path = CTRLPLANE_W "/release-targets/{releaseTargetKey}/desired-release",
               .id = "getDesiredRelease",
               .summary = "What a release target should run",
               .permission = kRead,
               .outcomes = {{200, "DesiredRelease"}},
               .handler = get_desired},
              {.method = "GET",
               .path = CTRLPLANE_W "/release-targets/{releaseTargetKey}/jobs",
               .id = "listReleaseTargetJobs",
               .summary = "Jobs of a release target, newest first",
               .permission = kRead,
               .query = paged(),
               .outcomes = {{200, "JobPage"}},
               .handler = jobs},
              {.method = "POST",
               .path = CTRLPLANE_W "/release-targets/{releaseTargetKey}/redeploy",
               .id = "redeployReleaseTarget",
               .summary = "Deploy the desired release once more",
               .permission = kTargetDeploy,
               .outcomes = {{202, "Redeployed"}},
               .handler = redeploy},
              {.method = "GET",
               .path = CTRLPLANE_W "/releases/{releaseId}",
               .id = "getRelease",
               .summary = "A release",
               .permission = kRead,
               .outcomes = {{200, "Release"}},
               .handler = get_release},
          }};
}

}  // namespace ctrlplane::api
