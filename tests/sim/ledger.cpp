#include "sim/ledger.h"

#include <algorithm>

namespace ctrlplane::sim {
namespace {

template <class Map, class Key, class Row>
void fold(Map& map, Key key, const Row& row, bool put) {
  if (put)
    map.insert_or_assign(std::move(key), row);
  else
    map.erase(key);
}

template <class Set, class Key>
void fold(Set& set, Key key, bool put) {
  if (put)
    set.insert(std::move(key));
  else
    set.erase(key);
}

struct Folder {
  Ledger& to;
  bool put;
  void operator()(const System& r) { fold(to.systems, r.id, r, put); }
  void operator()(const Environment& r) { fold(to.environments, r.id, r, put); }
  void operator()(const Deployment& r) { fold(to.deployments, r.id, r, put); }
  void operator()(const SystemEnvironment& r) {
    fold(to.environments_of, std::pair(r.system, r.environment), put);
  }
  void operator()(const SystemDeployment& r) {
    fold(to.deployments_of, std::pair(r.system, r.deployment), put);
  }
  void operator()(const Policy& r) { fold(to.policies, r.id, r, put); }
  void operator()(const Version& r) { fold(to.versions, r.id, r, put); }
  void operator()(const Resource& r) { fold(to.resources, r.id, r, put); }
  void operator()(const Approval& r) {
    fold(to.approvals, std::tuple(r.version, r.environment, r.actor), r, put);
  }
  void operator()(const PolicySkip& r) { fold(to.skips, r.id, r, put); }
  void operator()(const VersionDependency& r) { fold(to.dependencies, std::pair(r.version, r.on), r, put); }
  void operator()(const TargetState& r) { fold(to.targets, r.key, r, put); }
  void operator()(const Freeze& r) { fold(to.freezes, r.id, r, put); }
  void operator()(const BracketGroup& r) { fold(to.groups, r.id, r, put); }
  void operator()(const BracketMember& r) { fold(to.members, std::pair(r.group, r.deployment), r, put); }
  void operator()(const ConcurrencySlot& r) { fold(to.slots, std::pair(r.rule, r.resource), r, put); }
  void operator()(const Quarantine& r) {
    fold(to.quarantines, std::pair(r.rule, r.resource), r, put && !r.cleared_at);
  }
  template <class Row>
  void operator()(const Row&) {}  // not looked at by rules
};

bool selects(const std::optional<std::string>& selector, const Resource& r) {
  return selector && holds(*selector, {.resource = &r});
}

}  // namespace

bool is_newer(const Version& a, const Version& b) {
  return std::tie(a.created_at, a.id) > std::tie(b.created_at, b.id);
}

bool ran_before(const TargetState& row, VersionId version) {
  return std::any_of(row.past.begin(), row.past.end(),
                     [&](const PastVersion& p) { return p.version == version; });
}

void Ledger::apply(const Change& change) {
  std::visit(Folder{*this, change.op == Change::Op::kPut}, change.entity);
}

bool Ledger::share_a_system(DeploymentId deployment, EnvironmentId environment) const {
  return are_beside(deployment, environment, environment);
}

bool Ledger::are_beside(DeploymentId deployment, EnvironmentId a, EnvironmentId b) const {
  return std::any_of(deployments_of.begin(), deployments_of.end(), [&](const auto& link) {
    return link.second == deployment && environments_of.contains({link.first, a}) &&
           environments_of.contains({link.first, b});
  });
}

bool Ledger::exists(const TargetKey& key) const {
  auto d = deployments.find(key.deployment);
  auto e = environments.find(key.environment);
  auto r = resources.find(key.resource);
  if (d == deployments.end() || e == environments.end() || r == resources.end()) return false;
  return selects(d->second.resource_selector, r->second) && selects(e->second.resource_selector, r->second) &&
         share_a_system(key.deployment, key.environment);
}

std::vector<TargetKey> Ledger::targets_in(DeploymentId deployment, EnvironmentId environment) const {
  std::vector<TargetKey> found;
  for (const auto& [id, r] : resources)
    if (TargetKey key{id, environment, deployment}; exists(key)) found.push_back(key);
  return found;
}

bool Ledger::is_for(const Version& version, const TargetKey& key) const {
  if (!version.target_selector) return true;
  switch (evaluate(*version.target_selector, facts_of(key, nullptr))) {
    case Truth::kTrue: return true;
    case Truth::kFalse: return false;
    case Truth::kMissing: return version.on_selector_error == OnSelectorError::kInclude;
  }
  return false;
}

std::vector<TargetKey> Ledger::targets_in(DeploymentId deployment, EnvironmentId environment,
                                          const Version& version) const {
  std::vector<TargetKey> all = targets_in(deployment, environment);
  std::erase_if(all, [&](const TargetKey& key) { return !is_for(version, key); });
  return all;
}

const TargetState* Ledger::row_of(const TargetKey& key) const {
  auto it = targets.find(key);
  return it == targets.end() ? nullptr : &it->second;
}

const Version* Ledger::current_of(const TargetKey& key) const {
  const TargetState* row = row_of(key);
  if (!row || !row->current_version) return nullptr;
  auto it = versions.find(*row->current_version);
  return it == versions.end() ? nullptr : &it->second;
}

Facts Ledger::facts_of(const TargetKey& key, const Version* version) const {
  return {.resource = &resources.at(key.resource),
          .environment = &environments.at(key.environment),
          .deployment = &deployments.at(key.deployment),
          .version = version};
}

}  // namespace ctrlplane::sim
