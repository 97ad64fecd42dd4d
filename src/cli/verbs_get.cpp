// get: what there is, by kind.
#include <ostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/json_text.h"
#include "cli/lists.h"
#include "cli/names.h"
#include "cli/text.h"
#include "cli/verb.h"
#include "cli/watch.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

struct GetArguments {
  std::string kind, name, deployment, selector, resource_kind;
  ListOptions list;
};

Outcome<Query> resource_query(const Kind& k, const GetArguments& a) {
  if (k.singular != "resource") {
    if (!a.selector.empty() || !a.resource_kind.empty())
      return wrong_use("--selector and --kind are for resources only");
    return Query{};
  }
  std::string cel = a.selector;
  if (!a.resource_kind.empty()) {
    std::string test = fmt::format("resource.kind == {}", cel_text(a.resource_kind));
    cel = cel.empty() ? test : fmt::format("({}) && {}", cel, test);
  }
  return cel.empty() ? Query{} : Query{{"cel", cel}};
}

Outcome<void> get_one(Session& s, const Kind& k, const GetArguments& a, const std::string& deployment) {
  auto draw = [&]() -> Outcome<std::string> {
    bj::value item = TRY(find_one(s.client, k, a.name, deployment));
    return item_text(s.console, s.output, k, item);
  };
  if (a.list.watch) return redraw_on_changes(s, draw);
  s.console.out << TRY(draw());
  return {};
}

Outcome<void> get(Session& s, const GetArguments& a) {
  const Kind& k = *TRY(kind_called(a.kind));
  std::string deployment;
  if (k.where == Where::kDeployment) {
    if (a.deployment.empty())
      return wrong_use(fmt::format("{} belong to a deployment: name it with --deployment", k.plural));
    deployment = TRY(id_of(s.client, kind("deployment"), a.deployment));
  } else if (!a.deployment.empty()) {
    return wrong_use("--deployment is for versions only; see also: ctrlplane targets, ctrlplane jobs");
  }
  if (a.list.watch && k.where == Where::kInstance)
    return wrong_use(fmt::format("--watch does not work for {}: they belong to no workspace", k.plural));
  Query query = TRY(resource_query(k, a));
  if (!a.name.empty()) return get_one(s, k, a, deployment);
  return show_list(s, k, TRY(list_path(s.client, k, deployment)), query, a.list);
}

Outcome<void> versions(Session& s, const std::string& deployment, const ListOptions& options) {
  const Kind& k = kind("version");
  std::string id = TRY(id_of(s.client, kind("deployment"), deployment));
  return show_list(s, k, TRY(list_path(s.client, k, id)), {}, options);
}

struct TargetArguments {
  std::string deployment, environment, resource;
  bool off_main_line = false;
  ListOptions list;
};

Outcome<void> targets(Session& s, const TargetArguments& a) {
  Query query;
  auto filter = [&](const char* name, const char* of, const std::string& reference) -> Outcome<void> {
    if (!reference.empty()) query.emplace_back(name, TRY(id_of(s.client, kind(of), reference)));
    return {};
  };
  TRY(filter("deploymentId", "deployment", a.deployment));
  TRY(filter("environmentId", "environment", a.environment));
  TRY(filter("resourceId", "resource", a.resource));
  if (a.off_main_line) query.emplace_back("offMainLine", "true");
  const Kind& k = kind("target");
  return show_list(s, k, TRY(list_path(s.client, k)), query, a.list);
}

Outcome<void> redeploy(Session& s, std::string key) {
  if (key.starts_with("target/")) key.erase(0, 7);  // as -o name writes it
  std::string path =
      fmt::format("{}/release-targets/{}/redeploy", TRY(s.client.workspace_path()), segment(key));
  bj::value answer = TRY(s.client.send("POST", path));
  if (s.output == Output::kJson || s.output == Output::kYaml)
    s.console.out << value_text(s.output, answer);
  else
    s.console.out << "target/" << printable(key) << " redeployed\n";
  return {};
}

}  // namespace

void add_list_options(CLI::App& verb, ListOptions& options) {
  verb.add_option("--limit", options.limit, "at most so many")->check(CLI::Range(1, 1'000'000));
  verb.add_flag("--watch", options.watch, "show it again whenever the workspace changes");
}

Outcome<void> show_list(Session& s, const Kind& k, const std::string& path, const Query& query,
                        const ListOptions& options) {
  auto empty_line = [&]() -> std::string {
    if (k.where == Where::kInstance) return fmt::format("no {}", k.plural);
    return fmt::format("no {} in workspace {}", k.plural, s.client.workspace_name());
  };
  auto draw = [&]() -> Outcome<std::string> {
    bj::array items = TRY(s.client.list(path, query, options.limit, k.items));
    bool is_table = s.output == Output::kTable || s.output == Output::kWide;
    // A person is told so; a program that reads JSON or names gets an empty list.
    if (!items.empty() || !is_table) return list_text(s.console, s.output, k, items);
    if (options.watch) return empty_line() + "\n";
    s.console.err << printable(empty_line()) << '\n';
    return std::string();
  };
  if (options.watch) return redraw_on_changes(s, draw);
  s.console.out << TRY(draw());
  return {};
}

void add_get(CLI::App& app, const FramePtr& frame) {
  auto a = std::make_shared<GetArguments>();
  CLI::App* verb =
      add_verb(app, frame, "get", "Show things of a kind, or one of them",
               "  ctrlplane get deployments\n"
               "  ctrlplane get resources --selector 'resource.metadata[\"region\"] == \"eu\"' -o wide\n"
               "  ctrlplane get environment production -o yaml",
               [a](Session& s) { return get(s, *a); });
  verb->add_option("kind", a->kind, "what: systems, environments, deployments, …")->required();
  verb->add_option("name", a->name, "which: its name, its id or the beginning of its id");
  verb->add_option("--deployment", a->deployment, "whose versions");
  verb->add_option("--selector", a->selector, "resources for which this CEL expression holds");
  verb->add_option("--kind", a->resource_kind, "resources of this kind");
  add_list_options(*verb, a->list);
}

void add_targets(CLI::App& app, const FramePtr& frame) {
  struct VersionArguments {
    std::string deployment;
    ListOptions list;
  };
  auto v = std::make_shared<VersionArguments>();
  CLI::App* versions_verb =
      add_verb(app, frame, "versions", "Show the versions of a deployment, newest first",
               "  ctrlplane versions api --limit 5\n  ctrlplane versions api -o wide",
               [v](Session& s) { return versions(s, v->deployment, v->list); });
  versions_verb->add_option("deployment", v->deployment, "name, id or beginning of the id")->required();
  add_list_options(*versions_verb, v->list);

  auto a = std::make_shared<TargetArguments>();
  CLI::App* verb = add_verb(app, frame, "targets", "Show release targets: what runs where, and what should",
                            "  ctrlplane targets --deployment api --environment production --watch\n"
                            "  ctrlplane targets --deployment api --off-main-line",
                            [a](Session& s) { return targets(s, *a); });
  verb->add_option("--deployment", a->deployment, "only of this deployment");
  verb->add_option("--environment", a->environment, "only of this environment");
  verb->add_option("--resource", a->resource, "only of this resource");
  verb->add_flag("--off-main-line", a->off_main_line, "only those that run a scoped version");
  add_list_options(*verb, a->list);

  auto key = std::make_shared<std::string>();
  CLI::App* redeploy_verb =
      add_verb(app, frame, "redeploy", "Run the desired version of a release target once more",
               "  ctrlplane targets --deployment api -o name | xargs -n1 ctrlplane redeploy",
               [key](Session& s) { return redeploy(s, *key); });
  redeploy_verb->add_option("target", *key, "its key, as `ctrlplane targets -o wide` shows it")->required();
}

}  // namespace ctrlplane::cli
