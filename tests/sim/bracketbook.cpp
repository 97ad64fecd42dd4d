#include "sim/bracketbook.h"

#include <algorithm>

#include <fmt/core.h>

#include "sim/freezebook.h"
#include "sim/rule_text.h"
#include "sim/rulebook.h"

namespace ctrlplane::sim {
namespace {

bool selects(std::string_view body, std::string_view name, const Deployment& d) {
  const std::string_view selector = text(body, name);
  return !selector.empty() && holds(selector, {.deployment = &d});
}

bool is_member(std::string_view body, const Deployment& d) {
  return selects(body, "deploymentSelector", d) || selects(body, "preHookSelector", d) ||
         selects(body, "postHookSelector", d);
}

bool selects_dependency(const PolicyRule& rule, const Deployment& other, const Version* version) {
  static const Version kNone;
  return holds(text(rule, "dependsOn"), {.deployment = &other, .version = version ? version : &kNone});
}

const BracketMember* member_of(const Ledger& ledger, GroupId group, DeploymentId d) {
  auto it = ledger.members.find({group, d});
  return it == ledger.members.end() ? nullptr : &it->second;
}

const Version* locked_or_current(const Ledger& ledger, const BracketGroup& g, DeploymentId d) {
  const BracketMember* m = member_of(ledger, g.id, d);
  if (m && takes_part(*m) && m->version) return &ledger.versions.at(*m->version);
  return ledger.current_of({g.resource, g.environment, d});
}

const std::string& name_of(const Ledger& ledger, DeploymentId d) { return ledger.deployments.at(d).name; }

// Behind it nothing more is to come, however it went.
bool is_over(const BracketMember& m) {
  switch (m.outcome) {
    case MemberOutcome::kSucceeded: return !m.next_version;
    case MemberOutcome::kSkipped:
    case MemberOutcome::kAborted:
    case MemberOutcome::kRolledBack: return true;
    default: return false;
  }
}

// It, or if it takes no part whatever it depends on, is over.
bool is_past(const Ledger& ledger, const BracketGroup& g, const BracketMember& m,
             std::set<DeploymentId> path) {
  if (takes_part(m)) return is_over(m);
  if (m.outcome == MemberOutcome::kSkipped || !path.insert(m.deployment).second) return true;
  return std::all_of(m.depends_on.begin(), m.depends_on.end(), [&](const MemberEdge& e) {
    const BracketMember* on = member_of(ledger, g.id, e.on);
    return !on || is_past(ledger, g, *on, path);
  });
}

bool is_waived(const Ledger& ledger, const BracketGroup& g, const BracketMember& m, RuleId rule, Time now) {
  if (!m.version || !ledger.exists(target_of(g, m))) return false;
  return RuleBook(ledger, target_of(g, m)).is_skipped(rule, ledger.versions.at(*m.version), now);
}

// Hooks before, work, hooks behind.
int stage_of(const BracketMember& m) {
  return m.role == MemberRole::kPreHook ? 0 : m.role == MemberRole::kWork ? 1 : 2;
}

// Reaches one member from another over edges; `seen` ends cycles.
bool reaches(const std::map<DeploymentId, Edges>& edges, DeploymentId from, DeploymentId to,
             std::set<DeploymentId>& seen) {
  auto it = edges.find(from);
  if (it == edges.end() || !seen.insert(from).second) return false;
  return std::any_of(it->second.begin(), it->second.end(),
                     [&](const auto& e) { return e.second == to || reaches(edges, e.second, to, seen); });
}

bool reaches(const std::map<DeploymentId, Edges>& edges, DeploymentId from, DeploymentId to) {
  std::set<DeploymentId> seen;
  return reaches(edges, from, to, seen);
}

std::map<DeploymentId, Edges> all_edges(const Ledger& ledger, GroupId group) {
  std::map<DeploymentId, Edges> all;
  for (const BracketMember* m : members_of(ledger, group)) all[m->deployment] = edges_of(*m);
  return all;
}

bool is_done(const Ledger& ledger, const BracketGroup& g, const BracketMember& m, Time now,
             std::set<DeploymentId> path) {
  if (m.outcome == MemberOutcome::kSkipped) return true;
  if (takes_part(m)) return m.outcome == MemberOutcome::kSucceeded && !m.next_version;
  if (!path.insert(m.deployment).second) return false;
  return std::all_of(m.depends_on.begin(), m.depends_on.end(), [&](const MemberEdge& e) {
    const BracketMember* on = member_of(ledger, g.id, e.on);
    return !on || is_waived(ledger, g, m, e.rule, now) || is_done(ledger, g, *on, now, path);
  });
}

}  // namespace

// ---- Whom a rule concerns ------------------------------------------------------------------------------

std::optional<BoundBracket> bracket_of(const Ledger& ledger, const TargetKey& target) {
  const Facts facts = ledger.facts_of(target, nullptr);
  std::optional<BoundBracket> best;
  auto before = [](const BoundBracket& a, const BoundBracket& b) {
    return std::tuple(-a.policy->priority, a.rule->created_at, a.rule->id) <
           std::tuple(-b.policy->priority, b.rule->created_at, b.rule->id);
  };
  for (const auto& [id, policy] : ledger.policies) {
    if (!policy.enabled) continue;
    for (const PolicyRule& rule : policy.rules) {
      if (rule.type != "deploymentBracket" || !is_member(rule.body.text(), *facts.deployment)) continue;
      if (!holds(policy.selector, facts)) continue;
      if (const BoundBracket b{&policy, &rule}; !best || before(b, *best)) best = b;
    }
  }
  return best;
}

std::optional<BoundBracket> rule_named(const Ledger& ledger, RuleId id) {
  for (const auto& [p, policy] : ledger.policies)
    for (const PolicyRule& rule : policy.rules)
      if (rule.id == id) return BoundBracket{&policy, &rule};
  return std::nullopt;
}

std::vector<TargetKey> targets_of_bracket(const Ledger& ledger, RuleId rule, ResourceId resource,
                                          EnvironmentId environment) {
  std::vector<TargetKey> all;
  for (const auto& [d, deployment] : ledger.deployments) {
    const TargetKey key{resource, environment, d};
    if (!ledger.exists(key)) continue;
    if (auto own = bracket_of(ledger, key); own && own->rule->id == rule) all.push_back(key);
  }
  return all;
}

bool names_hooks(std::string_view body) {
  return member(body, "preHookSelector") || member(body, "postHookSelector");
}

MemberRole named_role(std::string_view body, const Deployment& d) {
  if (selects(body, "preHookSelector", d)) return MemberRole::kPreHook;
  return selects(body, "postHookSelector", d) ? MemberRole::kPostHook : MemberRole::kWork;
}

bool applies_to(const PolicyRule& rule, const Deployment& d) {
  return !member(rule, "appliesTo") || selects(rule.body.text(), "appliesTo", d);
}

// ---- Limits --------------------------------------------------------------------------------------------

bool is_counted(const PolicyRule& limit, const Resource& r) {
  return holds(text(limit, "groupSelector"), {.resource = &r});
}

std::optional<Capacity> capacity_of(const Ledger& ledger, RuleId id) {
  auto bound = rule_named(ledger, id);
  if (!bound || bound->rule->type != "resourceConcurrency") return std::nullopt;
  Capacity c;
  std::set<ResourceId> quarantined;
  for (const auto& [key, in] : ledger.quarantines) quarantined.insert(key.second);
  for (const auto& [r, resource] : ledger.resources) {
    if (!is_counted(*bound->rule, resource)) continue;
    ++c.total;
    c.quarantined += quarantined.contains(r);
  }
  const int64_t value = number(*bound->rule, "limitValue", 0);
  c.most = text(*bound->rule, "limitType") == "count" ? value : (c.total * value + 99) / 100;
  for (const auto& [key, slot] : ledger.slots) c.held += key.first == id;
  return c;
}

std::vector<RuleId> limits_over(const Ledger& ledger, const TargetKey& target) {
  std::vector<RuleId> all;
  const RuleBook book(ledger, target);
  for (const PolicyRule* rule : book.rules())
    if (rule->type == "resourceConcurrency" && is_counted(*rule, ledger.resources.at(target.resource)))
      all.push_back(rule->id);
  return all;
}

// ---- Groups --------------------------------------------------------------------------------------------

std::vector<const BracketMember*> members_of(const Ledger& ledger, GroupId group) {
  std::vector<const BracketMember*> all;
  for (auto it = ledger.members.lower_bound({group, DeploymentId{}});
       it != ledger.members.end() && it->first.first == group; ++it)
    all.push_back(&it->second);
  return all;
}

Edges edges_of(const Ledger& ledger, const BracketGroup& g, DeploymentId member,
               const std::vector<DeploymentId>& members) {
  Edges edges;
  const TargetKey own{g.resource, g.environment, member};
  const RuleBook book(ledger, own);
  for (const PolicyRule* rule : book.rules()) {
    if (rule->type != "deploymentDependency" || !applies_to(*rule, ledger.deployments.at(member))) continue;
    for (DeploymentId other : members)
      if (other != member && selects_dependency(*rule, ledger.deployments.at(other),
                                                ledger.current_of({g.resource, g.environment, other})))
        edges.insert({rule->id, other});
  }
  return edges;
}

Edges version_edges_of(const Ledger& ledger, const BracketGroup& g, DeploymentId member,
                       const std::vector<DeploymentId>& members) {
  Edges edges;
  const Version* own_version = locked_or_current(ledger, g, member);
  if (!own_version) return edges;
  for (DeploymentId other : members) {
    auto need = ledger.dependencies.find({own_version->id, other});
    const Version* theirs = locked_or_current(ledger, g, other);
    if (other != member && theirs && need != ledger.dependencies.end() &&
        holds(need->second.selector, {.version = theirs}))
      edges.insert({RuleId{}, other});
  }
  return edges;
}

Edges edges_of(const BracketMember& m) {
  Edges edges;
  for (const MemberEdge& e : m.depends_on) edges.insert({e.rule, e.on});
  return edges;
}

InferredHooks inferred_hooks(const std::map<DeploymentId, Edges>& edges) {
  InferredHooks hooks;
  if (edges.size() < 3) return hooks;
  for (const auto& [d, own] : edges) {
    bool all_after = true, all_before = true, wanted = false;
    for (const auto& [other, theirs] : edges) {
      if (other == d) continue;
      all_after = all_after && reaches(edges, other, d);
      all_before = all_before && reaches(edges, d, other);
      wanted |= std::any_of(theirs.begin(), theirs.end(), [&](const auto& e) { return e.second == d; });
    }
    if (own.empty() && all_after) hooks.first = d;
    if (!wanted && all_before) hooks.last = d;
  }
  if (!hooks.first || !hooks.last || hooks.first == hooks.last) return {};
  return hooks;
}

bool has_cycle(const Ledger& ledger, const BracketGroup& g, Time now) {
  std::map<DeploymentId, Edges> edges;
  for (const BracketMember* m : members_of(ledger, g.id)) {
    if (is_over(*m)) continue;  // nobody waits for it
    Edges& own = edges[m->deployment];
    for (const MemberEdge& e : m->depends_on)
      if (!is_waived(ledger, g, *m, e.rule, now)) own.insert({e.rule, e.on});
    for (const BracketMember* o : members_of(ledger, g.id))
      if (takes_part(*m) && takes_part(*o) && stage_of(*o) < stage_of(*m))
        own.insert({RuleId{}, o->deployment});
  }
  return std::any_of(edges.begin(), edges.end(),
                     [&](const auto& e) { return reaches(edges, e.first, e.first); });
}

bool is_done(const Ledger& ledger, const BracketGroup& g, const BracketMember& m, Time now) {
  return is_done(ledger, g, m, now, {});
}

std::string waits_for(const Ledger& ledger, const BracketGroup& g, const BracketMember& m, Time now) {
  for (const BracketMember* o : members_of(ledger, g.id)) {
    if (o->deployment == m.deployment || !takes_part(*o) || is_over(*o)) continue;
    if (m.role != MemberRole::kPreHook && o->role == MemberRole::kPreHook)
      return fmt::format("the pre-hook {} is {}", name_of(ledger, o->deployment), to_string(o->outcome));
    // Who winds down leaves behind what has failed.
    const bool given_up = g.course == GroupCourse::kWindDown && o->outcome == MemberOutcome::kFailed;
    if (m.role == MemberRole::kPostHook && o->role == MemberRole::kWork && !given_up)
      return fmt::format("{} is {}", name_of(ledger, o->deployment), to_string(o->outcome));
  }
  for (const MemberEdge& e : m.depends_on) {
    const BracketMember* on = member_of(ledger, g.id, e.on);
    if (!on || is_done(ledger, g, *on, now) || is_waived(ledger, g, m, e.rule, now)) continue;
    // Behind everything it only matters that nothing more is to come.
    if (m.role == MemberRole::kPostHook &&
        (is_past(ledger, g, *on, {}) || g.course == GroupCourse::kWindDown))
      continue;
    return fmt::format("it depends on {}, which is {}", name_of(ledger, e.on),
                       takes_part(*on) ? to_string(on->outcome) : "left out and not done");
  }
  std::map<DeploymentId, Edges> edges;
  for (const BracketMember* o : members_of(ledger, g.id))
    for (const MemberEdge& e : o->depends_on)
      if (!is_waived(ledger, g, *o, e.rule, now)) edges[o->deployment].insert({e.rule, e.on});
  for (const BracketMember* o : members_of(ledger, g.id))
    if (o->outcome == MemberOutcome::kRunning && o->deployment != m.deployment &&
        reaches(edges, o->deployment, m.deployment))
      return fmt::format("{} depends on it and is at work", name_of(ledger, o->deployment));
  return {};
}

std::string waits_to_go_back(const Ledger& ledger, const BracketGroup& g, const BracketMember& m) {
  const auto edges = all_edges(ledger, g.id);
  for (const BracketMember* o : members_of(ledger, g.id))
    if (o->deployment != m.deployment && o->outcome == MemberOutcome::kRollingBack &&
        reaches(edges, o->deployment, m.deployment))
      return fmt::format("{} goes back before it", name_of(ledger, o->deployment));
  return {};
}

std::string missing_need(const Ledger& ledger, const BracketGroup& g, const BracketMember& m) {
  for (auto it = ledger.dependencies.lower_bound({*m.version, DeploymentId{}});
       it != ledger.dependencies.end() && it->second.version == *m.version; ++it) {
    const VersionDependency& need = it->second;
    const BracketMember* on = member_of(ledger, g.id, need.on);
    bool met = on && on != &m && takes_part(*on) && on->version && !is_over(*on) &&
               holds(need.selector, {.version = &ledger.versions.at(*on->version)});
    for (const auto& [e, environment] : ledger.environments) {
      const TargetKey other{g.resource, e, need.on};
      const Version* current = ledger.exists(other) ? ledger.current_of(other) : nullptr;
      met |= current && holds(need.selector, {.version = current});
    }
    if (!met) return fmt::format("needs {} of another deployment", need.selector);
  }
  return {};
}

std::string missing_outside(const Ledger& ledger, const BracketGroup& g, const BracketMember& m, Time now) {
  const TargetKey own = target_of(g, m);
  const Version& version = ledger.versions.at(*m.version);
  const RuleBook book(ledger, own);
  for (const PolicyRule* rule : book.rules()) {
    if (rule->type != "deploymentDependency" || !applies_to(*rule, ledger.deployments.at(m.deployment)))
      continue;
    if (book.is_skipped(rule->id, version, now)) continue;
    bool any = std::any_of(m.depends_on.begin(), m.depends_on.end(),
                           [&](const MemberEdge& e) { return e.rule == rule->id; });
    for (const auto& [d, deployment] : ledger.deployments) {
      if (d == m.deployment) continue;
      for (const auto& [e, environment] : ledger.environments) {
        const TargetKey other{g.resource, e, d};
        if (!ledger.exists(other) || (e == g.environment && member_of(ledger, g.id, d))) continue;
        const Version* current = ledger.current_of(other);
        if (!selects_dependency(*rule, deployment, current)) continue;
        any = true;
        if (!current) return fmt::format("{} in {} does not run there", deployment.name, environment.name);
      }
    }
    if (!any) return "nothing that it depends on is there";
  }
  return missing_need(ledger, g, m);
}

bool passes_as_group(const Ledger& ledger, const Freeze& f, const BracketGroup& g,
                     std::optional<Time> handed_over, Time now) {
  if (!g.finish_by.empty()) return true;
  if (f.in_flight == InFlight::kFinishBrackets && handed_over && *handed_over <= f.effective_at) return true;
  bool any = false;
  for (const BracketMember* m : members_of(ledger, g.id)) {
    if (m->participation != Participation::kChanged || !m->version) continue;
    any = true;
    if (pass_of(ledger, f, target_of(g, *m), ledger.versions.at(*m->version), now) == Pass::kNone)
      return false;
  }
  return any;
}

}  // namespace ctrlplane::sim
