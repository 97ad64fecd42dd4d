// Policies and skips of their rules.
#include <algorithm>

#include <fmt/format.h>

#include "api/api.h"
#include "api/families.h"
#include "api/views.h"
#include "policy/brackets.h"
#include "policy/judge.h"
#include "policy/registry.h"

namespace ctrlplane::api {
namespace {

// A deployment belongs to one bracket. Which of them another bracket comes first for, where both apply.
void warn_of_precedence(const State& s, const Policy& p, const PolicyRule& own,
                        const policy::BracketTerms& terms, std::vector<std::string>& all) {
  constexpr size_t kNamed = 3;
  s.policies.each([&](PolicyIx other, const PolicySlot& slot) {
    for (const PolicyRule& r : slot.row.rules) {
      const bool first = policy::bracket_order(slot.row, r) < policy::bracket_order(p, own);
      const policy::Rule* rule =
          slot.row.enabled && p.enabled && first ? policy::rule_of(s, other, r.id) : nullptr;
      if (!rule || !rule->bracket()) continue;
      std::vector<std::string> shared;
      s.deployments.each([&](DeploymentIx, const DeploymentSlot& d) {
        if (policy::is_member(terms, d.row) && policy::is_member(*rule->bracket(), d.row))
          shared.push_back(d.row.name);
      });
      if (shared.empty()) continue;
      std::sort(shared.begin(), shared.end());
      const size_t more = shared.size() - std::min(shared.size(), kNamed);
      shared.resize(shared.size() - more);
      all.push_back(
          fmt::format("{}{} {} also to the bracket of policy {}, which comes first where both apply",
                      fmt::join(shared, ", "), more ? fmt::format(" and {} more", more) : "",
                      shared.size() == 1 ? "belongs" : "belong", slot.row.name));
    }
  });
}

// What is accepted and may still surprise.
std::vector<std::string> warnings_about(const State& s, const Policy& p) {
  auto has = [&](std::string_view type) {
    return std::any_of(p.rules.begin(), p.rules.end(), [&](const PolicyRule& r) { return r.type == type; });
  };
  const bool gets_unstuck = has("retry") || has("rollback");
  std::vector<std::string> all;
  for (const PolicyRule& r : p.rules) {
    const policy::Rule* rule = policy::rule_of(s, s.policies.find(p.id), r.id);
    const policy::BracketTerms* bracket = rule ? rule->bracket() : nullptr;
    if (!bracket) continue;
    if (!gets_unstuck && !bracket->stuck_timeout)
      all.push_back(
          "a stuck resource holds its slot: the policy has a bracket, but no retry rule, no rollback rule "
          "and "
          "no stuckTimeoutSeconds");
    if (!bracket->names_hooks())
      all.push_back(
          "hooks are inferred from the order of the bracket's deployments: name them with preHookSelector "
          "and "
          "postHookSelector");
    warn_of_precedence(s, p, r, *bracket, all);
  }
  return all;
}

void write_policy(JsonWriter& w, const State& s, const Policy& p) {
  w.open().member("id", p.id).member("workspaceId", s.id()).member("name", p.name);
  w.member_unless_empty("description", p.description).member("selector", p.selector);
  w.member("priority", p.priority).member("enabled", p.enabled).member("metadata", p.metadata);
  w.key("rules").open_array();
  for (const PolicyRule& r : p.rules) {
    w.open().member("id", r.id).member("policyId", p.id);
    // A client that keeps the time it was shown finds it again.
    r.shown_created_at.empty() ? w.member("createdAt", r.created_at)
                               : w.member("createdAt", r.shown_created_at);
    w.member(r.type, r.body).close();
  }
  w.close_array().member("createdAt", p.created_at);
  if (const auto warnings = warnings_about(s, p); !warnings.empty()) {
    w.key("warnings").open_array();
    for (const std::string& warning : warnings) w.value(warning);
    w.close_array();
  }
  w.close();
}

std::string policy_text(const State& s, PolicyId id) {
  JsonWriter w;
  write_policy(w, s, s.policies[s.policies.find(id)].row);
  return w.take();
}

Result<UpsertPolicy::RuleInput> rule_from(const std::string& path, const Body& b) {
  UpsertPolicy::RuleInput rule;
  if (std::string id = b.text("id"); !id.empty()) {
    rule.id = RuleId::parse(id);
    if (!rule.id) return invalid(path + ".id", "must be a UUID");
  }
  rule.shown_created_at = b.text("createdAt");
  for (const std::string& name : b.names()) {
    if (name == "id" || name == "policyId" || name == "createdAt" || !b.has(name)) continue;
    if (!rule.type.empty())
      return invalid(path, fmt::format("names both {} and {}: a rule is one of them", rule.type, name));
    rule.type = name;
    if (!b.object(name)) return invalid(fmt::format("{}.{}", path, name), "must be an object");
    rule.body = TRY(b.document(name));
  }
  if (rule.type.empty()) return invalid(path, "names no rule");
  TRY(policy::validate_rule(path, rule.type, rule.body));  // here, off the loop
  return rule;
}

Result<UpsertPolicy> from_body(const Body& b) {
  UpsertPolicy u{.name = b.text("name"), .description = b.text("description")};
  u.selector = b.maybe_text("selector").value_or("true");
  u.priority = b.integer("priority").value_or(0);
  u.enabled = b.flag("enabled", true);
  u.metadata = b.metadata("metadata");
  std::vector<Body> rules = b.objects("rules");
  for (size_t i = 0; i < rules.size(); ++i)
    u.rules.push_back(TRY(rule_from(fmt::format("rules[{}]", i), rules[i])));
  return u;
}

RenderFn as_policy() {
  return [](const State& s, Time, const Answer& answer) { return policy_text(s, PolicyId{answer.id}); };
}

Status list(Call& c) {
  return c.read([page = c.page()](const State& s, Time) -> Result<std::string> {
    return page_of(sorted<PolicyIx>(s.policies, kByName), page,
                   [&](JsonWriter& w, const PolicySlot* p) { write_policy(w, s, p->row); });
  });
}

Status get(Call& c) {
  PolicyId id = TRY(c.id<PolicyId>("policyId"));
  return c.read([id](const State& s, Time) -> Result<std::string> {
    if (!s.policies.find(id)) return fail(ErrorCode::kNotFound, fmt::format("no policy {}", id.str()));
    return policy_text(s, id);
  });
}

// A client that makes a policy names ids of its own for the rules and sends them again with its first update.
Status create(Call& c) { return c.write(TRY(from_body(c.body())), as_policy()); }

Status put(Call& c) {
  UpsertPolicy u = TRY(from_body(c.body()));
  u.id = TRY(c.id<PolicyId>("policyId"));
  return c.write(std::move(u), as_policy());
}

Status remove(Call& c) {
  PolicyId id = TRY(c.id<PolicyId>("policyId"));
  return c.ask<std::string>(
      [id](const State& s, Time) -> Result<std::string> {
        if (!s.policies.find(id)) return fail(ErrorCode::kNotFound, fmt::format("no policy {}", id.str()));
        return policy_text(s, id);
      },
      [id](Call& call, std::string text) {
        return call.write(DeletePolicy{id}, [text](const State&, Time, const Answer&) { return text; });
      });
}

// ---- Skips -----------------------------------------------------------------------------------------------

void write_skip(JsonWriter& w, const PolicySkip& s) {
  w.open().member("id", s.id).member("ruleId", s.rule).member("versionId", s.version);
  w.member("environmentId", s.environment).member("resourceId", s.resource).member("expiresAt", s.expires_at);
  w.member("reason", s.reason).member("createdBy", s.created_by).member("createdAt", s.created_at).close();
}

Status list_skips(Call& c) {
  auto version = TRY(c.query_id<VersionId>("versionId"));
  return c.read([version, page = c.page()](const State& s, Time) -> Result<std::string> {
    std::vector<const PolicySkip*> found;
    s.versions.each([&](VersionIx v, const VersionSlot& slot) {
      if (version && slot.row.id != *version) return;
      for (const PolicySkip& skip : s.skips_of(v)) found.push_back(&skip);
    });
    std::sort(found.begin(), found.end(), [](auto* a, auto* b) {
      return std::tie(b->created_at, b->id) < std::tie(a->created_at, a->id);
    });
    return page_of(found, page, [](JsonWriter& w, const PolicySkip* skip) { write_skip(w, *skip); });
  });
}

Status create_skip(Call& c) {
  const Body& b = c.body();
  CreateSkip skip{.rule = *b.id<RuleId>("ruleId"),
                  .version = *b.id<VersionId>("versionId"),
                  .environment = b.id<EnvironmentId>("environmentId"),
                  .resource = b.id<ResourceId>("resourceId"),
                  .expires_at = b.time("expiresAt"),
                  .reason = b.text("reason")};
  // To skip a freeze is to bypass it, and asks for that.
  return c.ask<bool>([id = FreezeId{skip.rule.uuid}](
                         const State& s, Time) -> Result<bool> { return bool(s.freezes.find(id)); },
                     [skip](Call& call, bool is_freeze) -> Status {
                       const Permission& needed =
                           is_freeze ? permission::kFreezeBypass : permission::kPolicySkip;
                       TRY(call.api().directory().allows(call.who(), needed, call.workspace()));
                       return call.write(skip, [](const State& s, Time, const Answer& answer) {
                         JsonWriter w;
                         write_skip(w, *s.skip(SkipId{answer.id}));
                         return w.take();
                       });
                     });
}

Status delete_skip(Call& c) {
  return c.write(DeleteSkip{TRY(c.id<SkipId>("skipId"))}, accepted("Policy skip deleted"));
}

}  // namespace

Family policy_family() {
  using namespace permission;
  constexpr std::string_view kAll = CTRLPLANE_W "/policies", kOne = CTRLPLANE_W "/policies/{policyId}";
  return {"Policies",
          {
              {.method = "GET",
               .path = kAll,
               .id = "listPolicies",
               .summary = "Policies by name",
               .permission = kRead,
               .query = paged(),
               .outcomes = {{200, "PolicyPage"}},
               .handler = list},
              {.method = "POST",
               .path = kAll,
               .id = "createPolicy",
               .summary = "Make a policy",
               .permission = kPolicyWrite,
               .body = "UpsertPolicyRequest",
               .outcomes = {{202, "Policy"}},
               .handler = create},
              {.method = "GET",
               .path = kOne,
               .id = "getPolicy",
               .summary = "A policy",
               .permission = kRead,
               .outcomes = {{200, "Policy"}},
               .handler = get},
              {.method = "PUT",
               .path = kOne,
               .id = "upsertPolicy",
               .summary = "Make or replace a policy; rules keep their ids and ages",
               .permission = kPolicyWrite,
               .body = "UpsertPolicyRequest",
               .outcomes = {{202, "Policy"}},
               .handler = put},
              {.method = "DELETE",
               .path = kOne,
               .id = "deletePolicy",
               .summary = "Delete a policy",
               .permission = kPolicyWrite,
               .outcomes = {{202, "Policy"}},
               .handler = remove},
              {.method = "GET",
               .path = CTRLPLANE_W "/policy-skips",
               .id = "listPolicySkips",
               .summary = "Skips, newest first",
               .permission = kRead,
               .query = paged({{"versionId", "uuid"}}),
               .outcomes = {{200, "PolicySkipPage"}},
               .handler = list_skips},
              {.method = "POST",
               .path = CTRLPLANE_W "/policy-skips",
               .id = "createPolicySkip",
               .summary = "Let a version pass a rule (policy.skip), or a freeze (deployment_freeze.bypass)",
               .permission = kRead,  // the handler asks for the one that is needed
               .body = "CreateSkipRequest",
               .outcomes = {{201, "PolicySkip"}},
               .handler = create_skip},
              {.method = "DELETE",
               .path = CTRLPLANE_W "/policy-skips/{skipId}",
               .id = "deletePolicySkip",
               .summary = "End a skip; nothing is taken back",
               .permission = kPolicySkip,
               .outcomes = {{202, "Accepted"}},
               .handler = delete_skip},
          }};
}

}  // namespace ctrlplane::api
