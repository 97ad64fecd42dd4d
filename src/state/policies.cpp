// Policies, and what people said about versions: approvals, skips and what a version depends on.
#include <algorithm>

#include "state/state.h"

namespace ctrlplane {
namespace {

// Puts a row into a list that is sorted by what `key` makes of a row, in place of the one with its key.
template <class Row, class Key>
void put_sorted(std::vector<Row>& rows, const Row& row, Key key) {
  auto it = std::lower_bound(rows.begin(), rows.end(), row,
                             [&](const Row& a, const Row& b) { return key(a) < key(b); });
  if (it != rows.end() && key(*it) == key(row))
    *it = row;
  else
    rows.insert(it, row);
}

template <class Row, class Key>
void erase_sorted(std::vector<Row>& rows, const Row& row, Key key) {
  std::erase_if(rows, [&](const Row& other) { return key(other) == key(row); });
}

constexpr auto key_of_approval = [](const Approval& a) { return std::tie(a.environment, a.actor); };
constexpr auto key_of_skip = [](const PolicySkip& s) { return s.id; };
constexpr auto key_of_dependency = [](const VersionDependency& d) { return d.on; };

}  // namespace

// ---- Policies ----------------------------------------------------------------------------------------

void State::new_policy_epoch() { ++policy_epoch; }

void State::forget_rules(PolicyIx p) {
  for (const PolicyRule& rule : policies[p].row.rules)
    if (auto it = policy_by_rule_.find(rule.id); it != policy_by_rule_.end() && it->second == p)
      policy_by_rule_.erase(it);
}

void State::put(const Policy& row) {
  PolicyIx p = policies.find(row.id);
  if (!p) p = policies.add(row.id);
  forget_rules(p);
  Policy before = std::move(policies[p].row);
  std::erase_if(before.rules, [&](const PolicyRule& old) {
    return std::any_of(row.rules.begin(), row.rules.end(),
                       [&](const PolicyRule& now) { return now.id == old.id && now.type == old.type; });
  });
  drop_limits(before);
  policies[p] = {row, nullptr};
  set_limits(row);
  for (const PolicyRule& rule : row.rules) policy_by_rule_[rule.id] = p;
  new_policy_epoch();
  mark_all_dirty();
}

void State::erase(const Policy& row) {
  PolicyIx p = policies.find(row.id);
  if (!p) return;
  forget_rules(p);
  drop_limits(policies[p].row);
  policies.remove(row.id);
  new_policy_epoch();
  mark_all_dirty();
}

PolicyIx State::policy_of(RuleId rule) const {
  auto it = policy_by_rule_.find(rule);
  return it == policy_by_rule_.end() ? PolicyIx{} : it->second;
}

// ---- Approvals ---------------------------------------------------------------------------------------

void State::put(const Approval& row) {
  VersionIx v = versions.find(row.version);
  if (!v) return;
  put_sorted(versions[v].approvals, row, key_of_approval);
  if (EnvironmentIx e = environments.find(row.environment))
    mark_version_dirty(v, e);
  else
    unheard_from_ = 0;  // loaded: the environment went, and the row was to go too
}

void State::erase(const Approval& row) {
  VersionIx v = versions.find(row.version);
  if (!v) return;
  erase_sorted(versions[v].approvals, row, key_of_approval);
  if (EnvironmentIx e = environments.find(row.environment)) mark_version_dirty(v, e);
}

std::span<const Approval> State::approvals_of(VersionIx v, EnvironmentIx e) const {
  const EnvironmentId environment = environments[e].row.id;
  auto in_environment =
      std::ranges::equal_range(versions[v].approvals, environment, {}, &Approval::environment);
  return {in_environment.begin(), in_environment.end()};
}

// ---- Skips -------------------------------------------------------------------------------------------

void State::mark_skip_dirty(VersionIx v, const PolicySkip& row) {
  const DeploymentIx d = versions[v].deployment;
  const EnvironmentIx e = row.environment ? environments.find(*row.environment) : EnvironmentIx{};
  const ResourceIx r = row.resource ? resources.find(*row.resource) : ResourceIx{};
  if ((row.environment && !e) || (row.resource && !r)) return;
  if (r) {
    for (TargetIx t : resources[r].targets)
      if (targets_[t.n].deployment == d && (!e || targets_[t.n].environment == e)) mark_dirty(t);
  } else {
    mark_wherever_it_runs(v, e);
  }
}

void State::put(const PolicySkip& row) {
  erase(row);  // an earlier one may have been about other targets
  VersionIx v = versions.find(row.version);
  if (!v) return;
  put_sorted(versions[v].skips, row, key_of_skip);
  version_by_skip_[row.id] = v;
  if (row.expires_at) timers.add(*row.expires_at, TimerKind::kSkipExpiry, row.id.uuid);
  if (row.environment && !environments.find(*row.environment)) unheard_from_ = 0;
  mark_skip_dirty(v, row);
}

void State::erase(const PolicySkip& row) {
  const PolicySkip* known = skip(row.id);
  if (!known) return;
  const VersionIx v = version_by_skip_.at(row.id);
  mark_skip_dirty(v, *known);
  erase_sorted(versions[v].skips, row, key_of_skip);
  version_by_skip_.erase(row.id);
}

const PolicySkip* State::skip(SkipId id) const {
  auto it = version_by_skip_.find(id);
  if (it == version_by_skip_.end()) return nullptr;
  const auto& skips = versions[it->second].skips;
  return &*std::ranges::lower_bound(skips, id, {}, &PolicySkip::id);
}

// ---- Dependencies ------------------------------------------------------------------------------------

void State::put(const VersionDependency& row) {
  VersionIx v = versions.find(row.version);
  if (!v) return;
  put_sorted(versions[v].dependencies, row, key_of_dependency);
  mark_version_dirty(v);
}

void State::erase(const VersionDependency& row) {
  VersionIx v = versions.find(row.version);
  if (!v) return;
  erase_sorted(versions[v].dependencies, row, key_of_dependency);
  mark_version_dirty(v);
}

void State::forget_what_was_said(VersionIx v) {
  for (const PolicySkip& s : versions[v].skips) version_by_skip_.erase(s.id);
  versions[v].skips.clear();
  versions[v].approvals.clear();
  versions[v].dependencies.clear();
}

void State::take_unheard(size_t budget, std::vector<Entity>& rows) {
  for (; budget > 0 && any_unheard(); --budget, ++unheard_from_) {
    if (!versions.used({unheard_from_})) continue;
    const VersionSlot& v = versions[{unheard_from_}];
    for (const Approval& a : v.approvals)
      if (!environments.find(a.environment)) rows.emplace_back(a);
    for (const PolicySkip& s : v.skips)
      if (s.environment && !environments.find(*s.environment)) rows.emplace_back(s);
  }
  if (!any_unheard()) unheard_from_ = UINT32_MAX;
}

}  // namespace ctrlplane
