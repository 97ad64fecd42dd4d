// why: what stands in the way of a release target, as a tree that is read in five seconds.
#include <ostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/json_text.h"
#include "cli/text.h"
#include "cli/verb.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

struct WhyArguments {
  std::string deployment, environment, resource;
};

// Names of the target's three parts, or nothing where the caller left one out.
bool fits(const bj::value& target, const WhyArguments& a) {
  const bj::object& t = target.as_object();
  auto is = [&](std::string_view part, std::string_view member, const std::string& wanted) {
    return wanted.empty() || text_at(t.at(part), member) == wanted;
  };
  return is("deployment", "name", a.deployment) && is("environment", "name", a.environment) &&
         (is("resource", "name", a.resource) || is("resource", "identifier", a.resource));
}

std::string_view mark(std::string_view verdict) {
  if (verdict == "allowed") return "✓";
  return verdict == "pending" ? "…" : "✗";
}

void print_rule(std::ostream& out, const bj::value& rule) {
  std::string policy = text_at(rule, "policyName");
  out << "      " << mark(text_at(rule, "verdict")) << ' ' << printable(text_at(rule, "type"))
      << (policy.empty() ? "" : fmt::format(" ({})", printable(policy))) << ": "
      << printable(text_at(rule, "message"));
  if (std::string who = text_at(rule, "unblock"); !who.empty()) out << "; needs " << printable(who);
  if (std::string when = text_at(rule, "nextEvaluationTime"); !when.empty()) out << "; next look " << when;
  out << '\n';
}

void print_tree(std::ostream& out, const bj::value& target, const bj::value& explanation) {
  const bj::object& t = target.as_object();
  out << printable(text_at(t.at("deployment"), "name")) << " on "
      << printable(text_at(t.at("environment"), "name")) << '/'
      << printable(text_at(t.at("resource"), "name")) << ": " << printable(text_at(explanation, "summary"))
      << '\n';
  for (const bj::value& v : explanation.as_object().at("versions").as_array()) {
    bool current = v.as_object().at("current").as_bool();
    out << "  " << mark(text_at(v, "verdict")) << ' '
        << printable(text_at(v.as_object().at("version"), "tag")) << (current ? "  (runs here)" : "") << '\n';
    if (std::string no = text_at(v, "notDeployable"); !no.empty()) out << "      ✗ " << printable(no) << '\n';
    if (!current)
      for (const bj::value& rule : v.as_object().at("rules").as_array()) print_rule(out, rule);
  }
}

Outcome<void> why(Session& s, const WhyArguments& a) {
  std::string workspace = TRY(s.client.workspace_path());
  const bool as_tree = s.output != Output::kJson && s.output != Output::kYaml;
  bj::array explanations;
  for (const bj::value& target : TRY(s.client.list(workspace + "/release-targets"))) {
    if (!fits(target, a)) continue;
    std::string key = text_at(target, "releaseTarget.key");
    explanations.push_back(
        TRY(s.client.get(fmt::format("{}/release-targets/{}/explain", workspace, segment(key)))));
    if (as_tree) print_tree(s.console.out, target, explanations.back());
  }
  if (explanations.empty())
    return std::unexpected(
        Failure{.exit_code = kWrongUse, .message = "no release target fits; see `ctrlplane targets`"});
  if (s.output == Output::kJson) s.console.out << pretty_json(explanations) << '\n';
  if (s.output == Output::kYaml) s.console.out << yaml_text(explanations);
  return {};
}

}  // namespace

void add_why(CLI::App& app, const FramePtr& frame) {
  auto arguments = std::make_shared<WhyArguments>();
  CLI::App* verb =
      add_verb(app, frame, "why", "Why release targets run what they run, and what they wait for",
               "  ctrlplane why web prod prod-eu-1\n  ctrlplane why web",
               [arguments](Session& s) { return why(s, *arguments); });
  verb->add_option("deployment", arguments->deployment, "its name")->required();
  verb->add_option("environment", arguments->environment, "its name; all if left out");
  verb->add_option("resource", arguments->resource, "its name or identifier; all if left out");
}

}  // namespace ctrlplane::cli
