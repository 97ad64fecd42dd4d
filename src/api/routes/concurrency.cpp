// Limits of how many resources are disrupted at a time: who holds a slot, who waits for one, and whom they do
// not concern.
#include <algorithm>

#include <fmt/core.h>

#include "api/bracket_views.h"
#include "api/families.h"
#include "api/views.h"
#include "policy/concurrency.h"
#include "policy/judge.h"

namespace ctrlplane::api {
namespace {

constexpr size_t kTargetsPerStep = 5000;
constexpr size_t kMostListed = 1000;    // holders, and those who wait
constexpr size_t kMostUnlimited = 100;  // by name

// Resources that a policy with a limit has targets on and that the limit does not count. Looking at every
// target takes a while, so it is done in steps that hold nobody up.
struct Survey {
  uint32_t next = 0;
  std::map<RuleId, Roaring> unlimited = {};  // by ResourceIx
};

bool has_limits(const State& s) {
  bool any = false;
  s.policies.each([&](PolicyIx, const PolicySlot& p) {
    for (const PolicyRule& rule : p.row.rules) any = any || (p.row.enabled && s.limit(rule.id));
  });
  return any;
}

// True: that is all.
bool look_on(const State& s, Survey& survey) {
  if (survey.next == 0 && !has_limits(s)) return true;
  for (size_t i = 0; i < kTargetsPerStep && survey.next < s.target_bound(); ++i, ++survey.next) {
    const TargetIx t{survey.next};
    if (!s.at(t).exists) continue;
    const ResourceIx r = s.at(t).resource;
    for (const policy::BoundRule* limit : policy::rules_of(s, t).limits)
      if (!s.is_limited(limit->row->id, r)) survey.unlimited[limit->row->id].add(r.n);
  }
  return survey.next >= s.target_bound();
}

std::string why_held(const State& s, const ConcurrencySlot& slot) {
  if (GroupIx g = slot.group ? s.groups.find(*slot.group) : GroupIx{}; g && s.groups[g].row.active())
    return fmt::format("bracket group {}", to_string(s.groups[g].row.status));
  std::set<std::string> names;
  if (ResourceIx r = s.resources.find(slot.resource))
    for (TargetIx t : s.resources[r].targets)
      for (JobIx j = s.at(t).first_job; j; j = s.jobs[j].next_on_target) {
        const auto& slots = s.jobs[j].row.slots;
        if (std::find(slots.begin(), slots.end(), slot.rule) != slots.end())
          names.insert(s.deployments[s.at(t).deployment].row.name);
      }
  if (names.empty()) return "work that is ending";
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return fmt::format("active jobs of {}", text);
}

void write_names(JsonWriter& w, const State& s, ResourceId id) {
  w.member("resourceId", id);
  if (ResourceIx r = s.resources.find(id))
    w.member("identifier", s.resources[r].row.identifier).member("name", s.resources[r].row.name);
}

void write_holders(JsonWriter& w, const State& s, RuleId rule) {
  std::vector<const ConcurrencySlot*> all;
  for (const auto& [resource, slot] : s.holders(rule)) all.push_back(&slot);
  std::sort(all.begin(), all.end(), [](const ConcurrencySlot* a, const ConcurrencySlot* b) {
    return std::tie(a->since, a->resource) < std::tie(b->since, b->resource);
  });
  w.open_array();
  for (size_t i = 0; i < all.size() && i < kMostListed; ++i) {
    write_names(w.open(), s, all[i]->resource);
    w.member("since", all[i]->since).member("groupId", all[i]->group).member("why", why_held(s, *all[i]));
    w.close();
  }
  w.close_array();
}

void write_waiting(JsonWriter& w, const State& s, RuleId rule) {
  size_t position = 0;
  w.open_array();
  for (const LineKey& key : s.line(rule).order()) {
    if (position++ == kMostListed) break;
    write_names(w.open(), s, key.resource);
    w.member("position", position).close();
  }
  w.close_array();
}

void write_unlimited(JsonWriter& w, const State& s, const Survey& survey, RuleId rule) {
  std::vector<std::string> names;
  uint64_t count = 0;
  if (auto it = survey.unlimited.find(rule); it != survey.unlimited.end())
    for (uint32_t n : it->second) {
      const ResourceIx r{n};
      if (!s.resources.used(r) || s.is_limited(rule, r)) continue;  // since it was looked at
      ++count;
      names.push_back(s.resources[r].row.identifier);
    }
  const size_t shown = std::min(names.size(), kMostUnlimited);
  std::partial_sort(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), names.end());
  w.open().member("count", count).key("identifiers").open_array();
  for (size_t i = 0; i < shown; ++i) w.value(names[i]);
  w.close_array().close();
}

void write_limit(JsonWriter& w, const State& s, const PolicyRule& rule, const policy::ConcurrencyTerms& terms,
                 const Survey& survey) {
  const Limit& limit = *s.limit(rule.id);
  w.open();
  write_rule_and_policy(w, s, rule.id);
  w.member("limitType", terms.percentage ? "percentage" : "count").member("limitValue", terms.value);
  w.member("groupSelector", limit.text).member("total", limit.resources.cardinality());
  if (limit.counting) w.member("counting", true);
  w.member("max", policy::slots_of(s, rule.id)).member("active", s.holders(rule.id).size());
  w.member("quarantined", policy::quarantined_in(s, rule.id));
  write_holders(w.key("holders"), s, rule.id);
  write_waiting(w.key("waiting"), s, rule.id);
  w.member("waitingTotal", s.line(rule.id).size());
  write_unlimited(w.key("unlimited"), s, survey, rule.id);
  w.close();
}

std::string limits_text(const State& s, const Survey& survey) {
  JsonWriter w;
  w.open().key("items").open_array();
  for (const PolicySlot* p : sorted<PolicyIx>(s.policies, kByName)) {
    if (!p->row.enabled) continue;
    for (const PolicyRule& rule : p->row.rules) {
      const policy::Rule* read = policy::rule_of(s, s.policies.find(p->row.id), rule.id);
      if (read && read->concurrency() && s.limit(rule.id))
        write_limit(w, s, rule, *read->concurrency(), survey);
    }
  }
  return w.close_array().close().take();
}

void survey_and_answer(Call& call, std::shared_ptr<Survey> survey) {
  Query step{[survey](const State& s, Time) -> Result<std::string> {
    return look_on(s, *survey) ? limits_text(s, *survey) : std::string();
  }};
  auto status = call.submit(call.workspace(), std::move(step), {}, [survey](Call& c, Reply reply) {
    if (!reply) return c.refuse(reply.error());
    if (!reply->text.empty()) return void(c.reply(std::move(reply->text)));
    survey_and_answer(c, survey);
  });
  if (!status) call.refuse(status.error());
}

Status list(Call& c) {
  survey_and_answer(c, std::make_shared<Survey>());
  return {};
}

}  // namespace

Family concurrency_family() {
  using namespace permission;
  return {"Concurrency",
          {
              {.method = "GET",
               .path = CTRLPLANE_W "/concurrency",
               .id = "listConcurrency",
               .summary = "Limits of how many resources are disrupted at a time: who holds a slot and why, "
                          "who waits in which order, and resources that a limit does not count",
               .permission = kRead,
               .outcomes = {{200, "ConcurrencyLimits"}},
               .handler = list},
          }};
}

}  // namespace ctrlplane::api
