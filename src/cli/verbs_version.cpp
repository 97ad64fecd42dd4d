// version: publishing one, following it, changing its status.
#include <ostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "cli/duration.h"
#include "cli/freeze_names.h"
#include "cli/json_text.h"
#include "cli/names.h"
#include "cli/pairs.h"
#include "cli/rollout.h"
#include "cli/text.h"
#include "cli/verb.h"
#include "cli/version_scope.h"
#include "cli/watch.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

struct CreateArguments {
  std::string deployment, tag, name, status = "ready", message, timeout = "30m";
  std::string target_selector, on_selector_error;
  std::vector<std::string> metadata, config, bypassed;
  bool wait = false, dry_run = false, yes = false, bypass_freeze = false;
};

bool is_for_a_program(const Session& s) { return s.output == Output::kJson || s.output == Output::kYaml; }

Outcome<bj::object> version_body(Session& s, const CreateArguments& a) {
  bj::object body{{"tag", a.tag}, {"name", a.name.empty() ? a.tag : a.name}, {"status", a.status}};
  body["config"] = TRY(config_pairs(a.config));
  body["metadata"] = TRY(text_pairs(a.metadata));
  if (!a.message.empty()) body["message"] = a.message;
  if (!a.target_selector.empty()) body["targetSelector"] = a.target_selector;
  if (!a.on_selector_error.empty()) body["onSelectorError"] = a.on_selector_error;
  if (a.bypass_freeze || !a.bypassed.empty()) body["bypassFreeze"] = true;
  bj::array ids;
  for (const std::string& freeze : a.bypassed) ids.emplace_back(TRY(freeze_id(s.client, freeze)));
  if (!ids.empty()) body["bypassFreezeIds"] = std::move(ids);
  return body;
}

Failure failed_rollout(Session& s, const std::string& workspace, const Rollout& r) {
  std::string why = r.failed_why;
  // The overview of targets may leave out what the job said at its end.
  if (auto job = s.client.get(fmt::format("{}/jobs/{}", workspace, segment(r.failed_job))))
    if (std::string message = text_at(*job, "message"); !message.empty() && !why.ends_with(message))
      why = fmt::format("{}: {}", why, message);
  return {.exit_code = kJobFailed,
          .message = fmt::format("{}; on {}: {}", progress_text(r), r.failed_where, why),
          .hints = {fmt::format("ctrlplane job show {}", r.failed_job)}};
}

Outcome<Rollout> look_at_rollout(Session& s, const std::string& workspace, const std::string& deployment,
                                 const bj::value& version) {
  std::string id = text_at(version, "id");
  Time created = parse_rfc3339(text_at(version, "createdAt")).value_or(Time{});
  bj::array targets = TRY(s.client.list(workspace + "/release-targets", {{"deploymentId", deployment}}));
  Rollout r = rollout_of(targets, id, created);
  if (!text_at(version, "targetSelector").empty())
    narrow_to_scope(r, TRY(s.client.get(fmt::format("{}/deployment-versions/{}", workspace, segment(id)))));
  return r;
}

std::string ended_text(const bj::value& version, const Rollout& r) {
  bool scoped = !text_at(version, "targetSelector").empty();
  if (r.total == 0)
    return scoped ? "no release target is in the version's scope" : "the deployment has no release targets";
  return fmt::format("version {} is on all {} release targets{}", printable(text_at(version, "tag")), r.total,
                     scoped ? " of its scope" : "");
}

Outcome<void> follow_rollout(Session& s, const std::string& deployment, const bj::value& version,
                             Duration timeout) {
  std::string workspace = TRY(s.client.workspace_path());
  Waiting waiting(s, workspace, timeout);
  ProgressLine line(s.console);
  Rollout r;
  while (true) {
    waiting.look();
    auto seen = look_at_rollout(s, workspace, deployment, version);
    if (seen) {
      r = *std::move(seen);
      line.show(progress_text(r));
      if (r.failed) return std::unexpected(failed_rollout(s, workspace, r));
      if (is_complete(r)) break;
    } else if (seen.error().exit_code != kUnreachable) {
      return std::unexpected(std::move(seen.error()));
    } else {
      line.show("the server does not answer; trying again");  // it may be starting anew
    }
    if (!waiting.again())
      return std::unexpected(Failure{.exit_code = kTimedOut, .message = "time ran out: " + progress_text(r)});
  }
  line.clear();
  s.console.err << ended_text(version, r) << '\n';
  return {};
}

// Whether a target on which the selector cannot be evaluated gets the version.
Outcome<bool> includes_undetermined(Session& s, std::string choice) {
  if (choice.empty()) {
    bj::value settings = TRY(s.client.get(TRY(s.client.workspace_path()) + "/deployment-versions/settings"));
    choice = text_at(settings, "onSelectorError");
  }
  return choice != "exclude";
}

// What the version would be for; nothing is made.
Outcome<bj::value> preview(Session& s, const std::string& path, const bj::value& body) {
  bj::value answer = TRY(s.client.send("POST", path + "?dryRun=true", body));
  if (!member_at(answer, "scope")) return failed("the server did not say which targets it would be for");
  return answer;
}

// Says what the selector comes to, and asks where it may not be what was meant.
Outcome<void> confirm_scope(Session& s, const CreateArguments& a, const bj::value& scope) {
  Console& c = s.console;
  c.err << scope_text(scope) << '\n';
  bool included = number_at(scope, "undetermined") == 0 || TRY(includes_undetermined(s, a.on_selector_error));
  std::vector<std::string> doubts = doubts_about(scope, included);
  for (const std::string& doubt : doubts) c.err << "  " << doubt << '\n';
  if (doubts.empty() || a.yes) return {};
  if (!c.in_is_terminal)
    return wrong_use("such a scope is asked about, and there is no terminal to ask on: say --yes");
  if (agrees(c, fmt::format("create version {}?", printable(a.tag)))) return {};
  return failed("nothing was created");
}

Outcome<void> dry_run(Session& s, const CreateArguments& a, const std::string& deployment,
                      const bj::value& body) {
  std::ostream& out = s.console.out;
  if (a.target_selector.empty()) {
    out << (is_for_a_program(s) ? value_text(s.output, body)
                                : fmt::format("version/{} would be created\n", printable(a.tag)));
    return {};
  }
  bj::value answer = TRY(preview(s, TRY(list_path(s.client, kind("version"), deployment)), body));
  if (is_for_a_program(s)) {
    out << value_text(s.output, answer);
  } else if (s.output == Output::kName) {
    for (const bj::value& t : list_at(answer, "targets"))
      out << "target/" << printable(text_at(t, "releaseTargetKey")) << '\n';
  } else {
    out << fmt::format("version/{} would be for {}\n", printable(a.tag), scope_text(answer.at("scope")))
        << preview_table(s.console, s.output == Output::kWide, answer);
    s.console.err << "nothing was created: this was a dry run\n";
  }
  return {};
}

Outcome<void> create(Session& s, const CreateArguments& a) {
  auto timeout = parse_duration(a.timeout);
  if (!timeout) return wrong_use(fmt::format("--timeout takes a duration like 30m, not '{}'", a.timeout));
  if (a.tag.empty()) return wrong_use("the tag is empty");
  bj::value body = TRY(version_body(s, a));
  std::string deployment = TRY(id_of(s.client, kind("deployment"), a.deployment));
  if (a.dry_run) return dry_run(s, a, deployment, body);
  std::string path = TRY(list_path(s.client, kind("version"), deployment));
  if (!a.target_selector.empty()) {
    bj::value answer = TRY(preview(s, path, body));
    TRY(confirm_scope(s, a, answer.at("scope")));
  }
  bj::value version = TRY(s.client.send("POST", path, body));
  for (const bj::value& warning : list_at(version, "warnings"))
    s.console.err << printable(fmt::format("version/{}: warning: {}", a.tag, text_at(warning, {}))) << '\n';
  if (is_for_a_program(s))
    s.console.out << value_text(s.output, version);
  else if (s.output == Output::kName)
    s.console.out << item_name(kind("version"), version) << '\n';
  else
    s.console.out << fmt::format("version/{} created, id {}\n", printable(a.tag), text_at(version, "id"));
  s.console.out.flush();
  if (!a.wait) return {};
  return follow_rollout(s, deployment, version, *timeout);
}

// ID, or DEPLOYMENT@TAG with the id's beginning in place of either.
Outcome<std::string> version_id(Session& s, const std::string& reference) {
  if (is_uuid(reference)) return reference;
  size_t at = reference.rfind('@');
  if (at == std::string::npos || at == 0 || at + 1 == reference.size())
    return wrong_use(fmt::format("'{}' is no version: write its whole id, or DEPLOYMENT@TAG", reference));
  std::string deployment = TRY(id_of(s.client, kind("deployment"), reference.substr(0, at)));
  return id_of(s.client, kind("version"), reference.substr(at + 1), deployment);
}

struct StatusArguments {
  std::string version, status, message;
};

Outcome<void> set_status(Session& s, const StatusArguments& a) {
  std::string id = TRY(version_id(s, a.version));
  bj::object body{{"status", a.status}};
  if (!a.message.empty()) body["message"] = a.message;
  std::string path = fmt::format("{}/deployment-versions/{}", TRY(s.client.workspace_path()), segment(id));
  bj::value version = TRY(s.client.send("PATCH", path, body));
  if (is_for_a_program(s))
    s.console.out << value_text(s.output, version);
  else
    s.console.out << fmt::format("version/{} is {}\n", printable(a.version), printable(a.status));
  return {};
}

const std::vector<std::string> kStatuses = {"ready",  "building", "paused",
                                            "failed", "rejected", "unspecified"};

}  // namespace

void add_version(CLI::App& app, const FramePtr& frame) {
  CLI::App* group = app.add_subcommand("version", "Publish versions of a deployment and change their status");
  group->require_subcommand(1);
  group->footer("Example:\n  ctrlplane version create api --tag 1.4.2 --wait");

  auto a = std::make_shared<CreateArguments>();
  CLI::App* verb = add_verb(*group, frame, "create", "Publish a version of a deployment",
                            "  ctrlplane version create api --tag 1.4.2 --metadata commit=4f2a91c \\\n"
                            "      --config image=shop/api:1.4.2 --wait --timeout 20m\n"
                            "  ctrlplane version create api --tag 1.4.2-use1 --dry-run \\\n"
                            "      --target-selector 'resource.metadata[\"region\"] == \"us-east-1\"'",
                            [a](Session& s) { return create(s, *a); });
  verb->add_option("deployment", a->deployment, "name, id or beginning of the id")->required();
  verb->add_option("--tag", a->tag, "what it is called; used once in a deployment")->required();
  verb->add_option("--name", a->name, "for people; the tag unless given");
  verb->add_option("--status", a->status, "ready unless given")->check(CLI::IsMember(kStatuses));
  verb->add_option("--metadata", a->metadata, "k=v, any number of times")->allow_extra_args(false);
  verb->add_option("--config", a->config,
                   "k=v or a.b=v, any number of times; 3 and true are what they look like")
      ->allow_extra_args(false);
  verb->add_option("--message", a->message, "shown beside the status");
  CLI::Option* selector = verb->add_option("--target-selector", a->target_selector,
                                           "only for release targets for which this CEL expression over "
                                           "resource, environment and deployment holds");
  selector->check(not_empty);
  verb->add_option("--on-selector-error", a->on_selector_error,
                   "whether targets on which it cannot be evaluated count: include or exclude; as the "
                   "workspace says unless given")
      ->check(CLI::IsMember({"include", "exclude"}))
      ->needs(selector);
  verb->add_flag("--bypass-freeze", a->bypass_freeze, "goes out whatever is frozen; needs the permission");
  verb->add_option("--bypass-freeze-id", a->bypassed,
                   "passes only this freeze: its id or the beginning of it, any number of times")
      ->allow_extra_args(false);
  verb->add_flag("--wait", a->wait, "until every release target in its scope has it, or a job of it failed");
  verb->add_option("--timeout", a->timeout, "how long to wait; 30m unless given");
  verb->add_flag("--dry-run", a->dry_run, "make nothing; with --target-selector show the targets it selects");
  verb->add_flag("-y,--yes", a->yes, "do not ask, whatever the selector comes to");

  auto t = std::make_shared<StatusArguments>();
  CLI::App* status = add_verb(*group, frame, "set-status", "Change the status of a version",
                              "  ctrlplane version set-status api@1.4.2 rejected --message 'breaks checkout'",
                              [t](Session& s) { return set_status(s, *t); });
  status->add_option("version", t->version, "id, or DEPLOYMENT@TAG")->required();
  status->add_option("status", t->status, "its new status")->required()->check(CLI::IsMember(kStatuses));
  status->add_option("--message", t->message, "shown beside the status");
}

}  // namespace ctrlplane::cli
