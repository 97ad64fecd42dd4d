// Policies, and what people say about versions under them.
#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "engine/entities.h"
#include "engine/validate.h"
#include "model/json_writer.h"
#include "policy/compiled.h"
#include "policy/registry.h"

namespace ctrlplane {
namespace {

constexpr size_t kMaxRules = 100;

using RuleInput = UpsertPolicy::RuleInput;

Status valid_policy(const UpsertPolicy& c) {
  TRY(required_text("name", c.name));
  TRY(optional_text("description", c.description));
  if (c.selector.empty()) return invalid("selector", "must not be empty: 'true' matches every target");
  TRY(valid_selector("selector", c.selector, Selector::Subject::kTarget));
  TRY(valid_metadata("metadata", c.metadata));
  if (c.rules.size() > kMaxRules) return invalid("rules", fmt::format("are more than {}", kMaxRules));
  for (size_t i = 0; i < c.rules.size(); ++i) {
    const std::string path = fmt::format("rules[{}]", i);
    TRY(required_text(path, c.rules[i].type));
    TRY(valid_document(path, c.rules[i].body));
    TRY(optional_text(path + ".createdAt", c.rules[i].shown_created_at, kMaxName));
    TRY(policy::validate_rule(path, c.rules[i].type, c.rules[i].body));
  }
  return {};
}

// Each id that is sent is sent once, and no other policy has it.
Status rule_ids_are_free(const State& state, const UpsertPolicy& c, PolicyIx own) {
  std::set<RuleId> seen;
  for (size_t i = 0; i < c.rules.size(); ++i) {
    if (!c.rules[i].id) continue;
    const RuleId id = *c.rules[i].id;
    if (!seen.insert(id).second)
      return invalid(fmt::format("rules[{}].id", i), "is the id of another rule too");
    if (PolicyIx other = state.policy_of(id); other && other != own)
      return fail(ErrorCode::kConflict,
                  fmt::format("rule {} belongs to policy '{}'", id.str(), state.policies[other].row.name));
  }
  return {};
}

// The existing rule that the i-th one of the request is: the one with its id, or without one that of its type
// at the same position among those of the type, unless another rule of the request has that one's id.
const PolicyRule* existing_rule(const Policy* before, const std::vector<RuleInput>& rules, size_t i) {
  if (!before) return nullptr;
  size_t position = 0;
  for (size_t k = 0; k < i; ++k) position += rules[k].type == rules[i].type;
  for (const PolicyRule& rule : before->rules) {
    if (rules[i].id) {
      if (rule.id == *rules[i].id) return &rule;
      continue;
    }
    if (rule.type != rules[i].type || position-- > 0) continue;
    const bool taken =
        std::any_of(rules.begin(), rules.end(), [&](const RuleInput& other) { return other.id == rule.id; });
    return taken ? nullptr : &rule;
  }
  return nullptr;
}

std::vector<PolicyRule> rules_of(Tx& tx, const UpsertPolicy& c, const Policy* before) {
  std::vector<PolicyRule> out;
  for (size_t i = 0; i < c.rules.size(); ++i) {
    const RuleInput& in = c.rules[i];
    const PolicyRule* known = existing_rule(before, c.rules, i);
    PolicyRule rule{.type = in.type, .body = in.body, .shown_created_at = in.shown_created_at};
    rule.id = in.id ? *in.id : known ? known->id : tx.ids.make<RuleId>();
    rule.created_at = known ? known->created_at : tx.now;
    out.push_back(std::move(rule));
  }
  return out;
}

// ---- Cycles in a bracket -----------------------------------------------------------------------------

// The deployments of a bracket, and who of them waits for whom.
class BracketOrder {
 public:
  BracketOrder(const State& state, const policy::BracketTerms& bracket) {
    state.deployments.each([&](DeploymentIx, const DeploymentSlot& slot) {
      if (slot.members.leaving) return;
      for (const auto& selector : {bracket.members, bracket.pre_hooks, bracket.post_hooks})
        if (selector && selector->match({.deployment = &slot.row}) == Match::kYes) {
          members_.push_back(&slot.row);
          break;
        }
    });
    std::sort(members_.begin(), members_.end(),
              [](const Deployment* a, const Deployment* b) { return a->name < b->name; });
    looked_.resize(members_.size());
  }

  void add(const policy::DependencyTerms& terms) {
    Wait& wait = waits_.emplace_back();
    for (size_t i = 0; i < members_.size(); ++i) {
      wait.who.push_back(terms.applies(*members_[i]));
      if (terms.selects(*members_[i], nullptr)) wait.on.push_back(i);
    }
  }

  // As `a → b → a`; empty: there is an order.
  std::string cycle() {
    for (size_t i = 0; i < members_.size(); ++i)
      if (follow(i)) break;
    return text_;
  }

 private:
  struct Wait {
    std::vector<bool> who;
    std::vector<size_t> on;
  };

  bool follow(size_t i) {
    if (auto again = std::find(path_.begin(), path_.end(), i); again != path_.end()) {
      for (; again != path_.end(); ++again) text_ += members_[*again]->name + " → ";
      text_ += members_[i]->name;
      return true;
    }
    if (looked_[i]) return false;
    looked_[i] = true;
    path_.push_back(i);
    for (const Wait& wait : waits_) {
      if (!wait.who[i]) continue;
      for (size_t on : wait.on)
        if (on != i && follow(on)) return true;
    }
    path_.pop_back();
    return false;
  }

  std::vector<const Deployment*> members_;
  std::vector<Wait> waits_;
  std::vector<bool> looked_;
  std::vector<size_t> path_;
  std::string text_;
};

// Among the deployments there are now. What asks for a version depends on what runs: a group finds out.
Status brackets_have_an_order(const State& state, const std::vector<RuleInput>& rules) {
  std::vector<policy::CompiledRule> compiled;
  for (const RuleInput& in : rules)
    compiled.push_back(policy::compile_rule({.type = in.type, .body = in.body}));
  for (size_t i = 0; i < compiled.size(); ++i) {
    const policy::BracketTerms* bracket = compiled[i].rule ? compiled[i].rule->bracket() : nullptr;
    if (!bracket) continue;
    BracketOrder order(state, *bracket);
    for (const policy::CompiledRule& other : compiled)
      if (const auto* terms = other.rule ? other.rule->dependency() : nullptr;
          terms && !terms->on->uses("version"))
        order.add(*terms);
    if (std::string cycle = order.cycle(); !cycle.empty())
      return invalid(fmt::format("rules[{}].deploymentBracket", i),
                     fmt::format("its deployments would wait for each other: {}", cycle));
  }
  return {};
}

// A rule that is gone has nothing to skip.
void erase_skips_of_gone_rules(Tx& tx, const Policy& before) {
  std::set<RuleId> gone;
  for (const PolicyRule& rule : before.rules)
    if (!tx.state.policy_of(rule.id)) gone.insert(rule.id);
  if (gone.empty()) return;
  std::vector<PolicySkip> skips;
  tx.state.versions.each([&](VersionIx, const VersionSlot& v) {
    for (const PolicySkip& s : v.skips)
      if (gone.contains(s.rule)) skips.push_back(s);
  });
  for (PolicySkip& s : skips) tx.erase(std::move(s));
}

Result<VersionIx> known_version(const State& state, VersionId id) {
  VersionIx v = state.versions.find(id);
  if (!v) return fail(ErrorCode::kNotFound, fmt::format("no version {}", id.str()));
  return v;
}

Status known_environment(const State& state, EnvironmentId id) {
  if (state.environments.find(id)) return {};
  return fail(ErrorCode::kNotFound, fmt::format("no environment {}", id.str()));
}

// Those that share a system with the deployment, by id.
std::set<EnvironmentId> environments_of(const State& state, DeploymentIx d) {
  std::set<EnvironmentId> out;
  for (SystemIx s : state.deployments[d].members.systems)
    for (EnvironmentIx e : state.systems[s].environments) out.insert(state.environments[e].row.id);
  return out;
}

const Approval* approval_by(const State& state, VersionIx v, EnvironmentId environment,
                            std::string_view actor) {
  for (const Approval& a : state.versions[v].approvals)
    if (a.environment == environment && a.actor == actor) return &a;
  return nullptr;
}

bool is_limit(const State& state, RuleId id) {
  const PolicyIx p = state.policy_of(id);
  if (!p) return false;
  const auto& rules = state.policies[p].row.rules;
  return std::any_of(rules.begin(), rules.end(), [&](const PolicyRule& rule) {
    return rule.id == id && rule.type == "resourceConcurrency";
  });
}

std::string details_of(const PolicySkip& s) {
  JsonWriter w;
  w.open().member("rule", s.rule).member("version", s.version);
  w.member("environment", s.environment).member("resource", s.resource).member("expiresAt", s.expires_at);
  return w.member_unless_empty("reason", s.reason).close().take();
}

}  // namespace

// ---- Policies ----------------------------------------------------------------------------------------

Reply upsert_policy(Tx& tx, const UpsertPolicy& c) {
  TRY(valid_policy(c));
  TRY(brackets_have_an_order(tx.state, c.rules));
  const PolicyIx p = c.id ? tx.state.policies.find(*c.id) : PolicyIx{};
  TRY(rule_ids_are_free(tx.state, c, p));
  const std::optional<Policy> before = p ? std::optional(tx.state.policies[p].row) : std::nullopt;
  Policy row{.id = c.id ? *c.id : tx.ids.make<PolicyId>(), .name = c.name, .description = c.description};
  row.selector = c.selector;
  row.priority = c.priority;
  row.enabled = c.enabled;
  row.metadata = c.metadata;
  row.rules = rules_of(tx, c, before ? &*before : nullptr);
  row.created_at = before ? before->created_at : tx.now;
  if (before == row) return Answer{.id = row.id.uuid};
  tx.put(row);
  if (before) erase_skips_of_gone_rules(tx, *before);
  tx.audit(before ? "policy.update" : "policy.create", row.id.str(),
           JsonWriter().open().member("name", row.name).close().take());
  return Answer{.id = row.id.uuid, .created = !before};
}

Reply delete_policy(Tx& tx, const DeletePolicy& c) {
  const PolicyIx p = tx.state.policies.find(c.id);
  if (!p) return fail(ErrorCode::kNotFound, fmt::format("no policy {}", c.id.str()));
  const Policy before = tx.state.policies[p].row;
  tx.erase(Policy{.id = c.id});
  erase_skips_of_gone_rules(tx, before);
  tx.audit("policy.delete", c.id.str(), JsonWriter().open().member("name", before.name).close().take());
  return Answer{.id = c.id.uuid};
}

// ---- Approvals ---------------------------------------------------------------------------------------

Reply set_approval(Tx& tx, const SetApproval& c) {
  TRY(required_text("actor", tx.actor));
  TRY(optional_text("reason", c.reason));
  const VersionIx v = TRY(known_version(tx.state, c.version));
  const DeploymentIx d = tx.state.versions[v].deployment;
  std::set<EnvironmentId> environments(c.environments.begin(), c.environments.end());
  for (EnvironmentId e : environments) TRY(known_environment(tx.state, e));
  if (environments.empty()) environments = environments_of(tx.state, d);
  if (environments.empty())
    return fail(ErrorCode::kConflict, fmt::format("no environment shares a system with deployment '{}'",
                                                  tx.state.deployments[d].row.name));
  JsonWriter details;
  details.open().member("status", to_string(c.status)).key("environments").open_array();
  bool changed = false, created = false;
  for (EnvironmentId e : environments) {
    Approval row{.version = c.version, .environment = e, .actor = tx.actor, .status = c.status};
    row.role = c.role;
    row.reason = c.reason;
    row.at = tx.now;
    const Approval* said = approval_by(tx.state, v, e, tx.actor);
    if (said && said->status == row.status && said->role == row.role) row.at = said->at;
    if (said && *said == row) continue;
    created |= !said;
    changed = true;
    details.value(e);
    tx.put(std::move(row));
  }
  details.close_array().member_unless_empty("reason", c.reason).close();
  if (changed)
    tx.audit(c.status == ApprovalStatus::kApproved ? "version.approve" : "version.reject", c.version.str(),
             details.take());
  return Answer{.id = c.version.uuid, .created = created};
}

// ---- Skips -------------------------------------------------------------------------------------------

Reply create_skip(Tx& tx, const CreateSkip& c) {
  TRY(optional_text("reason", c.reason));
  if (!tx.state.policy_of(c.rule) && !tx.state.freezes.find(FreezeId{c.rule.uuid}))
    return fail(ErrorCode::kNotFound, fmt::format("no rule {}", c.rule.str()));
  if (is_limit(tx.state, c.rule))
    return invalid("ruleId", "is a concurrency limit, which holds for everything: raise the limit instead");
  TRY(known_version(tx.state, c.version));
  if (c.environment) TRY(known_environment(tx.state, *c.environment));
  if (c.resource && !tx.state.resources.find(*c.resource))
    return fail(ErrorCode::kNotFound, fmt::format("no resource {}", c.resource->str()));
  if (c.expires_at && *c.expires_at <= tx.now) return invalid("expiresAt", "is in the past");
  PolicySkip row{.id = tx.ids.make<SkipId>(), .rule = c.rule, .version = c.version};
  row.environment = c.environment;
  row.resource = c.resource;
  row.expires_at = c.expires_at;
  row.reason = c.reason;
  row.created_by = tx.actor;
  row.created_at = tx.now;
  tx.put(row);
  tx.audit("skip.create", row.id.str(), details_of(row));
  return Answer{.id = row.id.uuid, .created = true};
}

Reply delete_skip(Tx& tx, const DeleteSkip& c) {
  const PolicySkip* known = tx.state.skip(c.id);
  if (!known) return fail(ErrorCode::kNotFound, fmt::format("no policy skip {}", c.id.str()));
  PolicySkip row = *known;
  tx.audit("skip.delete", c.id.str(), details_of(row));
  tx.erase(std::move(row));
  return Answer{.id = c.id.uuid};
}

void skip_expired(Tx& tx, SkipId id) {
  const PolicySkip* known = tx.state.skip(id);
  if (!known || !known->expires_at || *known->expires_at > tx.now) return;
  PolicySkip row = *known;
  tx.audit("skip.expired", id.str(), details_of(row));
  tx.erase(std::move(row));
}

// ---- Rollbacks ---------------------------------------------------------------------------------------

Reply clear_rollback(Tx& tx, const ClearRollback& c) {
  const TargetIx t = tx.state.target(c.target);
  if (!t || !tx.state.target_exists(t)) return fail(ErrorCode::kNotFound, "no such release target");
  TargetState row = tx.state.row_of(t);
  if (row.denied.empty()) return Answer{};
  JsonWriter details;
  details.open().key("versions").open_array();
  for (VersionId v : row.denied) details.value(v);
  details.close_array().close();
  row.denied.clear();
  tx.put(std::move(row));
  tx.audit("target.clear_rollback", c.target.str(), details.take());
  return Answer{};
}

}  // namespace ctrlplane
