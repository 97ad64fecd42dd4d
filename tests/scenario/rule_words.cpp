#include "rule_words.h"

#include "model/json_writer.h"
#include "words.h"

namespace ctrlplane::scenario {
namespace {

using RuleInput = UpsertPolicy::RuleInput;
using namespace std::literals;

Result<int64_t> in_units(Words& words, Duration unit) {
  Duration d = TRY(words.duration());
  if (d.us % unit.us != 0) return mistake("the rule cannot say that duration exactly");
  return d.us / unit.us;
}

// `failure,cancelled`
void write_list(JsonWriter& w, std::string_view name, const std::string& words) {
  w.key(name).open_array();
  for (const std::string& word : split(words, ",")) w.value(word);
  w.close_array();
}

// `needs 2 approvals [from admin,operator] [not self]`
Status approvals(Words& words, JsonWriter& w) {
  w.member("minApprovals", TRY(words.number("how many approvals")));
  if (!words.take("approvals")) TRY(words.must("approval"));
  if (words.take("from")) write_list(w, "approverRoles", TRY(words.next("roles")));
  if (words.take("not self")) w.member("noSelfApproval", true);
  return {};
}

// `after <environment selector> [on 75%] [with successful,skipped] [soak 30m] [max age 24h] [any]
// [strictly]`
Status progression(Words& words, JsonWriter& w) {
  w.member("dependsOnEnvironmentSelector", words.until({"on", "with", "soak", "max", "any", "strictly"}));
  if (words.take("on")) {
    std::string share = TRY(words.next("a percentage"));
    if (!share.ends_with('%')) return mistake(fmt::format("'{}' is no percentage", share));
    w.key("minimumSuccessPercentage").raw(share.substr(0, share.size() - 1));
  }
  if (words.take("with")) write_list(w, "successStatuses", TRY(words.next("statuses")));
  if (words.take("soak")) w.member("minimumSoakTimeMinutes", TRY(in_units(words, minutes(1))));
  if (words.take("max age")) w.member("maximumAgeHours", TRY(in_units(words, hours(1))));
  if (words.take("any")) w.member("mode", "any");
  if (words.take("strictly")) w.member("outOfScope", "deny");
  return {};
}

// `rollout linear|normalized 60s`
Status rollout(Words& words, JsonWriter& w) {
  if (words.take("linear"))
    w.member("rolloutType", "linear");
  else if (words.take("normalized"))
    w.member("rolloutType", "linear-normalized");
  else
    return mistake("a rollout is linear or normalized");
  w.member("timeScaleInterval", TRY(in_units(words, seconds(1))));
  return {};
}

// `window FREQ=DAILY;BYHOUR=9 for 8h [in Europe/Berlin]`; a blank in the rule is the end of a line of it.
Status window(Words& words, JsonWriter& w) {
  std::string rule = words.until({"for"});
  std::replace(rule.begin(), rule.end(), ' ', '\n');
  w.member("rrule", rule);
  TRY(words.must("for"));
  w.member("durationMinutes", TRY(in_units(words, minutes(1))));
  if (words.take("in")) w.member("timezone", TRY(words.next("a time zone")));
  return {};
}

Status closed_window(Words& words, JsonWriter& w) {
  w.member("allowWindow", false);
  return window(words, w);
}

Status cooldown(Words& words, JsonWriter& w) {
  w.member("intervalSeconds", TRY(in_units(words, seconds(1))));
  return {};
}

Status only_versions(Words& words, JsonWriter& w) {
  w.member("selector", words.rest());
  return {};
}

// `depends on <cel> [applies to <cel>] [all]`
Status dependency(Words& words, JsonWriter& w) {
  w.member("dependsOn", words.until({"applies", "all"}));
  if (words.take("applies to")) w.member("appliesTo", words.until({"all"}));
  if (words.take("all")) w.member("require", "all");
  return {};
}

// `retry 3 [on failure,cancelled] [backoff 30s] [exponential] [cap 5m]`
Status retry(Words& words, JsonWriter& w) {
  w.member("maxRetries", TRY(words.number("how many retries")));
  if (words.take("on")) write_list(w, "retryOnStatuses", TRY(words.next("statuses")));
  if (words.take("backoff")) w.member("backoffSeconds", TRY(in_units(words, seconds(1))));
  if (words.take("exponential")) w.member("backoffStrategy", "exponential");
  if (words.take("cap")) w.member("maxBackoffSeconds", TRY(in_units(words, seconds(1))));
  return {};
}

// `rollback [on failure,cancelled]`
Status rollback(Words& words, JsonWriter& w) {
  if (words.take("on")) write_list(w, "onJobStatuses", TRY(words.next("statuses")));
  return {};
}

// `bracket <deployment selector> [collecting 24h | waiting 24h | immediate] [redeploy | require all] [merge]
// [pre <selector>] [post <selector>] [stuck 1h] [back individual|halt_and_notify]`; waiting: for all
Status bracket(Words& words, JsonWriter& w) {
  const auto stops = {"collecting"sv, "waiting"sv, "immediate"sv, "redeploy"sv, "require"sv,
                      "merge"sv,      "pre"sv,     "post"sv,      "stuck"sv,    "back"sv};
  w.member("deploymentSelector", words.until(stops));
  if (words.take("collecting")) {
    w.member("readinessWindowSeconds", TRY(in_units(words, seconds(1))));
  } else if (words.take("waiting")) {
    w.member("readinessMode", "wait_for_all");
    w.member("readinessWindowSeconds", TRY(in_units(words, seconds(1))));
  } else if (words.take("immediate")) {
    w.member("readinessMode", "immediate");
  }
  if (words.take("redeploy")) w.member("unchangedMemberStrategy", "redeploy_current");
  if (words.take("require all")) w.member("unchangedMemberStrategy", "require_all");
  if (words.take("merge")) w.member("overlapStrategy", "merge");
  if (words.take("pre")) w.member("preHookSelector", words.until(stops));
  if (words.take("post")) w.member("postHookSelector", words.until(stops));
  if (words.take("stuck")) w.member("stuckTimeoutSeconds", TRY(in_units(words, seconds(1))));
  if (words.take("back")) w.member("rollbackStrategy", TRY(words.next("a strategy")));
  return {};
}

// `limit 2 of <resource selector>`, `limit 20% of ..`
Status limit(Words& words, JsonWriter& w) {
  std::string most = TRY(words.next("how many"));
  const bool share = most.ends_with('%');
  if (share) most.pop_back();
  TRY(words.must("of"));
  w.member("groupSelector", words.rest()).member("limitType", share ? "percentage" : "count");
  w.key("limitValue").raw(most);
  return {};
}

struct Spelling {
  std::string_view words, type;
  Status (*write)(Words&, JsonWriter&);
};
constexpr Spelling kSpellings[] = {
    {"needs", "anyApproval", approvals},
    {"after", "environmentProgression", progression},
    {"rollout", "gradualRollout", rollout},
    {"window", "deploymentWindow", window},
    {"closed window", "deploymentWindow", closed_window},
    {"cooldown", "versionCooldown", cooldown},
    {"only versions", "versionSelector", only_versions},
    {"depends on", "deploymentDependency", dependency},
    {"retry", "retry", retry},
    {"rollback", "rollback", rollback},
    {"bracket", "deploymentBracket", bracket},
    {"limit", "resourceConcurrency", limit},
};

Result<RuleInput> read_rule(const std::string& text) {
  Words words(text);
  if (size_t brace = text.find('{'); brace != std::string::npos && text.find(' ') == brace - 1) {
    auto json = Json::parse_object(text.substr(brace));
    if (!json) return mistake(json.error().message);
    return RuleInput{.type = text.substr(0, brace - 1), .body = *json};
  }
  for (const Spelling& s : kSpellings) {
    if (!words.take(s.words)) continue;
    JsonWriter w;
    w.open();
    TRY(s.write(words, w));
    TRY(words.end());
    auto json = Json::parse_object(w.close().take());
    if (!json) return mistake(json.error().message);
    return RuleInput{.type = std::string(s.type), .body = *json};
  }
  return mistake(fmt::format("'{}' is no rule", text));
}

}  // namespace

std::vector<std::string> split_outside(const std::string& text, std::string_view separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (quote)
      quote = c == quote ? 0 : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    else
      depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (depth == 0 && !quote && text.compare(i, separator.size(), separator) == 0) {
      parts.emplace_back();
      i += separator.size();
      continue;
    }
    parts.back() += c;
    ++i;
  }
  return parts;
}

Result<std::vector<RuleInput>> read_rules(const std::string& text) {
  std::vector<RuleInput> rules;
  if (text.empty()) return rules;
  for (const std::string& one : split_outside(text, ", ")) rules.push_back(TRY(read_rule(one)));
  return rules;
}

}  // namespace ctrlplane::scenario
