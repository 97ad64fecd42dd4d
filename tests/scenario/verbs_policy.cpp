// Policies, and what people say about versions under them.
#include "describe.h"
#include "rule_words.h"
#include "verbs.h"

namespace ctrlplane::scenario {
namespace {

constexpr char kLastSkip[] = "the last one";

// `api v2`
Result<VersionId> read_version(Call& call) {
  std::string deployment = TRY(call.words.next("a deployment"));
  std::string tag = TRY(call.words.next("a tag"));
  return call.world.names.id<VersionId>(Names::version(deployment, tag));
}

// The first rule of the type; a rule nobody has, if there is none.
RuleId rule_of(Call& call, const std::string& policy, const std::string& type) {
  const State& state = call.world.state();
  if (PolicyIx p = state.policies.find(call.world.names.id<PolicyId>(policy)))
    for (const PolicyRule& rule : state.policies[p].row.rules)
      if (rule.type == type) return rule.id;
  return RuleId{derived_uuid("no rule")};
}

// `api v2 [in prod] [as alice] [role operator] ["reason"]`
Output say(Call& call, ApprovalStatus status) {
  SetApproval c{.version = TRY(read_version(call)), .status = status};
  if (call.words.take("in"))
    c.environments.push_back(call.world.names.id<EnvironmentId>(TRY(call.words.next("an environment"))));
  if (call.words.take("as")) call.actor = TRY(call.words.next("a name"));
  if (call.words.take("role")) c.role = TRY(read_word<Role>(call, "role"));
  c.reason = call.words.rest();
  return outcome(TRY(call.send(std::move(c))));
}

}  // namespace

// `policy NAME [where <selector>] [disabled] [priority N] [ranking node-3 at 1]: RULE, RULE`
Output declare_policy(Call& call) {
  std::string text = call.words.rest();
  std::string head = split_outside(text, ": ")[0];
  std::string rules = head.size() < text.size() ? text.substr(head.size() + 2) : "";
  if (head.ends_with(':')) head.pop_back();
  Words words(head);
  UpsertPolicy c{.name = TRY(words.next("a name")), .selector = "true"};
  PolicyId id = call.world.names.id<PolicyId>(c.name);
  if (call.world.state().policies.find(id)) c.id = id;
  if (words.take("where")) c.selector = words.until({"disabled", "priority", "ranking"});
  c.enabled = !words.take("disabled");
  if (words.take("priority")) c.priority = TRY(words.number("a priority"));
  std::string ranked;
  if (words.take("ranking")) {
    ranked = TRY(words.next("a resource"));
    TRY(words.must("at"));
  }
  const int64_t place = ranked.empty() ? 0 : TRY(words.number("a place"));
  TRY(words.end());
  c.rules = TRY(read_rules(rules));
  for (UpsertPolicy::RuleInput& rule : c.rules)
    if (!ranked.empty() && rule.type == "deploymentBracket")
      rule.id = TRY(rule_id_that_ranks(call.world, ranked, place));
  std::string name = c.name;
  Answer answer = TRY(call.send(std::move(c)));
  call.world.names.learn<PolicyId>(name, answer.id);
  return outcome(answer);
}

Output approve(Call& call) { return say(call, ApprovalStatus::kApproved); }
Output reject(Call& call) { return say(call, ApprovalStatus::kRejected); }

// `skip anyApproval of NAME for api v2 [in prod] [on node-1] [until 2h] ["reason"]`, `skip freeze NAME for
// ..`
Output skip_rule(Call& call) {
  if (call.words.take("member")) return skip_member(call);
  std::string type = TRY(call.words.next("a type of rule"));
  CreateSkip c{.rule = {}, .version = {}};
  if (type == "freeze") {
    c.rule = RuleId{call.world.names.id<FreezeId>(TRY(call.words.next("a freeze"))).uuid};
  } else {
    TRY(call.words.must("of"));
    c.rule = rule_of(call, TRY(call.words.next("a policy")), type);
  }
  TRY(call.words.must("for"));
  c.version = TRY(read_version(call));
  if (call.words.take("in"))
    c.environment = call.world.names.id<EnvironmentId>(TRY(call.words.next("an environment")));
  if (call.words.take("on")) c.resource = call.world.names.id<ResourceId>(TRY(call.words.next("a resource")));
  if (call.words.take("until"))
    c.expires_at = call.world.wall_at(call.world.since_start() + TRY(call.words.duration()));
  c.reason = call.words.rest();
  Answer answer = TRY(call.send(std::move(c)));
  call.world.names.learn<SkipId>(kLastSkip, answer.id);
  return outcome(answer);
}

// `end skip`: the one that was made last.
Output end_skip(Call& call) {
  TRY(call.words.must("skip"));
  TRY(call.send(DeleteSkip{call.world.names.id<SkipId>(kLastSkip)}));
  return "deleted\n";
}

// `depend api v2 on db where <cel>`
Output depend(Call& call) {
  SetVersionDependency c{.version = TRY(read_version(call)), .on = {}, .selector = {}};
  TRY(call.words.must("on"));
  c.on = call.world.names.id<DeploymentId>(TRY(call.words.next("a deployment")));
  TRY(call.words.must("where"));
  c.selector = call.words.rest();
  return outcome(TRY(call.send(std::move(c))));
}

// `undepend api v2 from db`
Output undepend(Call& call) {
  DeleteVersionDependency c{.version = TRY(read_version(call)), .on = {}};
  TRY(call.words.must("from"));
  c.on = call.world.names.id<DeploymentId>(TRY(call.words.next("a deployment")));
  TRY(call.send(c));
  return "deleted\n";
}

// `force api v2 on prod/node-1 [bypassing freezes] ["reason"]`
Output force(Call& call) {
  std::string deployment = TRY(call.words.next("a deployment"));
  std::string tag = TRY(call.words.next("a tag"));
  TRY(call.words.must("on"));
  std::string place = TRY(call.words.next("environment/resource"));
  size_t slash = place.find('/');
  if (slash == std::string::npos) return mistake(fmt::format("'{}' is not environment/resource", place));
  ForceDeploy c{
      .target = call.world.names.target(deployment, place.substr(0, slash), place.substr(slash + 1)),
      .version = call.world.names.id<VersionId>(Names::version(deployment, tag)),
      .reason = {}};
  c.bypass_freeze = call.words.take("bypassing freezes");
  c.reason = call.words.rest();
  return fmt::format("{} started\n", TRY(call.send(std::move(c))).jobs.size());
}

// `clear rollback api on prod/node-1`
Output clear(Call& call) {
  if (call.words.take("quarantine")) return clear_quarantine(call);
  TRY(call.words.must("rollback"));
  TRY(call.send(ClearRollback{TRY(read_target(call))}));
  return "accepted\n";
}

}  // namespace ctrlplane::scenario
