#include "sim/operators.h"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace ctrlplane::sim {
namespace {

constexpr size_t kMostPolicies = 4;

const char* const kPolicySelectors[] = {
    "true",
    "true",
    "environment.name == 'prod'",
    "resource.metadata['ring'] != 'b'",
    "resource.metadata['env'] == 'prod' || 'ring' in resource.metadata",
};
const char* const kGroupSelectors[] = {
    "true",
    "resource.metadata['env'] == 'prod'",
    "'ring' in resource.metadata",
    "resource.metadata['ring'] == 'a' || resource.name.endsWith('2')",
};
const std::string kMembers[] = {"app-http-pull", "app-webhook-keyed", "app-webhook-lookup", "app-webhook",
                                "app-tail"};

std::string named(const std::string& name) { return fmt::format("deployment.name == '{}'", name); }

}  // namespace

void Operators::start() {
  if (!world_.has_brackets) return;
  put(a_bracket_policy());
  if (world_.rng.chance(0.8)) put(a_limit_policy());
  act();
}

void Operators::act() {
  if (world_.calm) {
    calm_since_ = world_.time.now();
    raise_limits();
    return look_after_groups();
  }
  switch (world_.rng.below(20)) {
    case 0:
      if (policies_.size() < kMostPolicies)
        put(world_.rng.chance(0.5) ? a_bracket_policy() : a_limit_policy());
      break;
    case 1:
    case 2:
    case 3: change_a_policy(); break;
    case 4:
      if (policies_.size() > 2) delete_a_policy();
      break;
    case 5: skip_an_edge(); break;
    default: act_on_a_group();
  }
  world_.time.after(world_.rng.between(seconds(3), seconds(25)), [this] { act(); });
}

// ---- Policies ------------------------------------------------------------------------------------------

Operators::Rule Operators::rule(std::string type, const std::string& members) {
  Rule made;
  made.id = RuleId{world_.rng.uuid()};
  made.type = std::move(type);
  made.body = Json::parse_object("{" + members + "}").value();
  return made;
}

// All but the selectors.
std::string Operators::terms() {
  const char* const modes[] = {"collection_window", "wait_for_all", "immediate"};
  const char* const unchanged[] = {"skip_unchanged", "skip_unchanged", "redeploy_current", "require_all"};
  const char* const rollbacks[] = {"all_members", "individual", "halt_and_notify"};
  const std::string mode = one_of(modes);
  std::string strategy = one_of(unchanged);
  if (mode == "immediate" && strategy == "require_all") strategy = "redeploy_current";
  std::string body =
      fmt::format(R"("readinessMode":"{}","unchangedMemberStrategy":"{}","overlapStrategy":"{}")", mode,
                  strategy, world_.rng.chance(0.5) ? "merge" : "queue");
  if (mode != "immediate") body += fmt::format(R"(,"readinessWindowSeconds":{})", between(0, 90));
  if (world_.rng.chance(0.5)) body += fmt::format(R"(,"stuckTimeoutSeconds":{})", between(20, 300));
  if (world_.rng.chance(0.6)) body += fmt::format(R"(,"rollbackStrategy":"{}")", one_of(rollbacks));
  return body;
}

// The first and the last of the order are its hooks: named, left to be found, or not wanted.
Operators::Rule Operators::a_bracket(const std::vector<std::string>& order) {
  std::string body = terms();
  const bool are_named = world_.rng.chance(0.5), are_members = !are_named || world_.rng.chance(0.5);
  std::vector<std::string> members(order.begin() + !are_members, order.end() - !are_members);
  body += fmt::format(R"(,"deploymentSelector":"deployment.name in ['{}']")", fmt::join(members, "', '"));
  if (are_named) {
    body += fmt::format(R"(,"preHookSelector":"{}")", named(order.front()));
    body += fmt::format(R"(,"postHookSelector":"{}")", named(order.back()));
  } else if (world_.rng.chance(0.3)) {
    body += R"(,"preHookSelector":"false")";
  }
  return rule("deploymentBracket", body);
}

// Everybody after the first, the last after everybody, and some of those between after each other.
void Operators::add_order(UpsertPolicy& policy, const std::vector<std::string>& order) {
  for (size_t i = 1; i < order.size(); ++i) {
    std::vector<std::string> on;
    for (size_t j = 0; j < i; ++j)
      if (j == 0 || i + 1 == order.size() || world_.rng.chance(0.4)) on.push_back(order[j]);
    policy.rules.push_back(
        rule("deploymentDependency",
             fmt::format(R"("dependsOn":"deployment.name in ['{}']","appliesTo":"{}","require":"all")",
                         fmt::join(on, "', '"), named(order[i]))));
  }
}

UpsertPolicy Operators::a_bracket_policy() {
  UpsertPolicy p{.id = PolicyId{world_.rng.uuid()}, .name = fmt::format("bracket-{}", ++counter_)};
  p.selector = one_of(kPolicySelectors);
  p.priority = between(0, 3);
  std::vector<std::string> order(std::begin(kMembers), std::end(kMembers));
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[world_.rng.below(i + 1)]);
  order.resize(static_cast<size_t>(between(3, 5)));
  p.rules.push_back(a_bracket(order));
  if (world_.rng.chance(0.85)) add_order(p, order);
  if (world_.rng.chance(0.6))
    p.rules.push_back(
        rule("retry", fmt::format(R"("maxRetries":{},"backoffSeconds":{})", between(1, 2), between(0, 40))));
  if (world_.rng.chance(0.5)) p.rules.push_back(rule("rollback", ""));
  if (world_.rng.chance(0.3))
    p.rules.push_back(
        rule("gradualRollout",
             fmt::format(R"("rolloutType":"{}","timeScaleInterval":{})",
                         world_.rng.chance(0.5) ? "linear" : "linear-normalized", between(5, 60))));
  if (world_.rng.chance(0.3)) p.rules.push_back(a_limit());
  return p;
}

Operators::Rule Operators::a_limit() {
  const bool count = world_.rng.chance(0.6);
  const int64_t value = count ? (world_.rng.chance(0.1) ? 0 : between(1, 3)) : between(1, 60);
  return rule("resourceConcurrency",
              fmt::format(R"("groupSelector":"{}","limitType":"{}","limitValue":{})", one_of(kGroupSelectors),
                          count ? "count" : "percentage", value));
}

UpsertPolicy Operators::a_limit_policy() {
  UpsertPolicy p{.id = PolicyId{world_.rng.uuid()}, .name = fmt::format("limit-{}", ++counter_)};
  p.selector = one_of(kPolicySelectors);
  p.rules.push_back(a_limit());
  return p;
}

void Operators::put(const UpsertPolicy& policy) {
  auto known = std::find_if(policies_.begin(), policies_.end(),
                            [&](const UpsertPolicy& p) { return p.id == policy.id; });
  if (known != policies_.end())
    *known = policy;
  else
    policies_.push_back(policy);
  client_.ask(policy, somebody(), world_.calm ? 50 : 20);
}

void Operators::change_a_policy() {
  if (policies_.empty()) return;
  UpsertPolicy p = one_of(policies_);
  switch (world_.rng.below(6)) {
    case 0: p.enabled = !p.enabled; break;
    case 1: p.selector = one_of(kPolicySelectors); break;
    case 2: p.priority = between(0, 3); break;
    case 3:
      if (p.rules.size() > 1) p.rules.pop_back();
      break;
    default:
      // Other limits and other terms under the same id.
      for (Rule& r : p.rules) {
        if (r.type == "resourceConcurrency") r.body = a_limit().body;
        if (r.type != "deploymentBracket") continue;
        const UpsertPolicy other = a_bracket_policy();
        if (world_.rng.chance(0.5)) r.body = other.rules.front().body;
      }
  }
  put(p);
}

void Operators::delete_a_policy() {
  const size_t i = world_.rng.below(policies_.size());
  client_.ask(DeletePolicy{*policies_[i].id}, somebody(), 20);
  policies_.erase(policies_.begin() + static_cast<long>(i));
}

// ---- Groups --------------------------------------------------------------------------------------------

std::vector<BracketGroup> Operators::groups(bool at_work) const {
  std::vector<BracketGroup> all;
  for (const auto& [id, g] : world_.checker.ledger(w_).groups)
    if (!g.retired && (!at_work || g.active())) all.push_back(g);
  return all;
}

void Operators::act_on_a_group() {
  const auto all = groups(world_.rng.chance(0.6));
  if (all.empty()) return;
  const BracketGroup& g = one_of(all);
  ActOnGroup c{.group = g.id, .reason = "because"};
  std::vector<DeploymentId> members;
  for (const auto& [key, m] : world_.checker.ledger(w_).members)
    if (key.first == g.id) members.push_back(key.second);
  if (!members.empty() && world_.rng.chance(0.5)) c.deployment = one_of(members);
  const bool stuck = g.status == GroupStatus::kStuck;
  switch (world_.rng.below(16)) {
    case 0: c.action = GroupAction::kAbort; break;
    case 1:
      c.action = GroupAction::kAbort;
      c.run_post_hooks = true;
      break;
    case 2:
    case 3:
    case 4: c.action = GroupAction::kFinish; break;
    case 5:
    case 6:
    case 7: c.action = GroupAction::kSkipMember; break;
    case 8:
    case 9: c.action = g.ready_at ? GroupAction::kRetry : GroupAction::kCloseNow; break;
    default: c.action = GroupAction::kRetry; c.relock = world_.rng.chance(0.4);
  }
  if (g.ended()) c.action = GroupAction::kClearQuarantine;
  // Most of what goes on is left to go on.
  if (g.started() && !stuck && !g.ended() && world_.rng.chance(0.7)) return;
  client_.ask(c, somebody(), 10);
}

void Operators::skip_an_edge() {
  const auto& ledger = world_.checker.ledger(w_);
  std::vector<std::pair<RuleId, VersionId>> edges;
  for (const auto& [key, m] : ledger.members)
    if (!m.retired && m.version)
      for (const MemberEdge& e : m.depends_on) edges.push_back({e.rule, *m.version});
  if (edges.empty()) return;
  const auto& [rule, version] = one_of(edges);
  CreateSkip c{.rule = rule, .version = version};
  if (world_.rng.chance(0.5)) c.expires_at = world_.wall() + world_.rng.between(seconds(20), minutes(5));
  client_.ask(c, somebody(), 10);
}

// ---- The end -------------------------------------------------------------------------------------------

void Operators::raise_limits() {
  for (UpsertPolicy p : std::vector(policies_)) {
    bool raised = false;
    for (Rule& r : p.rules)
      if (r.type == "resourceConcurrency" && world_.rng.chance(0.8)) {
        r.body = Json::parse_object(R"({"groupSelector":"true","limitType":"count","limitValue":4})").value();
        raised = true;
      }
    if (raised) put(p);
  }
}

void Operators::look_after_groups() {
  if (world_.time.now() - calm_since_ > minutes(14)) return;
  for (const BracketGroup& g : groups(false)) {
    ActOnGroup c{.group = g.id, .action = GroupAction::kRetry, .reason = "the storm is over"};
    if (g.ended()) c.action = GroupAction::kClearQuarantine;
    const bool waits_for_nobody = !g.ended() && g.status != GroupStatus::kStuck;
    if (waits_for_nobody || world_.rng.chance(0.3)) continue;
    if (!g.ended() && world_.rng.chance(0.4)) {
      c.action = GroupAction::kAbort;
      c.run_post_hooks = world_.rng.chance(0.6);
    }
    client_.ask(c, somebody(), 20);
  }
  world_.time.after(seconds(70), [this] { look_after_groups(); });
}

std::string Operators::somebody() {
  const std::string people[] = {"ann", "gus", "hedy"};
  return one_of(people);
}

}  // namespace ctrlplane::sim
