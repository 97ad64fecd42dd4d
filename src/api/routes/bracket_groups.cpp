// Bracket groups looked at: what has not ended is in memory, what has is in the store.
#include <algorithm>

#include <fmt/core.h>

#include "api/bracket_views.h"
#include "api/cold.h"
#include "api/families.h"
#include "api/views.h"
#include "api/words.h"
#include "model/agent_type.h"

namespace ctrlplane::api {
namespace {

constexpr int64_t kMostJobs = 100;

// ---- Lists -----------------------------------------------------------------------------------------------

struct Wanted {
  std::vector<GroupStatus> statuses;  // empty: all
  std::optional<ResourceId> resource;
  std::optional<RuleId> rule;

  bool open() const { return has(false); }
  bool ended() const { return has(true); }
  bool fits(const BracketGroup& row) const {
    return (statuses.empty() || std::find(statuses.begin(), statuses.end(), row.status) != statuses.end()) &&
           (!resource || row.resource == *resource) && (!rule || row.rule == *rule);
  }

 private:
  static bool is_end(GroupStatus s) {
    return s == GroupStatus::kCompleted || s == GroupStatus::kFailed || s == GroupStatus::kCancelled;
  }
  bool has(bool end) const {
    return statuses.empty() ||
           std::any_of(statuses.begin(), statuses.end(), [&](GroupStatus s) { return is_end(s) == end; });
  }
};

Result<Wanted> wanted_by(const Call& c) {
  Wanted wanted{.statuses = {},
                .resource = TRY(c.query_id<ResourceId>("resourceId")),
                .rule = TRY(c.query_id<RuleId>("ruleId"))};
  for (const std::string& word : c.queries("status")) {
    auto status = parse_enum<GroupStatus>(word);
    if (!status)
      return invalid("status", fmt::format("has \"{}\", which is no status of a group", word.substr(0, 60)));
    wanted.statuses.push_back(*status);
  }
  return wanted;
}

// The part of a page that is in memory.
struct Listed {
  std::string items;             // written already
  std::vector<GroupId> written;  // on this page
  size_t total = 0;
};

Listed open_groups(const State& s, Time now, const Wanted& wanted, Page page) {
  std::vector<const GroupSlot*> found;
  auto look = [&](const GroupSlot& slot) {
    if (!slot.row.ended() && wanted.fits(slot.row)) found.push_back(&slot);
  };
  const ResourceIx r = wanted.resource ? s.resources.find(*wanted.resource) : ResourceIx{};
  if (!wanted.open()) return {};
  if (r)
    for (GroupIx g : s.resources[r].groups) look(s.groups[g]);
  else
    s.groups.each([&](GroupIx, const GroupSlot& slot) { look(slot); });
  std::sort(found.begin(), found.end(), [](const GroupSlot* a, const GroupSlot* b) {
    return std::tie(b->row.created_at, b->row.id) < std::tie(a->row.created_at, a->row.id);
  });
  Listed listed{.items = {}, .written = {}, .total = found.size()};
  JsonWriter w;
  w.open_array();
  for (size_t i = page.offset; i < found.size() && i < page.offset + page.limit; ++i) {
    write_group(w, s, now, rows_of(*found[i]));
    listed.written.push_back(found[i]->row.id);
  }
  listed.items = w.take().substr(1);
  return listed;
}

store::ColdQuery ended_query(const Wanted& wanted) {
  store::ColdQuery query;
  query.table = &store::table_for<BracketGroup>();
  query.present = {"finished_at"};
  query.order_by = "created_at";
  query.descending = true;
  if (wanted.resource) query.equals.push_back({"resource_id", store::CellView(wanted.resource->uuid)});
  if (wanted.rule) query.equals.push_back({"bracket_rule_id", store::CellView(wanted.rule->uuid)});
  std::vector<store::CellView> words;
  for (GroupStatus s : wanted.statuses) words.push_back(store::CellView(to_string(s)));
  if (!words.empty()) query.among = {{"status", std::move(words)}};
  return query;
}

std::string page_text(const std::string& items, size_t total, Page page) {
  return fmt::format(R"({{"items":[{}],"total":{},"limit":{},"offset":{}}})", items, total, page.limit,
                     page.offset);
}

Status list_with_ended(Call& call, const Wanted& wanted, const Listed& listed) {
  const Page page = call.page();
  const store::ColdQuery all = ended_query(wanted);
  const size_t total = listed.total + static_cast<size_t>(TRY(call.store().count(call.workspace(), all)));
  store::ColdQuery query = all;
  query.offset = static_cast<int64_t>(page.offset < listed.total ? 0 : page.offset - listed.total);
  query.limit = static_cast<int64_t>(page.limit - listed.written.size());
  std::vector<GroupRows> ended;
  if (query.limit > 0)
    for (BracketGroup& row : TRY(rows<BracketGroup>(call.store(), call.workspace(), query))) {
      // It ended between the two looks.
      const auto& written = listed.written;
      if (std::find(written.begin(), written.end(), row.id) == written.end())
        ended.push_back({.row = std::move(row), .members = {}});
    }
  if (ended.empty()) return call.reply(page_text(listed.items, total, page));
  TRY(add_members(call.store(), call.workspace(), ended));
  return call.ask<std::string>(
      [ended = std::move(ended)](const State& s, Time now) -> Result<std::string> {
        JsonWriter w;
        w.open_array();
        for (const GroupRows& group : ended) write_group(w, s, now, group);
        return w.take().substr(1);
      },
      [before = listed.items, total, page](Call& last, std::string text) {
        return last.reply(page_text(before.empty() ? text : before + "," + text, total, page));
      });
}

Status list(Call& c) {
  Wanted wanted = TRY(wanted_by(c));
  if (!wanted.ended())
    return c.read([wanted, page = c.page()](const State& s, Time now) -> Result<std::string> {
      const Listed listed = open_groups(s, now, wanted, page);
      return page_text(listed.items, listed.total, page);
    });
  return c.ask<Listed>(
      [wanted, page = c.page()](const State& s, Time now) -> Result<Listed> {
        return open_groups(s, now, wanted, page);
      },
      [wanted](Call& call, Listed listed) { return list_with_ended(call, wanted, listed); });
}

// ---- One -------------------------------------------------------------------------------------------------

struct JobNames {
  std::map<AgentId, JobAgent> agents;
  std::map<DeploymentId, Deployment> deployments;
  std::map<VersionId, Version> versions;
};

void write_job(JsonWriter& w, const Job& job, const JobNames& names) {
  auto agent = names.agents.find(job.agent);
  const bool pulled =
      agent != names.agents.end() && agent_type(agent->second.type).delivery == Delivery::kPull;
  w.open().member("id", job.id).member("deploymentId", job.target.deployment);
  if (auto it = names.deployments.find(job.target.deployment); it != names.deployments.end())
    w.member("deploymentName", it->second.name);
  w.member("versionId", job.version);
  if (auto it = names.versions.find(job.version); it != names.versions.end()) w.member("tag", it->second.tag);
  w.member("jobAgentId", job.agent).member("status", wire(job.status, pulled));
  w.member("cause", to_string(job.cause)).member_unless_empty("message", job.message);
  w.member("createdAt", job.created_at).member("startedAt", job.started_at);
  w.member("completedAt", job.ended_at).close();
}

Result<std::string> jobs_text(Call& call, GroupId id) {
  store::ColdQuery query;
  query.equals = {{"group_id", store::CellView(id.uuid)}};
  query.order_by = "created_at";
  query.descending = true;
  query.limit = kMostJobs;
  const auto jobs = TRY(rows<Job>(call.store(), call.workspace(), query));
  std::set<AgentId> agents;
  std::set<DeploymentId> deployments;
  std::set<VersionId> versions;
  for (const Job& job : jobs) {
    agents.insert(job.agent);
    deployments.insert(job.target.deployment);
    versions.insert(job.version);
  }
  const JobNames names{
      .agents = TRY((rows_by_id<JobAgent>(call.store(), call.workspace(), agents))),
      .deployments = TRY((rows_by_id<Deployment>(call.store(), call.workspace(), deployments))),
      .versions = TRY((rows_by_id<Version>(call.store(), call.workspace(), versions)))};
  JsonWriter w;
  w.open_array();
  for (const Job& job : jobs) write_job(w, job, names);
  return w.close_array().take();
}

Status show_with_jobs(Call& call, GroupId id, std::string text) {
  return call.reply(with_member(std::move(text), "jobs", TRY(jobs_text(call, id))));
}

Status get(Call& c) {
  const GroupId id = TRY(c.id<GroupId>("groupId"));
  return c.ask<std::string>(
      [id](const State& s, Time now) -> Result<std::string> {
        const GroupIx g = s.groups.find(id);
        return g ? group_text(s, now, rows_of(s.groups[g])) : std::string();
      },
      [id](Call& call, std::string text) -> Status {
        if (!text.empty()) return show_with_jobs(call, id, std::move(text));
        GroupRows group = TRY(stored_group(call, id));
        return call.ask<std::string>(
            [group = std::move(group)](const State& s, Time now) -> Result<std::string> {
              return group_text(s, now, group);
            },
            [id](Call& last, std::string made) { return show_with_jobs(last, id, std::move(made)); });
      });
}

}  // namespace

Family bracket_group_family() {
  using namespace permission;
  return {"Brackets",
          {
              {.method = "GET",
               .path = CTRLPLANE_W "/bracket-groups",
               .id = "listBracketGroups",
               .summary = "Bracket groups: those that have not ended, then those that have, newest first",
               .permission = kRead,
               .query = paged({{"status", "string", "one or more, repeated or with commas between them"},
                               {"resourceId", "uuid"},
                               {"ruleId", "uuid"}}),
               .outcomes = {{200, "BracketGroupPage"}},
               .handler = list},
              {.method = "GET",
               .path = CTRLPLANE_W "/bracket-groups/{groupId}",
               .id = "getBracketGroup",
               .summary = "A bracket group with its members, what it waits for, its timeline and its latest "
                          "100 jobs",
               .permission = kRead,
               .outcomes = {{200, "BracketGroupWithJobs"}},
               .handler = get},
          }};
}

}  // namespace ctrlplane::api
