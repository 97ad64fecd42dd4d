// How many resources of a group are disrupted at a time.
#include <algorithm>

#include <fmt/core.h>

#include "policy/brackets.h"
#include "policy/compiled.h"
#include "policy/concurrency.h"
#include "policy/judge.h"
#include "policy/rule_body.h"
#include "policy/rules.h"

namespace ctrlplane::policy {
namespace {

constexpr int64_t kMostResources = 1'000'000'000;

class ResourceConcurrencyRule final : public Rule {
 public:
  explicit ResourceConcurrencyRule(RuleBody& body) {
    body.selector("groupSelector", Selector::Subject::kResource);
    if (!body.maybe_text("limitType")) body.complain("limitType", "is required");
    terms_.percentage = body.word("limitType", {"percentage", "count"}) == "percentage";
    terms_.value = terms_.percentage ? body.integer("limitValue", 1, 100)
                                     : body.integer("limitValue", 0, kMostResources);
  }

  Gate gate() const override { return Gate::kCapacity; }
  bool waived_on_return() const override { return false; }
  const ConcurrencyTerms* concurrency() const override { return &terms_; }

  Evaluation evaluate(const Question& q) const override {
    const RuleId rule = q.rule->id;
    const ResourceId resource = q.resource().id;
    if (!q.state.is_limited(rule, q.slot().resource))
      return words(q, Evaluation::allowed(), "the rule does not count this resource");
    const auto& holders = q.state.holders(rule);
    if (auto it = holders.find(resource); it != holders.end())
      return words(q, Evaluation::allowed(it->second.since), "the resource holds a slot");
    if (q.slot().current_version == q.version) return words(q, Evaluation::allowed(), "runs here already");
    const Line::Waiting* waits = q.state.line(rule).find(resource);
    const LineKey place = waits ? waits->key : place_in_line(q.state, q.now, q.target, q.version);
    if (may_take(q.state, rule, resource, place)) return words(q, Evaluation::allowed(), "a slot is free");
    return words(q, {.verdict = Verdict::kPending}, limit_message(q.state, rule));
  }

 private:
  Evaluation words(const Question& q, Evaluation e, std::string_view message) const {
    if (!q.words) return e;
    e.message = message;
    if (e.verdict == Verdict::kAllowed) return e;
    e.unblock = "the end of the work on a resource that holds a slot, or a higher limit";
    const RuleId rule = q.rule->id;
    const Limit* limit = q.state.limit(rule);
    JsonWriter w;
    w.open().member("active", q.state.holders(rule).size()).member("max", slots_of(q.state, rule));
    w.member("total", limit ? limit->resources.cardinality() : 0).key("holders").open_array();
    for (const auto& [resource, slot] : q.state.holders(rule)) {
      const ResourceIx r = q.state.resources.find(resource);
      w.open().member("resourceId", resource);
      w.member("identifier", r ? q.state.resources[r].row.identifier : std::string());
      w.member("since", slot.since).member("groupId", slot.group).close();
    }
    w.close_array();
    if (const Line::Waiting* waits = q.state.line(rule).find(q.resource().id))
      w.member("position_in_queue", q.state.line(rule).ahead_of(waits->key, SIZE_MAX) + 1);
    e.details = w.close().take();
    return e;
  }

  ConcurrencyTerms terms_;
};

}  // namespace

int64_t ConcurrencyTerms::most_of(uint64_t total) const {
  if (!percentage) return value;
  return (static_cast<int64_t>(total) * value + 99) / 100;
}

std::vector<RuleId> slots_needed(const State& state, TargetIx target) {
  std::vector<RuleId> needed;
  for (const BoundRule* b : rules_of(state, target).limits)
    if (state.is_limited(b->row->id, state.at(target).resource)) needed.push_back(b->row->id);
  return needed;
}

int64_t slots_of(const State& state, RuleId rule) {
  const PolicyIx p = state.policy_of(rule);
  const Limit* limit = state.limit(rule);
  if (!p || !limit) return 0;
  const Rule* found = rule_of(state, p, rule);
  return found && found->concurrency() ? found->concurrency()->most_of(limit->resources.cardinality()) : 0;
}

int64_t quarantined_in(const State& state, RuleId rule) {
  std::vector<ResourceId> counted;
  for (const auto& [key, in] : state.quarantines()) {
    const ResourceIx r = state.resources.find(key.second);
    if (r && state.is_limited(rule, r)) counted.push_back(key.second);
  }
  std::sort(counted.begin(), counted.end());
  return std::unique(counted.begin(), counted.end()) - counted.begin();
}

bool may_take(const State& state, RuleId rule, ResourceId resource, const LineKey& place) {
  const auto& holders = state.holders(rule);
  if (holders.contains(resource)) return true;
  const int64_t most = slots_of(state, rule);
  const int64_t free = most - static_cast<int64_t>(holders.size());
  if (free <= 0 || quarantined_in(state, rule) >= most) return false;
  return static_cast<int64_t>(state.line(rule).ahead_of(place, static_cast<size_t>(free))) < free;
}

namespace {

// Since when the target has been behind. A newer version in place of one that it waited with does not send it
// to the end of the line, or who has had its turn would pass it with every version.
Time behind_since(const State& state, TargetIx target, VersionIx version) {
  constexpr int kLooked = 100;
  const TargetSlot& slot = state.at(target);
  Time since = state.versions[version].row.created_at;
  int looked = 0;
  for (VersionIx v : state.deployments[slot.deployment].versions) {
    if (v == slot.current_version || looked == kLooked) break;
    if (!state.in_scope(v, target)) continue;
    ++looked;
    const bool denied = std::find(slot.denied.begin(), slot.denied.end(), v) != slot.denied.end();
    if (state.versions[v].row.status == VersionStatus::kReady && !denied)
      since = std::min(since, state.versions[v].row.created_at);
  }
  return std::max(since, state.resources[slot.resource].row.created_at);
}

}  // namespace

LineKey place_in_line(const State& state, Time now, TargetIx target, VersionIx version, GroupIx group) {
  LineKey place{.since = behind_since(state, target, version),
                .resource = state.resources[state.at(target).resource].row.id};
  place.turn = place.since;
  const RuleSet& set = rules_of(state, target);
  if (!set.has_rollout) return place;
  Question q{.state = state, .now = now, .target = target, .version = version, .rules = &set, .group = group};
  for (const BoundRule& b : set.rules) {
    if (!b.rule || !b.rule->is_rollout()) continue;
    q.rule = b.row;
    if (auto turn = b.rule->evaluate(q).satisfied_at) place.turn = std::max(place.turn, *turn);
  }
  place.position = rollout_rank(state, target, version).position;
  return place;
}

std::string limit_message(const State& state, RuleId rule) {
  const int64_t most = slots_of(state, rule);
  if (most > 0 && quarantined_in(state, rule) >= most)
    return fmt::format("{} of its resources are in quarantine: nothing new starts under this limit of {}",
                       quarantined_in(state, rule), most);
  return fmt::format("Concurrency limit reached: {}/{} resources active", state.holders(rule).size(), most);
}

std::unique_ptr<Rule> make_resource_concurrency(RuleBody& body, const Making&) {
  return std::make_unique<ResourceConcurrencyRule>(body);
}

}  // namespace ctrlplane::policy
