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
#include "cli/watch.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

struct CreateArguments {
  std::string deployment, tag, name, status = "ready", message, timeout = "30m";
  std::vector<std::string> metadata, config, bypassed;
  bool wait = false, dry_run = false, bypass_freeze = false;
};

Outcome<bj::object> version_body(Session& s, const CreateArguments& a) {
  bj::object body{{"tag", a.tag}, {"name", a.name.empty() ? a.tag : a.name}, {"status", a.status}};
  body["config"] = TRY(config_pairs(a.config));
  body["metadata"] = TRY(text_pairs(a.metadata));
  if (!a.message.empty()) body["message"] = a.message;
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

Outcome<void> follow_rollout(Session& s, const std::string& deployment, const bj::value& version,
                             Duration timeout) {
  std::string workspace = TRY(s.client.workspace_path());
  std::string id = text_at(version, "id"), tag = text_at(version, "tag");
  Time created = parse_rfc3339(text_at(version, "createdAt")).value_or(Time{});
  Waiting waiting(s, workspace, timeout);
  ProgressLine line(s.console);
  Rollout r;
  while (true) {
    waiting.look();
    auto targets = s.client.list(workspace + "/release-targets", {{"deploymentId", deployment}});
    if (targets) {
      r = rollout_of(*targets, id, created);
      line.show(progress_text(r));
      if (r.failed) return std::unexpected(failed_rollout(s, workspace, r));
      if (r.done == r.total) break;
    } else if (targets.error().exit_code != kUnreachable) {
      return std::unexpected(std::move(targets.error()));
    } else {
      line.show("the server does not answer; trying again");  // it may be starting anew
    }
    if (!waiting.again())
      return std::unexpected(Failure{.exit_code = kTimedOut, .message = "time ran out: " + progress_text(r)});
  }
  line.clear();
  s.console.err << (r.total ? fmt::format("version {} is on all {} release targets", printable(tag), r.total)
                            : std::string("the deployment has no release targets"))
                << '\n';
  return {};
}

Outcome<void> create(Session& s, const CreateArguments& a) {
  auto timeout = parse_duration(a.timeout);
  if (!timeout) return wrong_use(fmt::format("--timeout takes a duration like 30m, not '{}'", a.timeout));
  if (a.tag.empty()) return wrong_use("the tag is empty");
  bj::value body = TRY(version_body(s, a));
  std::string deployment = TRY(id_of(s.client, kind("deployment"), a.deployment));
  bool for_a_program = s.output == Output::kJson || s.output == Output::kYaml;
  if (a.dry_run) {
    s.console.out << (for_a_program ? value_text(s.output, body)
                                    : fmt::format("version/{} would be created\n", printable(a.tag)));
    return {};
  }
  std::string path = TRY(list_path(s.client, kind("version"), deployment));
  bj::value version = TRY(s.client.send("POST", path, body));
  if (for_a_program)
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
  if (s.output == Output::kJson || s.output == Output::kYaml)
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
                            "      --config image=shop/api:1.4.2 --wait --timeout 20m",
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
  verb->add_flag("--bypass-freeze", a->bypass_freeze, "goes out whatever is frozen; needs the permission");
  verb->add_option("--bypass-freeze-id", a->bypassed,
                   "passes only this freeze: its id or the beginning of it, any number of times")
      ->allow_extra_args(false);
  verb->add_flag("--wait", a->wait, "until every release target has it, or a job of it failed");
  verb->add_option("--timeout", a->timeout, "how long to wait; 30m unless given");
  verb->add_flag("--dry-run", a->dry_run, "send nothing");

  auto t = std::make_shared<StatusArguments>();
  CLI::App* status = add_verb(*group, frame, "set-status", "Change the status of a version",
                              "  ctrlplane version set-status api@1.4.2 rejected --message 'breaks checkout'",
                              [t](Session& s) { return set_status(s, *t); });
  status->add_option("version", t->version, "id, or DEPLOYMENT@TAG")->required();
  status->add_option("status", t->status, "its new status")->required()->check(CLI::IsMember(kStatuses));
  status->add_option("--message", t->message, "shown beside the status");
}

}  // namespace ctrlplane::cli
