#include "sim/reviewers.h"

#include <algorithm>

#include <fmt/core.h>

namespace ctrlplane::sim {
namespace {

constexpr size_t kMostPolicies = 5;

// Some look at metadata that not every resource has.
const char* const kSelectors[] = {
    "true",
    "environment.name == 'prod'",
    "environment.name != 'staging' && deployment.name.startsWith('app-webhook')",
    "deployment.name in ['app-http-pull', 'app-webhook-keyed']",
    "resource.metadata['ring'] == 'a'",
    "!(resource.metadata['ring'] == 'b') && environment.name == 'prod'",
    "'ring' in resource.metadata || deployment.name == 'app-webhook'",
    "resource.metadata['env'] == 'prod' || resource.name.endsWith('2')",
};
const char* const kVersionSelectors[] = {
    "!version.tag.endsWith('3')",
    "version.metadata['channel'] == 'stable'",
    "version.metadata['channel'] == 'stable' || environment.name == 'staging'",
    "!(version.metadata['channel'] == 'beta' && resource.metadata['ring'] == 'a')",
    "version.tag.startsWith('v') || deployment.name != 'app-webhook'",
};

}  // namespace

Reviewers::Reviewers(World& world, WorkspaceId w, Client& client)
    : world_(world),
      w_(w),
      client_(client),
      have_policies_(world.rng.chance(world.has_brackets ? 0.5 : 0.75)) {}

void Reviewers::start() {
  if (!have_policies_) return;
  for (int64_t n = between(1, 3); n > 0; --n) put(a_policy());
  act();
}

void Reviewers::act() {
  if (world_.calm) return say_what_is_left_to_say();
  switch (world_.rng.below(12)) {
    case 0:
    case 1:
      if (policies_.size() < kMostPolicies) put(a_policy());
      break;
    case 2:
    case 3: change_a_policy(); break;
    case 4: delete_a_policy(); break;
    case 5:
    case 6: skip_a_rule(); break;
    case 7: force_or_clear(); break;
    default:
      if (!versions_.empty()) say(a_late_version().version);
  }
  world_.time.after(world_.rng.between(seconds(5), seconds(50)), [this] { act(); });
}

// ---- Policies ------------------------------------------------------------------------------------------

UpsertPolicy::RuleInput Reviewers::a_rule() {
  UpsertPolicy::RuleInput rule;
  rule.id = RuleId{world_.rng.uuid()};
  std::string body;
  switch (world_.rng.below(13)) {
    case 0:
    case 1:
    case 2:
      rule.type = "anyApproval";
      body = fmt::format(R"("minApprovals":{})", between(1, 2));
      if (world_.rng.chance(0.3)) body += R"(,"noSelfApproval":true)";
      if (world_.rng.chance(0.2)) body += R"(,"approverRoles":["operator"])";
      break;
    case 3:
    case 4:
    case 5: {
      rule.type = "deploymentWindow";
      const std::string rules[] = {
          fmt::format("FREQ=MINUTELY;INTERVAL={}", between(10, 25)),
          "FREQ=HOURLY",
          fmt::format("FREQ=HOURLY;BYMINUTE={},{}", between(0, 29), between(30, 59)),
          fmt::format(R"(DTSTART:20260101T00{:02}30Z\nRRULE:FREQ=MINUTELY;INTERVAL={})", between(0, 59),
                      between(12, 40)),
          fmt::format("FREQ=DAILY;BYHOUR=0,1;BYMINUTE={}", between(0, 59)),
      };
      body = fmt::format(R"("rrule":"{}","durationMinutes":{})", one_of(rules), between(3, 20));
      if (world_.rng.chance(0.4)) body += R"(,"allowWindow":false)";
      break;
    }
    case 6:
      rule.type = "versionCooldown";
      body = fmt::format(R"("intervalSeconds":{})", between(30, 400));
      break;
    case 7:
      rule.type = "gradualRollout";
      body =
          world_.rng.chance(0.5)
              ? fmt::format(R"("rolloutType":"linear","timeScaleInterval":{})", between(10, 90))
              : fmt::format(R"("rolloutType":"linear-normalized","timeScaleInterval":{})", between(60, 500));
      break;
    case 8:
      rule.type = "versionSelector";
      body = fmt::format(R"("selector":"{}")", one_of(kVersionSelectors));
      break;
    case 9:
      rule.type = "environmentProgression";
      body =
          fmt::format(R"("dependsOnEnvironmentSelector":"{}","minimumSuccessPercentage":{})",
                      world_.rng.chance(0.7) ? "environment.name == 'staging'" : "true", between(2, 10) * 10);
      if (world_.rng.chance(0.5)) body += fmt::format(R"(,"minimumSoakTimeMinutes":{})", between(1, 6));
      if (world_.rng.chance(0.2)) body += R"(,"maximumAgeHours":1)";
      if (world_.rng.chance(0.3)) body += R"(,"mode":"any")";
      if (world_.rng.chance(0.2)) body += R"(,"successStatuses":["successful","failure"])";
      break;
    case 10:
    case 11:
      rule.type = "retry";
      body = fmt::format(R"("maxRetries":{},"backoffSeconds":{})", between(1, 3), between(0, 120));
      if (world_.rng.chance(0.5)) body += R"(,"backoffStrategy":"exponential","maxBackoffSeconds":200)";
      break;
    default:
      rule.type = world_.rng.chance(0.6) ? "rollback" : "deploymentDependency";
      if (rule.type == "deploymentDependency")
        body = fmt::format(R"("dependsOn":"deployment.name == 'app-http-pull'","require":"{}")",
                           world_.rng.chance(0.5) ? "any" : "all");
  }
  rule.body = Json::parse_object("{" + body + "}").value();
  return rule;
}

// Whether the policies there are leave room for another rule of the kind. A roll-out under several windows
// that are seldom open at once is looked for far ahead: dear, and nothing more to learn from.
bool Reviewers::has_room_for(const std::string& type,
                             const std::vector<UpsertPolicy::RuleInput>& more) const {
  size_t windows = 0, rollouts = 0;
  auto count = [&](const UpsertPolicy::RuleInput& rule) {
    windows += rule.type == "deploymentWindow";
    rollouts += rule.type == "gradualRollout";
  };
  for (const UpsertPolicy& p : policies_) std::for_each(p.rules.begin(), p.rules.end(), count);
  std::for_each(more.begin(), more.end(), count);
  if (type == "deploymentWindow") return rollouts == 0 || windows == 0;
  return type != "gradualRollout" || windows < 2;
}

UpsertPolicy Reviewers::a_policy() {
  UpsertPolicy p{.id = PolicyId{world_.rng.uuid()}, .name = fmt::format("policy-{}", ++counter_)};
  p.selector = one_of(kSelectors);
  p.priority = between(0, 3);
  for (int64_t n = between(1, 3); n > 0; --n)
    if (UpsertPolicy::RuleInput rule = a_rule(); has_room_for(rule.type, p.rules)) p.rules.push_back(rule);
  for (const auto& rule : p.rules) {
    // Where these would hold up what they wait for, nothing would ever happen.
    if (rule.type == "environmentProgression") p.selector = "environment.name == 'prod'";
    if (rule.type == "deploymentDependency") p.selector = "deployment.name != 'app-http-pull'";
  }
  return p;
}

void Reviewers::put(const UpsertPolicy& policy) {
  ++world_.policies;
  auto known = std::find_if(policies_.begin(), policies_.end(),
                            [&](const UpsertPolicy& p) { return p.id == policy.id; });
  if (known != policies_.end())
    *known = policy;
  else
    policies_.push_back(policy);
  client_.ask(policy, somebody(), 20);
}

void Reviewers::change_a_policy() {
  if (policies_.empty()) return;
  UpsertPolicy p = policies_[world_.rng.below(policies_.size())];
  switch (world_.rng.below(5)) {
    case 0: p.enabled = !p.enabled; break;
    case 1: p.selector = one_of(kSelectors); break;
    case 2:
      if (UpsertPolicy::RuleInput rule = a_rule(); has_room_for(rule.type, {})) p.rules.push_back(rule);
      break;
    case 3:
      if (!p.rules.empty()) p.rules.erase(p.rules.begin());
      break;
    default: {
      // Another rule of the same kind under the same id: its time of creation stays.
      UpsertPolicy::RuleInput other = a_rule();
      for (auto& rule : p.rules)
        if (rule.type == other.type) rule.body = other.body;
    }
  }
  if (p.rules.size() <= 4) put(p);
}

void Reviewers::delete_a_policy() {
  if (policies_.empty()) return;
  size_t i = world_.rng.below(policies_.size());
  client_.ask(DeletePolicy{*policies_[i].id}, somebody(), 20);
  policies_.erase(policies_.begin() + static_cast<long>(i));
}

void Reviewers::skip_a_rule() {
  if (policies_.empty() || versions_.empty()) return;
  const UpsertPolicy& p = policies_[world_.rng.below(policies_.size())];
  if (p.rules.empty()) return;
  CreateSkip c{.rule = *p.rules[world_.rng.below(p.rules.size())].id, .version = a_late_version().version};
  if (world_.rng.chance(0.4)) c.environment = client_.environments()[world_.rng.below(2)].id;
  const auto& resources = world_.checker.ledger(w_).resources;
  if (world_.rng.chance(0.2) && !resources.empty())
    c.resource = std::next(resources.begin(), static_cast<long>(world_.rng.below(resources.size())))->first;
  if (world_.rng.chance(0.5)) c.expires_at = world_.wall() + world_.rng.between(minutes(1), minutes(30));
  bool withdrawn = world_.rng.chance(0.2);
  client_.ask(c, somebody(), 10, [this, withdrawn](Reply r) {
    if (r && withdrawn) client_.ask(DeleteSkip{{r->id}}, somebody(), 10);
  });
}

// ---- Versions ------------------------------------------------------------------------------------------

void Reviewers::published(VersionId version, DeploymentId deployment) {
  versions_.push_back({version, deployment});
  if (!have_policies_) return;
  for (int64_t n = between(0, 3); n > 0; --n)
    world_.time.after(world_.rng.between(seconds(1), minutes(3)), [this, version] { say(version); });
}

const Reviewers::Published& Reviewers::a_late_version() {
  size_t late = std::min<size_t>(versions_.size(), 12);
  return versions_[versions_.size() - 1 - world_.rng.below(late)];
}

std::string Reviewers::somebody() {
  const std::string people[] = {"ann", "bob", "cleo", client_.name()};
  return one_of(people);
}

void Reviewers::say(VersionId version) {
  SetApproval c{.version = version};
  if (world_.rng.chance(0.6)) c.environments = {*client_.environments()[world_.rng.below(2)].id};
  c.status = world_.rng.chance(0.85) ? ApprovalStatus::kApproved : ApprovalStatus::kRejected;
  c.role = world_.rng.chance(0.5) ? Role::kOperator : Role::kDeployer;
  client_.ask(std::move(c), somebody(), 20);
}

void Reviewers::force_or_clear() {
  const auto& targets = world_.checker.ledger(w_).targets;
  if (targets.empty() || versions_.empty()) return;
  auto it = std::next(targets.begin(), static_cast<long>(world_.rng.below(targets.size())));
  if (world_.rng.chance(0.4)) return client_.ask(ClearRollback{it->first}, somebody(), 10);
  const Published& late = a_late_version();
  if (late.deployment == it->first.deployment)
    client_.ask(ForceDeploy{it->first, late.version, "it burns"}, somebody(), 10);
}

// The storm is over: much of what waits for people gets their word.
void Reviewers::say_what_is_left_to_say() {
  size_t late = std::min<size_t>(versions_.size(), 12);
  for (size_t i = versions_.size() - late; i < versions_.size(); ++i)
    for (const char* who : {"ann", "bob"})
      if (world_.rng.chance(0.7))
        client_.ask(SetApproval{.version = versions_[i].version, .role = Role::kOperator}, who, 50);
}

}  // namespace ctrlplane::sim
