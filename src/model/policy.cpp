#include "model/policy.h"

#include <boost/json.hpp>

#include "model/json_writer.h"

namespace ctrlplane {
namespace {

namespace bj = boost::json;

std::optional<PolicyRule> parse_rule(const bj::value& v) {
  const bj::object* o = v.if_object();
  if (!o) return std::nullopt;
  const auto text = [&](std::string_view name) -> const bj::string* {
    const bj::value* member = o->if_contains(name);
    return member ? member->if_string() : nullptr;
  };
  const bj::string *id = text("id"), *type = text("type"), *shown = text("shown");
  const bj::value *created_at = o->if_contains("createdAt"), *body = o->if_contains("body");
  if (!id || !type || !shown || !created_at || !created_at->is_int64() || !body) return std::nullopt;
  auto rule_id = RuleId::parse(*id);
  auto document = Json::parse_object(bj::serialize(*body));
  if (!rule_id || !document) return std::nullopt;
  PolicyRule rule{.id = *rule_id, .created_at = Time{created_at->get_int64()}};
  rule.type = std::string(*type);
  rule.body = *std::move(document);
  rule.shown_created_at = std::string(*shown);
  return rule;
}

}  // namespace

std::string rules_json(const std::vector<PolicyRule>& rules) {
  JsonWriter out;
  out.open_array();
  for (const PolicyRule& r : rules) {
    out.open().member("id", r.id).member("createdAt", r.created_at.us).member("type", r.type);
    out.member("body", r.body).member("shown", r.shown_created_at).close();
  }
  return out.close_array().take();
}

std::optional<std::vector<PolicyRule>> parse_rules(std::string_view text) {
  bj::parse_options options;
  options.max_depth = 70;  // the array and the rule around a body of 64
  bj::error_code error;
  bj::value v = bj::parse(text, error, {}, options);
  if (error || !v.is_array()) return std::nullopt;
  std::vector<PolicyRule> rules;
  for (const bj::value& member : v.get_array()) {
    auto rule = parse_rule(member);
    if (!rule) return std::nullopt;
    rules.push_back(*std::move(rule));
  }
  return rules;
}

}  // namespace ctrlplane
