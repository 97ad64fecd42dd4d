// Every no with its reason.
#include <algorithm>

#include <fmt/core.h>

#include "api/call.h"
#include "api/families.h"
#include "api/target_key.h"
#include "api/views.h"
#include "engine/explain.h"
#include "engine/select.h"

namespace ctrlplane::api {
namespace {

constexpr size_t kMaxVersions = 50;
constexpr uint32_t kMaxTargets = 500;  // of an environment that an overview looks at

void write_rule(JsonWriter& w, const policy::Explained& x) {
  const policy::Evaluation& e = x.evaluation;
  w.open().member("type", x.type);
  if (x.rule) w.member("ruleId", x.rule->id);
  if (x.policy) w.member("policyId", x.policy->id).member("policyName", x.policy->name);
  w.member("verdict", policy::to_string(e.verdict)).member("needsApproval", e.needs_approval);
  w.member("message", e.message);
  if (!e.details.empty()) w.key("details").raw(e.details);
  w.member("satisfiedAt", e.satisfied_at).member("nextEvaluationTime", e.next_at);
  if (e.verdict != policy::Verdict::kAllowed) w.member_unless_empty("unblock", e.unblock);
  if (x.skip) w.member("skippedBy", x.skip->created_by);
  w.close();
}

void write_version(JsonWriter& w, const State& s, const VersionExplained& v) {
  w.open().key("version");
  write(w, s.versions[v.version].row);
  w.member("verdict", policy::to_string(v.verdict))
      .member("current", v.is_current)
      .member("desired", v.is_desired);
  w.member_unless_empty("notDeployable", v.not_deployable);
  if (v.first_blocker) write_rule(w.key("firstBlocker"), v.rules[*v.first_blocker]);
  w.key("rules").open_array();
  for (const policy::Explained& x : v.rules) write_rule(w, x);
  w.close_array().close();
}

void write_tag(JsonWriter& w, std::string_view name, const State& s, VersionIx v) {
  if (!v) return;
  w.key(name).open().member("id", s.versions[v].row.id).member("tag", s.versions[v].row.tag).close();
}

Status explain(Call& c) {
  TargetKey key = TRY(target_key_in(c));
  return c.read([key](const State& s, Time now) -> Result<std::string> {
    TargetIx t = TRY(find_target(s, key));
    TargetExplained e = explain_target(s, now, t, kMaxVersions);
    JsonWriter w;
    w.open().key("releaseTarget");
    write(w, key);
    w.member("summary", e.summary);
    write_tag(w, "currentVersion", s, s.at(t).current_version);
    write_tag(w, "desiredVersion", s, s.at(t).desired_version);
    w.member_unless_empty("waitingFor", e.plan.waiting_for).member("nextEvaluationTime", e.plan.look_again);
    write_warnings(w, scope_warnings(s, t));
    w.key("versions").open_array();
    for (const VersionExplained& v : e.versions) write_version(w, s, v);
    w.close_array().close();
    return w.take();
  });
}

struct Tally {
  uint32_t looked = 0, allowed = 0, pending = 0, denied = 0, current = 0;
  std::optional<VersionExplained> example;  // of a target where it is blocked, else of any
};

Tally tally(const State& s, Time now, DeploymentIx d, EnvironmentIx e, VersionIx v) {
  Tally all;
  s.each_target_in(d, e, v, [&](TargetIx t) {
    if (all.looked == kMaxTargets) return;
    ++all.looked;
    if (s.at(t).current_version == v) ++all.current;
    VersionExplained x = explain_version(s, now, t, v);
    if (x.verdict == policy::Verdict::kAllowed) ++all.allowed;
    if (x.verdict == policy::Verdict::kPending) ++all.pending;
    if (x.verdict == policy::Verdict::kDenied) ++all.denied;
    bool tells_more = !all.example || (x.first_blocker && !all.example->first_blocker);
    if (tells_more) all.example = std::move(x);
  });
  return all;
}

Status evaluations(Call& c) {
  DeploymentId deployment = TRY(c.id<DeploymentId>("deploymentId"));
  VersionId version = TRY(c.id<VersionId>("versionId"));
  return c.read([deployment, version](const State& s, Time now) -> Result<std::string> {
    DeploymentIx d = s.deployments.find(deployment);
    VersionIx v = s.versions.find(version);
    if (!d || !v || s.versions[v].deployment != d)
      return fail(ErrorCode::kNotFound, fmt::format("no version {} of this deployment", version.str()));
    JsonWriter w;
    w.open().key("version");
    write(w, s.versions[v].row);
    w.key("environments").open_array();
    for (const EnvironmentSlot* slot : sorted<EnvironmentIx>(s.environments, kByName)) {
      EnvironmentIx e = s.environments.find(slot->row.id);
      if (s.targets_in(d, e, v) == 0) continue;
      Tally all = tally(s, now, d, e, v);
      w.open().key("environment").open().member("id", slot->row.id).member("name", slot->row.name).close();
      w.member("targets", s.targets_in(d, e, v)).member("looked", all.looked).member("allowed", all.allowed);
      w.member("pending", all.pending).member("denied", all.denied).member("current", all.current);
      w.key("rules").open_array();
      if (all.example)
        for (const policy::Explained& x : all.example->rules) write_rule(w, x);
      w.close_array().close();
    }
    w.close_array().close();
    return w.take();
  });
}

Status eligible(Call& c) {
  TargetKey key = TRY(target_key_in(c));
  std::shared_ptr<const Selector> filter;
  if (auto text = c.body().maybe_text("filter")) {
    auto compiled = Selector::compile(*text, Selector::Subject::kVersionOnly);
    if (!compiled) return invalid("filter", compiled.error().message);
    filter = std::make_shared<const Selector>(std::move(*compiled));
  }
  std::vector<std::string> excluded = c.body().texts("excludeRuleIds");
  return c.read([=, page = c.page()](const State& s, Time now) -> Result<std::string> {
    TargetIx t = TRY(find_target(s, key));
    std::vector<const Version*> found;
    for (VersionIx v : s.deployments[s.at(t).deployment].versions) {
      const Version& row = s.versions[v].row;
      if (v != s.at(t).current_version && !s.in_scope(v, t)) continue;
      if (row.status == VersionStatus::kRejected || row.status == VersionStatus::kBuilding) continue;
      if (filter && filter->match({.version = &row}) != ctrlplane::Match::kYes) continue;
      auto rules = policy::explain(s, now, t, v, waiver_for(s, t, v));
      bool passes = std::all_of(rules.begin(), rules.end(), [&](const policy::Explained& x) {
        if (x.evaluation.verdict == policy::Verdict::kAllowed) return true;
        return x.rule && std::find(excluded.begin(), excluded.end(), x.rule->id.str()) != excluded.end();
      });
      if (passes) found.push_back(&row);
    }
    return page_of(found, page, [](JsonWriter& w, const Version* v) { write(w, *v); });
  });
}

}  // namespace

Family explain_family() {
  using namespace permission;
  return {
      "Explain",
      {
          {.method = "GET",
           .path = CTRLPLANE_W "/release-targets/{releaseTargetKey}/explain",
           .id = "explainTarget",
           .summary =
               "Why a target runs what it runs: every candidate, every rule, the first that blocks, who can "
               "unblock it, when it is looked at next",
           .permission = kRead,
           .outcomes = {{200, "TargetExplanation"}},
           .handler = explain},
          {.method = "GET",
           .path = CTRLPLANE_W "/deployments/{deploymentId}/versions/{versionId}/evaluations",
           .id = "evaluateVersion",
           .summary = "What the rules say about a version, by environment",
           .permission = kRead,
           .outcomes = {{200, "VersionEvaluations"}},
           .handler = evaluations},
          {.method = "POST",
           .path = CTRLPLANE_W "/release-targets/{releaseTargetKey}/eligible-versions",
           .id = "listEligibleVersions",
           .summary = "Versions that every rule allows on a target",
           .permission = kRead,
           .query = paged(),
           .body = "EligibleVersionsRequest",
           .outcomes = {{200, "DeploymentVersionPage"}},
           .handler = eligible},
      }};
}

}  // namespace ctrlplane::api
