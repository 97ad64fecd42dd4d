#include "sim/rulebook.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.h"
#include "sim/bracketbook.h"
#include "sim/freezebook.h"
#include "sim/rule_text.h"
#include "sim/window.h"

namespace ctrlplane::sim {
namespace {

Windows windows_of(const PolicyRule& rule) {
  return Windows(text(rule, "rrule"), minutes(number(rule, "durationMinutes", 0)), rule.created_at);
}

// "A version that was current here before passes approval, progression, cooldown, rollout and windows."
bool counts_on_return(const PolicyRule& rule) {
  return rule.type == "versionSelector" || rule.type == "deploymentDependency";
}

bool is_asked(const PolicyRule& rule, Asked asked) {
  const bool at_start = rule.type == "deploymentWindow" || rule.type == "gradualRollout";
  switch (asked) {
    case Asked::kAll: return true;
    case Asked::kAlone: return rule.type != "deploymentBracket";
    case Asked::kStart: return at_start;
    case Asked::kLock: break;
  }
  return !at_start && rule.type != "deploymentDependency" && rule.type != "deploymentBracket";
}

// FNV-1a, 64 bits.
uint64_t hash_of(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3;
  return h;
}
uint64_t place_of(const TargetKey& key, VersionId version) { return hash_of(key.str() + version.str()); }
uint64_t place_of(ResourceId resource, RuleId bracket) { return hash_of(resource.str() + bracket.str()); }

// When an attempt of the version first ended there in a way that the rule counts as a success.
std::optional<Time> first_end(const PolicyRule& rule, const TargetState& row, VersionId version) {
  std::string_view statuses = member(rule, "successStatuses").value_or("[\"successful\"]");
  statuses = statuses.substr(0, statuses.find(']'));
  std::optional<Time> first;
  auto note = [&](VersionId of, JobStatus status, Time at) {
    if (of == version && statuses.find(to_string(status)) != std::string_view::npos)
      first = first ? std::min(*first, at) : at;
  };
  for (const PastVersion& p : row.past) note(p.version, JobStatus::kSuccessful, p.first_success);
  for (const Ending& e : row.endings) note(e.version, e.status, e.first_at);
  return first;
}

}  // namespace

RuleBook::RuleBook(const Ledger& ledger, const TargetKey& target) : ledger_(ledger), target_(target) {
  Facts facts = ledger_.facts_of(target_, nullptr);
  for (const auto& [id, policy] : ledger_.policies) {
    if (!policy.enabled || !holds(policy.selector, facts)) continue;
    for (const PolicyRule& rule : policy.rules) rules_.push_back(&rule);
  }
}

const PolicySkip* RuleBook::skip_of(RuleId rule, const Version& v, std::optional<Time> now) const {
  for (const auto& [id, skip] : ledger_.skips) {
    if (skip.rule != rule || skip.version != v.id) continue;
    if (skip.environment && *skip.environment != target_.environment) continue;
    if (skip.resource && *skip.resource != target_.resource) continue;
    if (now && skip.expires_at && *skip.expires_at <= *now) continue;
    return &skip;
  }
  return nullptr;
}

bool RuleBook::is_skipped(RuleId rule, const Version& v, Time now) const {
  return skip_of(rule, v, now) != nullptr;
}

std::optional<No> RuleBook::refusal(const Version& v, Time now, bool returning, Asked asked,
                                    const BracketGroup* group) const {
  for (const PolicyRule* rule : rules_) {
    if (!is_asked(*rule, asked) || (returning && !counts_on_return(*rule))) continue;
    if (skip_of(rule->id, v, now)) continue;
    if (asked == Asked::kAlone && rule->type == "gradualRollout" && is_beside_bracket(*rule)) continue;
    if (Verdict verdict = ask(*rule, v, now, group); !verdict.no.empty()) return No{rule->type, verdict.no};
  }
  if (asked != Asked::kAll && asked != Asked::kAlone) return std::nullopt;
  if (std::string missing = missing_dependency(v); !missing.empty()) return No{"versionDependency", missing};
  return std::nullopt;
}

bool RuleBook::is_excluded(const Version& v) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const PolicyRule* rule) {
    return rule->type == "versionSelector" && !skip_of(rule->id, v, std::nullopt) &&
           !ask(*rule, v, Time{}).no.empty();
  });
}

RuleBook::Verdict RuleBook::ask(const PolicyRule& rule, const Version& v, Time now,
                                const BracketGroup* group) const {
  if (rule.type == "anyApproval") return approval(rule, v);
  if (rule.type == "deploymentWindow") return window(rule, now);
  if (rule.type == "versionCooldown") return cooldown(rule, v, now);
  if (rule.type == "environmentProgression") return progression(rule, v, now);
  if (rule.type == "gradualRollout")
    return is_beside_bracket(rule) ? bracket_rollout(rule, v, now, group) : rollout(rule, v, now);
  if (rule.type == "deploymentDependency") return dependency(rule);
  if (rule.type == "versionSelector")
    return {holds(text(rule, "selector"), ledger_.facts_of(target_, &v)) ? "" : "is not selected", {}};
  if (rule.type == "deploymentBracket") {
    auto own = bracket_of(ledger_, target_);
    return {own && own->rule->id == rule.id ? "starts it in groups" : "", {}};
  }
  CHECK(rule.type == "retry" || rule.type == "rollback" || rule.type == "resourceConcurrency", rule.type);
  return {};  // about attempts, or about capacity
}

// ---- Rule by rule --------------------------------------------------------------------------------------

RuleBook::Verdict RuleBook::approval(const PolicyRule& rule, const Version& v) const {
  if (v.created_at < rule.created_at) return {"", v.created_at};
  std::string_view role;  // worlds name one: ["operator"]
  if (auto list = member(rule, "approverRoles")) role = list->substr(2, list->find('"', 2) - 2);
  std::vector<Time> given;
  for (auto it = ledger_.approvals.lower_bound({v.id, target_.environment, ""});
       it != ledger_.approvals.end(); ++it) {
    const Approval& a = it->second;
    if (a.version != v.id || a.environment != target_.environment) break;
    if (a.status != ApprovalStatus::kApproved) continue;
    if (flag(rule, "noSelfApproval", false) && a.actor == v.created_by) continue;
    if (!role.empty() && (!a.role || to_string(*a.role) != role)) continue;
    given.push_back(a.at);
  }
  std::sort(given.begin(), given.end());
  auto needed = static_cast<size_t>(number(rule, "minApprovals", 0));
  if (needed == 0) return {"", v.created_at};
  if (given.size() < needed) return {fmt::format("has {} of {} approvals", given.size(), needed), {}};
  return {"", given[needed - 1]};
}

RuleBook::Verdict RuleBook::window(const PolicyRule& rule, Time now) const {
  if (!ledger_.current_of(target_)) return {};  // never deployed before
  bool allows = flag(rule, "allowWindow", true);
  if (windows_of(rule).contains(now) == allows) return {};
  return {fmt::format("{} {} at {}", allows ? "is outside" : "is inside", text(rule, "rrule"),
                      format_rfc3339(now)),
          {}};
}

RuleBook::Verdict RuleBook::cooldown(const PolicyRule& rule, const Version& v, Time now) const {
  const Version* before = ledger_.current_of(target_);
  if (!before || before->id == v.id) return {};
  Time from = before->created_at + seconds(number(rule, "intervalSeconds", 0));
  if (now >= from) return {};
  return {fmt::format("comes before {}", format_rfc3339(from)), {}};
}

RuleBook::Verdict RuleBook::progression(const PolicyRule& rule, const Version& v, Time now) const {
  std::optional<Verdict> worst, best;
  for (const auto& [id, other] : ledger_.environments) {
    if (id == target_.environment || !ledger_.are_beside(target_.deployment, target_.environment, id))
      continue;
    if (!holds(text(rule, "dependsOnEnvironmentSelector"), {.environment = &other})) continue;
    Verdict one = proof(rule, v, id, now);
    auto badness = [](const Verdict& x) { return std::pair(!x.no.empty(), x.since); };
    if (!worst || badness(one) > badness(*worst)) worst = one;
    if (!best || badness(one) < badness(*best)) best = one;
  }
  if (!worst) return {"has no environment to prove itself in", {}};
  return text(rule, "mode") == "any" ? *best : *worst;
}

RuleBook::Verdict RuleBook::proof(const PolicyRule& rule, const Version& v, EnvironmentId other,
                                  Time now) const {
  std::vector<TargetKey> there = ledger_.targets_in(target_.deployment, other, v);
  int64_t percent = number(rule, "minimumSuccessPercentage", 100), succeeded = 0;
  Time latest;
  for (const TargetKey& key : there) {
    const TargetState* row = ledger_.row_of(key);
    auto first = row ? first_end(rule, *row, v.id) : std::nullopt;
    if (!first) continue;
    ++succeeded;
    latest = std::max(latest, *first);
  }
  if (there.empty() || percent == 0) return {"", v.created_at};
  if (succeeded * 100 < percent * std::ssize(there))
    return {fmt::format("succeeded on {} of {} elsewhere, not on {} %", succeeded, there.size(), percent),
            {}};
  Time ready = latest + minutes(number(rule, "minimumSoakTimeMinutes", 0));
  if (now < ready) return {fmt::format("soaks until {}", format_rfc3339(ready)), ready};
  if (int64_t age = number(rule, "maximumAgeHours", 0); age > 0 && now >= latest + hours(age))
    return {"succeeded elsewhere too long ago", {}};
  return {"", ready};
}

// How much of the time since then every window was open and nothing was frozen.
Duration RuleBook::open_time(const Version& v, Time from, Time now) const {
  if (from >= now) return {};
  std::vector<std::pair<Windows, bool>> windows;
  if (ledger_.current_of(target_))
    for (const PolicyRule* rule : rules_)
      if (rule->type == "deploymentWindow" && !skip_of(rule->id, v, now))
        windows.emplace_back(windows_of(*rule), flag(*rule, "allowWindow", true));
  const std::vector<Stretch> frozen = frozen_stretches(ledger_, target_, v, now);
  std::vector<Time> boundaries{from, now};
  for (const auto& [w, allows] : windows) w.add_boundaries(from, now, boundaries);
  for (const Stretch& s : frozen)
    for (Time t : {s.from, s.to})
      if (from < t && t < now) boundaries.push_back(t);
  std::sort(boundaries.begin(), boundaries.end());
  Duration open;
  for (size_t i = 0; i + 1 < boundaries.size(); ++i)
    if (std::all_of(windows.begin(), windows.end(),
                    [&](const auto& w) { return w.first.contains(boundaries[i]) == w.second; }) &&
        std::none_of(frozen.begin(), frozen.end(),
                     [&](const Stretch& s) { return s.from <= boundaries[i] && boundaries[i] < s.to; }))
      open = open + (boundaries[i + 1] - boundaries[i]);
  return open;
}

RuleBook::Verdict RuleBook::rollout(const PolicyRule& rule, const Version& v, Time now) const {
  const Version* current = ledger_.current_of(target_);
  if (current && current->id == v.id) return {};
  Time start = v.created_at;
  for (const PolicyRule* gate : rules_) {
    if (gate->type != "anyApproval" && gate->type != "environmentProgression") continue;
    if (const PolicySkip* skip = skip_of(gate->id, v, now)) {
      start = std::max(start, skip->created_at);
      continue;
    }
    Verdict verdict = ask(*gate, v, now);
    if (!verdict.no.empty()) return {"waits for a gate before the roll-out", {}};
    start = std::max(start, verdict.since);
  }
  std::vector<TargetKey> all = ledger_.targets_in(target_.deployment, target_.environment, v);
  int64_t position = std::count_if(all.begin(), all.end(), [&](const TargetKey& other) {
    return place_of(other, v.id) < place_of(target_, v.id);
  });
  return turn(rule, v, start, now, position, std::ssize(all));
}

// Is the target's bracket on the same policy? Then its members on a resource have one turn.
bool RuleBook::is_beside_bracket(const PolicyRule& rollout) const {
  auto own = bracket_of(ledger_, target_);
  if (!own) return false;
  const auto& rules = own->policy->rules;
  return std::any_of(rules.begin(), rules.end(), [&](const PolicyRule& r) { return r.id == rollout.id; });
}

RuleBook::Verdict RuleBook::bracket_rollout(const PolicyRule& rule, const Version& v, Time now,
                                            const BracketGroup* group) const {
  const Version* current = ledger_.current_of(target_);
  if (current && current->id == v.id) return {};
  if (!group) return {"waits for its bracket's window", {}};
  const RuleId bracket = bracket_of(ledger_, target_)->rule->id;
  std::vector<const Version*> brought;  // by the group
  for (const auto& [key, m] : ledger_.members)
    if (key.first == group->id && m.participation == Participation::kChanged && m.version)
      brought.push_back(&ledger_.versions.at(*m.version));
  const bool all_scoped =
      !brought.empty() && std::all_of(brought.begin(), brought.end(),
                                      [](const Version* b) { return b->target_selector.has_value(); });
  int64_t position = 0, count = 0;
  for (const auto& [id, resource] : ledger_.resources) {
    const auto targets = targets_of_bracket(ledger_, bracket, id, target_.environment);
    auto is_brought = [&](const TargetKey& t) {
      return !all_scoped || std::any_of(brought.begin(), brought.end(), [&](const Version* b) {
        return b->deployment == t.deployment && ledger_.is_for(*b, t);
      });
    };
    if (std::none_of(targets.begin(), targets.end(), is_brought)) continue;
    ++count;
    position += place_of(id, bracket) < place_of(target_.resource, bracket);
  }
  return turn(rule, v, *group->ready_at, now, position, count);
}

RuleBook::Verdict RuleBook::turn(const PolicyRule& rule, const Version& v, Time start, Time now,
                                 int64_t position, int64_t count) const {
  int64_t interval = number(rule, "timeScaleInterval", 0);
  bool normalized = text(rule, "rolloutType") == "linear-normalized";
  Duration offset =
      seconds(normalized ? interval * position / std::max<int64_t>(1, count) : interval * position);
  if (open_time(v, start, now) >= offset && now >= start) return {};
  return {fmt::format("is number {} since {}, too early", position + 1, format_rfc3339(start)), {}};
}

RuleBook::Verdict RuleBook::dependency(const PolicyRule& rule) const {
  static const Version kNone;
  if (!applies_to(rule, ledger_.deployments.at(target_.deployment))) return {};
  size_t selected = 0, met = 0;
  for (const auto& [d, deployment] : ledger_.deployments) {
    if (d == target_.deployment) continue;
    for (const auto& [e, environment] : ledger_.environments) {
      TargetKey other{target_.resource, e, d};
      if (!ledger_.exists(other)) continue;
      const Version* current = ledger_.current_of(other);
      if (!holds(text(rule, "dependsOn"), {.deployment = &deployment, .version = current ? current : &kNone}))
        continue;
      ++selected;
      met += current != nullptr;
    }
  }
  if (selected > 0 && (text(rule, "require") == "all" ? met == selected : met > 0)) return {};
  return {fmt::format("{} of {} that it depends on run there", met, selected), {}};
}

std::string RuleBook::missing_dependency(const Version& v) const {
  for (auto it = ledger_.dependencies.lower_bound({v.id, DeploymentId{}});
       it != ledger_.dependencies.end() && it->second.version == v.id; ++it) {
    const VersionDependency& need = it->second;
    bool met = false;
    for (const auto& [e, environment] : ledger_.environments) {
      TargetKey other{target_.resource, e, need.on};
      const Version* current = ledger_.exists(other) ? ledger_.current_of(other) : nullptr;
      met |= current && holds(need.selector, {.version = current});
    }
    if (!met) return fmt::format("needs {} of another deployment", need.selector);
  }
  return {};
}

std::optional<RetryTerms> RuleBook::retry_terms(int64_t failures, JobStatus last) const {
  RetryTerms all;
  for (const PolicyRule* rule : rules_) {
    if (rule->type != "retry") continue;
    // Worlds leave retryOnStatuses out.
    if (last != JobStatus::kFailure && last != JobStatus::kInvalidIntegration &&
        last != JobStatus::kInvalidJobAgent)
      return std::nullopt;
    int64_t most = number(*rule, "maxRetries", 0);
    all.most = all.any ? std::min(all.most, most) : most;
    all.any = true;
    int64_t wait = number(*rule, "backoffSeconds", 0);
    if (text(*rule, "backoffStrategy") == "exponential") wait <<= std::max<int64_t>(0, failures - 1);
    all.wait = std::max(all.wait, seconds(std::min(wait, number(*rule, "maxBackoffSeconds", wait))));
  }
  return all;
}

}  // namespace ctrlplane::sim
