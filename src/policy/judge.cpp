#include "policy/judge.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "policy/brackets.h"
#include "policy/compiled.h"
#include "policy/freezes.h"
#include "policy/memo.h"
#include "policy/rules.h"
#include "policy/skips.h"

namespace ctrlplane::policy {
namespace {

constexpr int kDependencyCost = 3;

const Compiled& compiled(const State& state, PolicyIx p) {
  const PolicySlot& slot = state.policies[p];
  if (!slot.compiled) {
    auto made = std::make_shared<Compiled>();
    if (auto selector = Selector::compile(slot.row.selector, Selector::Subject::kTarget))
      made->selector = std::move(*selector);
    for (const PolicyRule& row : slot.row.rules) made->rules.push_back(compile_rule(row));
    slot.compiled = std::move(made);
  }
  return static_cast<const Compiled&>(*slot.compiled);
}

// The enabled policies, without those that say no to every resource of (deployment, environment).
const std::vector<Memo::Candidate>& candidates(const State& state, Memo& memo, const TargetSlot& slot) {
  auto [it, is_new] = memo.candidates.try_emplace({slot.deployment, slot.environment});
  if (!is_new) return it->second;
  SelectorInput input{.deployment = &state.deployments[slot.deployment].row,
                      .environment = &state.environments[slot.environment].row};
  state.policies.each([&](PolicyIx p, const PolicySlot& policy) {
    if (!policy.row.enabled) return;
    const Compiled& c = compiled(state, p);
    const bool asks = c.selector && c.selector->uses("resource");
    // A selector that cannot be read any more must not open a gate.
    if (asks || !c.selector || c.selector->match(input) == Match::kYes)
      it->second.push_back({p, asks ? &*c.selector : nullptr});
  });
  return it->second;
}

std::vector<PolicyIx> matching(const State& state, Memo& memo, TargetIx t) {
  const TargetSlot& slot = state.at(t);
  SelectorInput input{.resource = &state.resources[slot.resource].row,
                      .deployment = &state.deployments[slot.deployment].row,
                      .environment = &state.environments[slot.environment].row};
  std::vector<PolicyIx> found;
  for (const Memo::Candidate& c : candidates(state, memo, slot))
    if (!c.asks_resource || c.asks_resource->match(input) == Match::kYes) found.push_back(c.policy);
  return found;
}

std::unique_ptr<RuleSet> make_set(const State& state, const std::vector<PolicyIx>& policies) {
  auto set = std::make_unique<RuleSet>();
  for (PolicyIx p : policies) {
    const Compiled& c = compiled(state, p);
    for (size_t i = 0; i < c.rules.size(); ++i) {
      const Rule* rule = c.rules[i].rule.get();
      set->rules.push_back({rule, &state.policies[p].row.rules[i], p, c.rules[i].cost});
      if (!rule) continue;
      if (rule->retry()) set->retries.push_back(rule->retry());
      if (rule->rollback()) set->rollbacks.push_back(rule->rollback());
      set->looks_at_resource |= rule->looks_at_resource();
      set->excludes |= rule->excludes();
      set->has_rollout |= rule->is_rollout();
    }
  }
  auto order = [&](const BoundRule& a, const BoundRule& b) {
    const Policy &x = state.policies[a.policy].row, &y = state.policies[b.policy].row;
    return std::tuple(a.cost, -x.priority, x.id) < std::tuple(b.cost, -y.priority, y.id);
  };
  std::stable_sort(set->rules.begin(), set->rules.end(), order);
  for (const BoundRule& b : set->rules) {
    if (b.rule && b.rule->bracket()) set->brackets.push_back(&b);
    if (b.rule && b.rule->concurrency()) set->limits.push_back(&b);
  }
  std::stable_sort(set->brackets.begin(), set->brackets.end(), [&](const BoundRule* a, const BoundRule* b) {
    return bracket_order(state.policies[a->policy].row, *a->row) <
           bracket_order(state.policies[b->policy].row, *b->row);
  });
  return set;
}

Evaluation unreadable(const Question& q) {
  Evaluation e{.verdict = Verdict::kDenied};
  if (q.words) e.message = fmt::format("this program cannot read the rule ({})", q.rule->type);
  if (q.words) e.unblock = "a change of the policy, or a newer program";
  return e;
}

Evaluation answer_of(const Question& q, const BoundRule& b) {
  return b.rule ? b.rule->evaluate(q) : unreadable(q);
}

bool is_asked(const BoundRule& b, Ask ask) {
  if (!b.rule) return true;
  switch (ask) {
    case Ask::kAll: return b.rule->gate() != Gate::kCapacity;
    case Ask::kLock: return b.rule->gate() == Gate::kVersion;
    case Ask::kStart: return b.rule->gate() == Gate::kStart;
  }
  return true;
}

bool is_waived(const BoundRule& b, Waiver waiver) {
  return waiver == Waiver::kReturn && b.rule && b.rule->waived_on_return();
}

// Remembers what a rule about other environments said to somebody who waits for it, or for a turn that it
// began; and that it said yes to somebody who may have to stand in line with that.
void watch(const Question& q, const BoundRule& b, const Evaluation& e) {
  if (!b.rule || !b.rule->looks_at_environments()) return;
  const bool allowed = e.verdict == Verdict::kAllowed;
  const std::tuple key(q.version, q.slot().environment, b.row);
  if (allowed && !q.rules->limits.empty()) memo_of(q.state).granted[key] = {&b, q.target};
  if (allowed && !q.rules->has_rollout) return;
  memo_of(q.state).watched[key] = {&b, q.target, q.rules->has_rollout, e.verdict, e.satisfied_at, e.next_at};
}

}  // namespace

std::string_view to_string(Verdict v) {
  switch (v) {
    case Verdict::kAllowed: return "allowed";
    case Verdict::kPending: return "pending";
    case Verdict::kDenied: return "denied";
  }
  return "denied";
}

Memo& memo_of(const State& state) {
  if (!state.policy_memo) {
    auto made = std::make_shared<Memo>();
    made->epoch = made->noted_epoch = state.policy_epoch;
    state.policy_memo = std::move(made);
  }
  Memo& memo = *static_cast<Memo*>(state.policy_memo.get());
  if (memo.epoch != state.policy_epoch) {
    memo.candidates.clear();
    memo.set_numbers.clear();
    memo.sets.clear();
    memo.watched.clear();
    memo.granted.clear();
    memo.epoch = state.policy_epoch;
  }
  return memo;
}

const RuleSet& rules_of(const State& state, TargetIx target) {
  Memo& memo = memo_of(state);
  const TargetSlot& slot = state.at(target);
  if (slot.policy_epoch != state.policy_epoch || slot.policy_set >= memo.sets.size()) {
    std::vector<PolicyIx> policies = matching(state, memo, target);
    auto [it, is_new] = memo.set_numbers.try_emplace(policies, static_cast<uint32_t>(memo.sets.size()));
    if (is_new) memo.sets.push_back(make_set(state, policies));
    slot.policy_set = it->second;
    slot.policy_epoch = state.policy_epoch;
  }
  return *memo.sets[slot.policy_set];
}

Judgement judge(const State& state, Time now, TargetIx target, VersionIx version, Waiver waiver, Ask ask,
                GroupIx group) {
  if (ask == Ask::kAll && frozen_by(state, now, target, version))
    return {.verdict = Verdict::kDenied, .frozen = true};
  // Rules ask how many others the version is for; the end of the count wakes the target.
  if (ask != Ask::kStart && waiver == Waiver::kNone && state.is_counting(version))
    return {.verdict = Verdict::kPending};
  const RuleSet& set = rules_of(state, target);
  Question q{.state = state, .now = now, .target = target, .version = version, .rules = &set, .group = group};
  const bool has_dependencies = !state.dependencies_of(version).empty();
  bool dependencies_asked = !has_dependencies || ask != Ask::kAll;
  Judgement all;
  auto no = [&](const Evaluation& e, bool for_the_resource) {
    if (for_the_resource) memo_of(state).wait_for_resource(target);
    all.verdict = e.verdict;
    all.needs_approval = e.needs_approval;
    if (e.next_at) all.next_at = all.next_at ? std::min(*all.next_at, *e.next_at) : e.next_at;
  };
  for (const BoundRule& b : set.rules) {
    if (!dependencies_asked && b.cost > kDependencyCost) {
      dependencies_asked = true;
      if (Evaluation e = evaluate_version_dependencies(q); e.verdict != Verdict::kAllowed)
        return no(e, true), all;
    }
    if (!is_asked(b, ask) || is_waived(b, waiver)) continue;
    q.rule = b.row;
    if (const PolicySkip* skip = skip_of(q, b.row->id)) {
      all.since = std::max(all.since.value_or(skip->created_at), skip->created_at);
      if (skip->expires_at)
        all.next_at = all.next_at ? std::min(*all.next_at, *skip->expires_at) : skip->expires_at;
      continue;
    }
    Evaluation e = answer_of(q, b);
    watch(q, b, e);
    if (e.verdict == Verdict::kAllowed) {
      if (e.satisfied_at) all.since = std::max(all.since.value_or(*e.satisfied_at), *e.satisfied_at);
      if (e.next_at) all.next_at = all.next_at ? std::min(*all.next_at, *e.next_at) : e.next_at;
      continue;
    }
    all.excluded = b.rule && b.rule->excludes();
    return no(e, b.rule && b.rule->looks_at_resource()), all;
  }
  if (!dependencies_asked)
    if (Evaluation e = evaluate_version_dependencies(q); e.verdict != Verdict::kAllowed)
      return no(e, true), all;
  return all;
}

bool is_excluded(const State& state, Time now, TargetIx target, VersionIx version) {
  const RuleSet& set = rules_of(state, target);
  if (!set.excludes) return false;
  Question q{.state = state, .now = now, .target = target, .version = version, .rules = &set};
  for (const BoundRule& b : set.rules) {
    if (!b.rule || !b.rule->excludes()) continue;
    q.rule = b.row;
    if (!skip_ever_of(q, b.row->id) && b.rule->evaluate(q).verdict == Verdict::kDenied) return true;
  }
  return false;
}

namespace {

// Asks one after the other, with words, in the order in which judge asks, until `take` has enough. Without
// `only` all of them are asked, also those that judge is never asked about.
template <class Take>
void tell(Question q, Waiver waiver, std::optional<Ask> only, Take&& take) {
  q.words = true;
  const bool all = !only || *only == Ask::kAll;
  if (all) {
    Explained freeze{.type = "freeze", .evaluation = evaluate_freezes(q)};
    if (!freeze.evaluation.message.empty() && !take(std::move(freeze))) return;
  }
  if (only != Ask::kStart && (!only || waiver == Waiver::kNone) && q.state.is_counting(q.version)) {
    Explained counting{.type = "targetSelector", .evaluation = {.verdict = Verdict::kPending}};
    counting.evaluation.message = "the version's targets are being counted";
    if (!take(std::move(counting))) return;
  }
  bool dependencies_told = !all || q.state.dependencies_of(q.version).empty();
  auto tell_dependencies = [&] {
    if (std::exchange(dependencies_told, true)) return true;
    q.rule = nullptr;
    Explained x{.type = "versionDependency"};
    x.evaluation = evaluate_version_dependencies(q);
    if (x.evaluation.message.empty()) x.evaluation.message = "what the version depends on is there";
    return take(std::move(x));
  };
  for (const BoundRule& b : q.rules->rules) {
    if (b.cost > kDependencyCost && !tell_dependencies()) return;
    if (only && !is_asked(b, *only)) continue;
    if (b.rule && (b.rule->retry() || b.rule->rollback())) continue;  // about attempts, not about versions
    q.rule = b.row;
    Explained x{.type = b.row->type, .policy = &q.state.policies[b.policy].row, .rule = b.row};
    x.skip = skip_of(q, b.row->id);
    if (x.skip) {
      x.evaluation = Evaluation::allowed(x.skip->created_at);
      x.evaluation.message = fmt::format("skipped by {}{}{}", x.skip->created_by,
                                         x.skip->reason.empty() ? "" : ": ", x.skip->reason);
      x.evaluation.next_at = x.skip->expires_at;
    } else if (is_waived(b, waiver)) {
      x.evaluation = Evaluation::allowed();
      x.evaluation.message = "does not count for a version that ran here before";
    } else {
      x.evaluation = answer_of(q, b);
    }
    if (!take(std::move(x))) return;
  }
  tell_dependencies();
}

}  // namespace

std::vector<Explained> explain(const State& state, Time now, TargetIx target, VersionIx version,
                               Waiver waiver) {
  std::vector<Explained> all;
  const Question q{
      .state = state, .now = now, .target = target, .version = version, .rules = &rules_of(state, target)};
  tell(q, waiver, std::nullopt, [&](Explained x) {
    all.push_back(std::move(x));
    return true;
  });
  return all;
}

std::optional<Explained> first_no(const State& state, Time now, TargetIx target, VersionIx version,
                                  Waiver waiver, Ask ask, GroupIx group) {
  std::optional<Explained> no;
  const Question q{.state = state,
                   .now = now,
                   .target = target,
                   .version = version,
                   .rules = &rules_of(state, target),
                   .group = group};
  tell(q, waiver, ask, [&](Explained x) {
    const bool allowed = x.evaluation.verdict == Verdict::kAllowed;
    if (!allowed) no = std::move(x);
    return allowed;
  });
  return no;
}

// ---- Waking ----------------------------------------------------------------------------------------------

namespace {

// Asks rules again that somebody was told something by: of one version, or all that fit. `heed` hears the
// answer, or none if the target that asked is gone, and says whether the entry stays.
template <class Entries, class Fits, class Heed>
void ask_entries(State& state, Time now, Entries& entries, std::optional<VersionIx> only, Fits&& fits,
                 Heed&& heed) {
  auto from = [&](uint32_t version) {
    return entries.lower_bound({VersionIx{version}, EnvironmentIx{0}, nullptr});
  };
  const auto end = only ? from(only->n + 1) : entries.end();
  for (auto it = only ? from(only->n) : entries.begin(); it != end;) {
    const auto& [version, environment, row] = it->first;
    auto& told = it->second;
    if (!state.versions.used(version)) {
      it = entries.erase(it);
      continue;
    }
    const TargetSlot& asked = state.at(told.asked_for);
    const bool gone = !asked.exists || asked.environment != environment ||
                      asked.deployment != state.versions[version].deployment;
    if (!gone && !fits(version, *told.rule->rule)) {
      ++it;
      continue;
    }
    std::optional<Evaluation> e;
    if (!gone)
      e = told.rule->rule->evaluate(
          {.state = state, .now = now, .target = told.asked_for, .version = version, .rule = row});
    heed(version, environment, told, e) ? ++it : it = entries.erase(it);
  }
}

// Marks the targets behind rules that say something else now.
template <class Fits>
void ask_again(State& state, Time now, std::optional<VersionIx> only, Fits&& fits) {
  Memo& memo = memo_of(state);
  auto heed_no = [&](VersionIx version, EnvironmentIx environment, Memo::Watched& w,
                     const std::optional<Evaluation>& e) {
    // Others may wait for the same as one that is gone, and have to ask for themselves.
    if (!e || e->verdict != w.verdict || e->satisfied_at != w.satisfied_at || e->next_at != w.next_at)
      state.mark_version_dirty(version, environment);
    if (!e) return false;
    w.verdict = e->verdict;
    w.satisfied_at = e->satisfied_at;
    w.next_at = e->next_at;
    return e->verdict != Verdict::kAllowed || w.begins_rollout;
  };
  ask_entries(state, now, memo.watched, only, fits, heed_no);
  if (!state.anyone_in_line()) return memo.granted.clear();
  auto heed_yes = [&](VersionIx version, EnvironmentIx environment, const Memo::Granted&,
                      const std::optional<Evaluation>& e) {
    if (e && e->verdict == Verdict::kAllowed) return true;
    state.wake_in_lines(state.versions[version].deployment, environment);
    return false;
  };
  ask_entries(state, now, memo.granted, only, fits, heed_yes);
}

}  // namespace

void note_success(State& state, Time now, TargetIx target, VersionIx version) {
  const TargetSlot& slot = state.at(target);
  const Environment& environment = state.environments[slot.environment].row;
  ask_again(state, now, version,
            [&](VersionIx, const Rule& rule) { return rule.looks_at_environment(environment); });
  Memo& memo = memo_of(state);
  for (TargetIx other : state.resources[slot.resource].targets)
    if (other != target && memo.stop_waiting(other)) state.mark_dirty(other);
  state.wake_in_lines(slot.resource);  // what they depend on may be gone
}

void note_ending(State& state, Time now, TargetIx target, VersionIx version, JobStatus status) {
  const Environment& environment = state.environments[state.at(target).environment].row;
  ask_again(state, now, version, [&](VersionIx, const Rule& rule) {
    return rule.looks_at_ending(status) && rule.looks_at_environment(environment);
  });
}

namespace {

bool depends(const State& state, DeploymentIx d, std::optional<DeploymentId> on) {
  const auto& versions = state.deployments[d].versions;
  return std::any_of(versions.begin(), versions.end(), [&](VersionIx v) {
    const auto& needs = state.dependencies_of(v);
    return std::any_of(needs.begin(), needs.end(),
                       [&](const VersionDependency& need) { return !on || need.on == *on; });
  });
}

}  // namespace

void note_version(State& state, VersionIx version) {
  const DeploymentIx own = state.versions[version].deployment;
  const auto& targets = state.deployments[own].targets;
  if (std::none_of(targets.begin(), targets.end(),
                   [&](TargetIx t) { return state.at(t).current_version == version; }))
    return;
  const auto& sets = memo_of(state).sets;
  const bool by_rule =
      std::any_of(sets.begin(), sets.end(), [](const auto& s) { return s->looks_at_resource; });
  state.deployments.each([&](DeploymentIx d, const DeploymentSlot&) {
    if (d != own && (by_rule || depends(state, d, state.deployments[own].row.id)))
      state.mark_deployment_dirty(d);
  });
}

bool is_edited(const State& state) {
  if (!state.policy_memo || (state.policies.size() == 0 && !state.any_open_freezes()))
    return false;  // nothing has been worked out from anything
  return memo_of(state).noted_epoch != state.policy_epoch;
}

void note_edit(State& state) {
  if (state.policies.size() == 0 &&
      !state.any_open_freezes()) {  // what versions say of themselves counts all the same
    state.deployments.each([&](DeploymentIx d, const DeploymentSlot&) {
      if (depends(state, d, std::nullopt)) state.mark_deployment_dirty(d);
    });
    return;
  }
  memo_of(state).noted_epoch = state.policy_epoch;
  state.mark_all_dirty();
}

namespace {

// Is there a roll-out in the policy of the bracket? Otherwise its ranks are only an order among equals.
bool gives_turns(const State& state, RuleId bracket) {
  const PolicyIx p = state.policy_of(bracket);
  if (!p) return false;
  const auto& rules = compiled(state, p).rules;
  return std::any_of(rules.begin(), rules.end(),
                     [](const CompiledRule& r) { return r.rule && r.rule->is_rollout(); });
}

}  // namespace

const Rule* rule_of(const State& state, PolicyIx p, RuleId id) {
  const std::vector<PolicyRule>& rows = state.policies[p].row.rules;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].id == id) return compiled(state, p).rules[i].rule.get();
  return nullptr;
}

void note_scope(State& state, Time now, VersionIx version, EnvironmentIx environment) {
  if (!state.versions.used(version) || !state.environments.used(environment)) return;
  const Environment& row = state.environments[environment].row;
  ask_again(state, now, version, [&](VersionIx, const Rule& rule) { return rule.looks_at_environment(row); });
  Memo& memo = memo_of(state);
  const size_t ranked = memo.ranks.erase({version, environment}) + memo.forget_brackets_of(version);
  if (ranked > 0) state.mark_version_dirty(version, environment);
}

bool outlives_expiry(const State& state, SkipId id) {
  const PolicySkip* skip = state.skip(id);
  PolicyIx p = skip ? state.policy_of(skip->rule) : PolicyIx{};
  if (!p) return false;
  const Rule* rule = rule_of(state, p, skip->rule);
  return rule && rule->excludes();
}

void note_membership(State& state, Time now, DeploymentIx deployment, EnvironmentIx environment) {
  if (!state.deployments.used(deployment)) return;
  // Nobody can say whom an environment that is gone concerned.
  const Environment* row =
      state.environments.used(environment) ? &state.environments[environment].row : nullptr;
  ask_again(state, now, std::nullopt, [&](VersionIx v, const Rule& rule) {
    return state.versions[v].deployment == deployment && (!row || rule.looks_at_environment(*row));
  });
  // Somebody was told a place in a roll-out that is another one now.
  Memo& memo = memo_of(state);
  std::set<RuleId> brackets;
  std::erase_if(memo.bracket_ranks, [&](const auto& entry) {
    const auto& [rule, where, scoped] = entry.first;
    return where == environment && gives_turns(state, rule) && (brackets.insert(rule), true);
  });
  if (!brackets.empty())
    state.groups.each([&](GroupIx g, const GroupSlot& group) {
      const bool waits = !group.row.started() && !group.row.ended();
      if (waits && row && group.row.environment == row->id && brackets.contains(group.row.rule))
        state.mark_group_dirty(g);
    });
  const size_t ranked = std::erase_if(memo.ranks, [&](const auto& entry) {
    auto [version, where] = entry.first;
    return where == environment &&
           (!state.versions.used(version) || state.versions[version].deployment == deployment);
  });
  if (ranked > 0) state.mark_dirty_in(deployment, environment);
}

}  // namespace ctrlplane::policy
