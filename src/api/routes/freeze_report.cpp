// What a freeze did: for the post-mortem. From its history and from the jobs in the store.
#include <algorithm>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "api/cold.h"
#include "api/families.h"
#include "api/freeze_views.h"
#include "api/words.h"

namespace ctrlplane::api {
namespace {

constexpr size_t kMost = 1000;       // of held and of resumed jobs
constexpr int64_t kBefore = 2000;    // jobs made before it began that are looked at
constexpr size_t kScanned = 20'000;  // jobs that are looked at
constexpr int64_t kChunk = 500;

struct Report {
  Freeze freeze;
  Time now;
  Time end;  // or now, while it has not ended
  std::vector<FreezeEvent> events = {};
  std::vector<Job> held = {}, resumed = {};
  bool truncated = false;
  std::map<VersionId, Version> versions = {};
  std::map<DeploymentId, Deployment> deployments = {};
  std::map<EnvironmentId, Environment> environments = {};
  std::map<ResourceId, Resource> resources = {};

  bool is_over() const { return freeze.end() <= now; }
};

// ---- Finding ---------------------------------------------------------------------------------------------

// Waited under it: was not handed over before its end. What was cancelled unsent waited too.
bool was_held(const Report& r, const Job& job) {
  if (job.created_at >= r.end || (job.handed_over_at && *job.handed_over_at < r.end)) return false;
  if (job.handed_over_at) return r.is_over();
  return !job.ended_at || *job.ended_at > r.freeze.effective_at;
}

bool started_after(const Report& r, const Job& job) {
  if (!r.is_over()) return false;
  return job.created_at >= r.end || (job.handed_over_at && *job.handed_over_at >= r.end);
}

// What needs no look at the state; a system and a selector are asked of it later.
bool may_be_covered(const Freeze& f, const TargetKey& key) {
  switch (f.scope) {
    case FreezeScope::kDeployment: return key.deployment.uuid == *f.scope_entity;
    case FreezeScope::kEnvironment: return key.environment.uuid == *f.scope_entity;
    case FreezeScope::kWorkspace:
    case FreezeScope::kSystem: break;
  }
  return true;
}

store::ColdQuery jobs_by_age(const Freeze& f) {
  store::ColdQuery query;
  query.table = &store::table_for<Job>();
  if (f.scope == FreezeScope::kDeployment)
    query.equals = {{"deployment_id", store::CellView(*f.scope_entity)}};
  query.order_by = "created_at";
  return query;
}

// The place of the first job that was made at that time or later.
Result<int64_t> place_of(Call& call, store::ColdQuery query, Time at) {
  int64_t low = 0, high = TRY(call.store().count(call.workspace(), query));
  query.limit = 1;
  while (low < high) {
    query.offset = low + (high - low) / 2;
    auto found = TRY(rows<Job>(call.store(), call.workspace(), query));
    const bool at_or_after = found.empty() || found.front().created_at >= at;
    (at_or_after ? high : low) = at_or_after ? query.offset : query.offset + 1;
  }
  return low;
}

void keep(Report& r, std::vector<Job>& in, const Job& job) {
  in.size() < kMost ? in.push_back(job) : void(r.truncated = true);
}

Status sort_in(Call& call, Report& r, std::vector<Job> jobs) {
  std::set<VersionId> unknown;
  std::erase_if(jobs, [&](const Job& job) {
    return !may_be_covered(r.freeze, job.target) || !(was_held(r, job) || started_after(r, job));
  });
  for (const Job& job : jobs)
    if (!r.versions.contains(job.version)) unknown.insert(job.version);
  r.versions.merge(TRY((rows_by_id<Version>(call.store(), call.workspace(), unknown))));
  const auto& passed = r.freeze.passed;
  for (const Job& job : jobs) {
    if (std::find(passed.begin(), passed.end(), job.version) != passed.end()) continue;
    if (was_held(r, job)) keep(r, r.held, job);
    auto version = r.versions.find(job.version);
    const bool is_older = version != r.versions.end() && version->second.created_at < r.end;
    if (is_older && started_after(r, job)) keep(r, r.resumed, job);
  }
  return {};
}

Status find_jobs(Call& call, Report& r) {
  store::ColdQuery query = jobs_by_age(r.freeze);
  const int64_t began = TRY(place_of(call, query, r.freeze.effective_at));
  query.offset = std::max<int64_t>(0, began - kBefore);
  query.limit = kChunk;
  const bool begins_late = query.offset > 0;
  for (size_t looked = 0;;) {
    auto jobs = TRY(rows<Job>(call.store(), call.workspace(), query));
    if (looked == 0 && begins_late && !jobs.empty()) r.truncated |= was_held(r, jobs.front());
    const size_t size = jobs.size();
    TRY(sort_in(call, r, std::move(jobs)));
    if (size < static_cast<size_t>(kChunk)) return {};
    looked += size;
    query.offset += kChunk;
    if (looked >= kScanned || r.resumed.size() >= kMost) {
      r.truncated = true;
      return {};
    }
  }
}

Status find_names(Call& call, Report& r) {
  std::set<DeploymentId> deployments;
  std::set<EnvironmentId> environments;
  std::set<ResourceId> resources;
  for (const auto* jobs : {&r.held, &r.resumed})
    for (const Job& job : *jobs) {
      deployments.insert(job.target.deployment);
      environments.insert(job.target.environment);
      resources.insert(job.target.resource);
    }
  r.deployments = TRY((rows_by_id<Deployment>(call.store(), call.workspace(), deployments)));
  r.environments = TRY((rows_by_id<Environment>(call.store(), call.workspace(), environments)));
  r.resources = TRY((rows_by_id<Resource>(call.store(), call.workspace(), resources)));
  return {};
}

// Of targets that are still there the scope and the selector are asked as they are now; of others it is not
// known, and they stay.
Status leave_out_uncovered(const State& s, Report& r) {
  FreezeOutline outline = TRY(FreezeOutline::of(r.freeze));
  for (auto* jobs : {&r.held, &r.resumed})
    std::erase_if(*jobs, [&](const Job& job) {
      TargetIx t = s.target(job.target);
      VersionIx v = s.versions.find(job.version);
      return t && v && !outline.covers(s, t, v);
    });
  return {};
}

// ---- Telling ---------------------------------------------------------------------------------------------

template <class Map, class Id>
const typename Map::mapped_type* known(const Map& map, const Id& id) {
  auto it = map.find(id);
  return it == map.end() ? nullptr : &it->second;
}

int64_t held_seconds(const Report& r, const Job& job) {
  const Time from = std::max(job.created_at, r.freeze.effective_at);
  const Time to = std::min(r.end, job.handed_over_at.value_or(job.ended_at.value_or(r.end)));
  return std::max<int64_t>(0, (to - from).us / 1'000'000);
}

void write_job(JsonWriter& w, const Report& r, const Job& job, bool held) {
  w.open().member("id", job.id).member("releaseTargetKey", job.target.str());
  if (auto* d = known(r.deployments, job.target.deployment)) w.member("deployment", d->name);
  if (auto* e = known(r.environments, job.target.environment)) w.member("environment", e->name);
  if (auto* x = known(r.resources, job.target.resource)) w.member("resource", x->identifier);
  w.member("versionId", job.version);
  if (auto* v = known(r.versions, job.version)) w.member("version", v->tag);
  w.member("status", wire(job.status, false)).member("createdAt", job.created_at);
  w.member("handedOverAt", job.handed_over_at);
  if (held) w.member("heldSeconds", held_seconds(r, job));
  w.close();
}

struct Passed {
  std::string version_id, tag, by;
};

// As note_passed has written it.
Passed passed_of(const FreezeEvent& event) {
  Passed p;
  boost::json::error_code error;
  boost::json::value v = boost::json::parse(event.metadata.text(), error);
  if (error || !v.is_object()) return p;
  auto text = [&](std::string_view name) {
    const boost::json::value* m = v.get_object().if_contains(name);
    return m && m->is_string() ? std::string(m->get_string()) : std::string();
  };
  p.version_id = text("versionId");
  p.tag = text("tag");
  p.by = text("skippedBy");
  if (p.by.empty()) p.by = text("createdBy");
  return p;
}

int64_t duration_seconds(const Report& r) {
  return std::max<int64_t>(0, (r.end - r.freeze.effective_at).us / 1'000'000);
}

std::string as_json(const Report& r, WorkspaceId workspace) {
  JsonWriter w;
  w.open().key("freeze");
  write_freeze(w, workspace, r.freeze, r.now);
  w.member("durationSeconds", duration_seconds(r)).key("timeline").open_array();
  for (const FreezeEvent& event : r.events) write(w, event);
  w.close_array().key("held").open_array();
  for (const Job& job : r.held) write_job(w, r, job, true);
  w.close_array().key("passed").open_array();
  for (const FreezeEvent& event : r.events) {
    if (event.action != FreezeAction::kBypassed) continue;
    Passed p = passed_of(event);
    w.open().member_unless_empty("versionId", p.version_id).member_unless_empty("version", p.tag);
    w.member_unless_empty("by", p.by).member_unless_empty("note", event.note);
    w.member("at", event.created_at).close();
  }
  w.close_array().key("resumed").open_array();
  for (const Job& job : r.resumed) write_job(w, r, job, false);
  return w.close_array().member("truncated", r.truncated).close().take();
}

// ---- For people ------------------------------------------------------------------------------------------

// Text of others in one line of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::string_view("|\\`*_[]<>").find(c) != std::string_view::npos) out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out;
}

std::string human(int64_t seconds) {
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
}

std::string where(const Report& r, const Job& job) {
  auto* d = known(r.deployments, job.target.deployment);
  auto* e = known(r.environments, job.target.environment);
  auto* x = known(r.resources, job.target.resource);
  return cell(fmt::format("{} · {} · {}", d ? d->name : job.target.deployment.str(),
                          e ? e->name : job.target.environment.str(),
                          x ? x->identifier : job.target.resource.str()));
}

std::string tag(const Report& r, const Job& job) {
  auto* v = known(r.versions, job.version);
  return cell(v ? v->tag : job.version.str());
}

void add_jobs(std::string& out, const Report& r, const std::vector<Job>& jobs, bool held) {
  if (jobs.empty()) {
    out += "Nothing.\n";
    return;
  }
  out += held ? "| target | version | held | then |\n| --- | --- | --- | --- |\n"
              : "| target | version | started | status |\n| --- | --- | --- | --- |\n";
  for (const Job& job : jobs) {
    const std::string started = job.handed_over_at ? format_rfc3339(*job.handed_over_at) : "not yet";
    out += fmt::format("| {} | {} | {} | {} |\n", where(r, job), tag(r, job),
                       held ? human(held_seconds(r, job)) : started, wire(job.status, false));
  }
}

void add_facts(std::string& out, const Report& r) {
  const Freeze& f = r.freeze;
  out += fmt::format("# Freeze: {}\n\n", cell(f.reason));
  out +=
      fmt::format("- Scope: {}{}\n", to_string(f.scope), f.scope_entity ? " " + f.scope_entity->str() : "");
  if (f.selector) out += fmt::format("- Selector: {}\n", cell(*f.selector));
  if (!f.incident_url.empty()) out += fmt::format("- Incident: {}\n", cell(f.incident_url));
  out += fmt::format("- From {} by {}\n", format_rfc3339(f.effective_at), cell(f.created_by));
  if (f.ended())
    out += fmt::format("- Until {}, {}{}{}\n", format_rfc3339(*f.thawed_at),
                       f.thawed_by.empty() ? "when it expired" : "thawed by " + cell(f.thawed_by),
                       f.thaw_reason.empty() ? "" : ": ", cell(f.thaw_reason));
  out += fmt::format("- Lasted {}{}\n", human(duration_seconds(r)), r.is_over() ? "" : " so far");
  if (r.truncated) out += "- The lists below are not complete.\n";
}

std::string as_markdown(const Report& r) {
  std::string out;
  add_facts(out, r);
  out += "\n## Timeline\n\n";
  for (const FreezeEvent& e : r.events)
    out +=
        fmt::format("- {} **{}**{}{}{}\n", format_rfc3339(e.created_at), cell(to_string(e.action)),
                    e.actor.empty() ? "" : " by " + cell(e.actor), e.note.empty() ? "" : ": ", cell(e.note));
  out += "\n## Held\n\n";
  add_jobs(out, r, r.held, true);
  out += "\n## Passed\n\n";
  bool any = false;
  for (const FreezeEvent& e : r.events) {
    if (e.action != FreezeAction::kBypassed) continue;
    any = true;
    Passed p = passed_of(e);
    out += fmt::format("- {} version {} by {}{}{}\n", format_rfc3339(e.created_at), cell(p.tag), cell(p.by),
                       e.note.empty() ? "" : ": ", cell(e.note));
  }
  if (!any) out += "Nothing.\n";
  out += "\n## Resumed\n\n";
  add_jobs(out, r, r.resumed, false);
  return out;
}

Status answer(Call& call, const Report& r) {
  if (call.query("format") != "markdown") return call.reply(as_json(r, call.workspace()));
  return call.respond({.headers = {{"Content-Type", "text/markdown; charset=utf-8"},
                                   {"Cache-Control", "no-store"},
                                   {"X-Content-Type-Options", "nosniff"}},
                       .body = as_markdown(r)});
}

// ---- The way through -------------------------------------------------------------------------------------

Status look(Call& call, FreezeId id, std::shared_ptr<Report> r) {
  r->freeze = TRY(stored_freeze(call, id));
  r->end = std::min(r->freeze.end(), r->now);
  r->events = TRY(events_of(call.store(), call.workspace(), id));
  TRY(find_jobs(call, *r));
  auto finish = [r](Call& last) -> Status {
    TRY(find_names(last, *r));
    return answer(last, *r);
  };
  if (!r->freeze.selector && r->freeze.scope != FreezeScope::kSystem) return finish(call);
  return call.ask<bool>(
      [r](const State& s, Time) -> Result<bool> {
        TRY(leave_out_uncovered(s, *r));
        return true;
      },
      [finish](Call& last, bool) { return finish(last); });
}

// By way of the loop, for the workspace's own time and so that what it has said is in the store.
Status report(Call& c) {
  FreezeId id = TRY(c.id<FreezeId>("freezeId"));
  return c.ask<Time>([](const State&, Time now) -> Result<Time> { return now; },
                     [id](Call& call, Time now) {
                       auto r = std::make_shared<Report>();
                       r->now = now;
                       return look(call, id, r);
                     });
}

}  // namespace

Family freeze_report_family() {
  return {
      "Freezes",
      {
          {.method = "GET",
           .path = CTRLPLANE_W "/freezes/{freezeId}/report",
           .id = "reportFreeze",
           .summary = "What happened under a freeze: its history, what it held, what passed it, what went "
                      "on afterwards; as JSON or, with format=markdown, as text/markdown",
           .permission = permission::kFreezeRead,
           .query = {{"format", "\"json\" | \"markdown\""}},
           .outcomes = {{200, "FreezeReport"}},
           .handler = report,
           .other_type = "text/markdown"},
      }};
}

}  // namespace ctrlplane::api
