// freeze: stopping a scope now, or from some moment on. What one does with a freeze later is in
// verbs_freezes.cpp.
#include <algorithm>
#include <istream>
#include <ostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/duration.h"
#include "cli/freeze_names.h"
#include "cli/freeze_text.h"
#include "cli/insist.h"
#include "cli/json_text.h"
#include "cli/text.h"
#include "cli/verb.h"
#include "cli/verbs_freezes.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

struct FreezeArguments {
  std::string scope, name, reason, lasts, until, from, incident, selector, in_flight;
  bool dry_run = false, yes = false;
};

// All but what it is about, which only the server knows by id.
Outcome<bj::object> plain_body(const FreezeArguments& a) {
  if (a.reason.find_first_not_of(" \t\r\n") == std::string::npos) return wrong_use("--reason is empty");
  bj::object body{{"scope", a.scope}, {"reason", a.reason}};
  if (!a.incident.empty()) body["incidentUrl"] = a.incident;
  if (!a.selector.empty()) body["selector"] = a.selector;
  if (!a.lasts.empty()) body["expiresIn"] = format_iso8601(TRY(duration_given("--for", a.lasts)));
  if (!a.until.empty()) body["expiresAt"] = format_rfc3339(TRY(instant_given("--until", a.until)));
  if (!a.from.empty()) body["effectiveAt"] = format_rfc3339(TRY(instant_given("--from", a.from)));
  if (!a.in_flight.empty()) {
    std::string word = a.in_flight;
    std::ranges::replace(word, '-', '_');
    body["inFlight"] = word;
  }
  return body;
}

// Where it is sent, and with what.
struct Message {
  std::string path;
  bj::object body;
};
Outcome<void> look_up(Session& s, const FreezeArguments& a, Message& message) {
  std::string entity = TRY(scope_entity(s.client, a.scope, a.name));
  if (!entity.empty()) message.body["scopeEntityId"] = entity;
  message.path = TRY(s.client.workspace_path()) + "/freezes";
  return {};
}

std::string title_of(Session& s, const FreezeArguments& a) {
  return fmt::format("{} {}", a.scope, a.scope == "workspace" ? s.client.workspace_name() : a.name);
}

Outcome<std::string> workspace_slug(Session& s) {
  std::string path = TRY(s.client.workspace_path());
  if (!is_uuid(s.client.workspace_name())) return s.client.workspace_name();
  return text_at(TRY(s.client.get(path)), "slug");
}

Outcome<void> confirm(Session& s, const std::string& slug) {
  Console& c = s.console;
  c.err << fmt::format("This stops every deployment in workspace {0}.\nType {0} to freeze it: ",
                       printable(slug));
  c.err.flush();
  std::string answer;
  std::getline(c.in, answer);
  if (answer == slug && !slug.empty()) return {};
  return failed("that is not the workspace's slug: nothing was frozen");
}

Outcome<void> dry_run(Session& s, const FreezeArguments& a, Message& message) {
  TRY(look_up(s, a, message));
  bj::value answer = TRY(s.client.send("POST", message.path + "?dryRun=true", message.body));
  if (s.output == Output::kJson || s.output == Output::kYaml) {
    s.console.out << value_text(s.output, answer);
    return {};
  }
  s.console.out << fmt::format("would freeze  {}\n", printable(title_of(s, a)));
  if (const bj::value* impact = member_at(answer, "impact"))
    s.console.out << impact_text(*impact)
                  << in_flight_text(s.console, *impact, a.in_flight,
                                    job_titles(s.client, shown_jobs(*impact)));
  s.console.err << "nothing was frozen: this was a dry run\n";
  return {};
}

// Sends it until the server has said that it is done.
Outcome<bj::value> insist(Session& s, const FreezeArguments& a, Message& message, Insistence& insistence) {
  {
    InterruptNotice notice(false);
    TRY(insistence.until_done([&] { return look_up(s, a, message); }));
  }
  RepeatablePost post(s.client.settings(), message.path, message.body);
  InterruptNotice notice(true);
  bj::value freeze;
  const int before = insistence.failures();
  auto done = insistence.until_done([&]() -> Outcome<void> {
    freeze = TRY(post.send());
    return {};
  });
  if (done) return freeze;
  if (insistence.failures() > before)
    done.error().hints.push_back("an attempt before this one may have made it: see `ctrlplane freezes`");
  return std::unexpected(std::move(done.error()));
}

void show(Session& s, const FreezeArguments& a, const bj::value& freeze) {
  std::ostream& out = s.console.out;
  if (s.output == Output::kJson || s.output == Output::kYaml) {
    out << value_text(s.output, freeze);
  } else if (s.output == Output::kName) {
    out << item_name(freeze_kind(), freeze) << '\n';
  } else {
    // What matters is there before the names of jobs are asked for.
    out << freeze_text(s.console, freeze, title_of(s, a));
    out.flush();
    if (const bj::value* impact = member_at(freeze, "impact"))
      out << in_flight_text(s.console, *impact, text_at(freeze, "inFlight"),
                            job_titles(s.client, shown_jobs(*impact)));
    out << next_commands(freeze);
  }
}

Outcome<void> freeze(Session& s, const FreezeArguments& a) {
  Message message{.path = {}, .body = TRY(plain_body(a))};
  if (a.dry_run) return dry_run(s, a, message);
  Insistence insistence(s.console);
  if (a.scope == "workspace" && !a.yes) {
    if (!s.console.in_is_terminal)
      return wrong_use("freezing a workspace asks first, and there is no terminal to ask on: say --yes");
    TRY(scope_entity(s.client, a.scope, a.name));
    std::string slug;
    TRY(insistence.until_done([&]() -> Outcome<void> {
      slug = TRY(workspace_slug(s));
      return {};
    }));
    TRY(confirm(s, slug));
  }
  bj::value made = TRY(insist(s, a, message, insistence));
  if (insistence.failures())
    s.console.err << fmt::format("done at attempt {}, after {}\n", insistence.failures() + 1,
                                 long_duration(insistence.lasted()));
  show(s, a, made);
  return {};
}

void add_scope(CLI::App& group, const FramePtr& frame, const std::string& scope, const std::string& about,
               const std::string& example) {
  auto a = std::make_shared<FreezeArguments>();
  a->scope = scope;
  CLI::App* verb = add_verb(group, frame, scope, about, example, [a](Session& s) { return freeze(s, *a); });
  CLI::Option* name = verb->add_option("name", a->name, "name, id or beginning of the id");
  if (scope == "workspace")
    name->description("its slug or id; as --workspace");
  else
    name->required();
  verb->add_option("--reason", a->reason, "why, for everybody whom it stops")->required();
  CLI::Option* lasts =
      verb->add_option("--for", a->lasts, "how long: 4h, 1h30m; until it is thawed unless given");
  CLI::Option* until = verb->add_option("--until", a->until, "its end, RFC 3339")->excludes(lasts);
  CLI::Option* from = verb->add_option("--from", a->from, "its beginning, RFC 3339; now unless given");
  CLI::Option* incident =
      verb->add_option("--incident", a->incident, "where the incident is written down, a URL");
  CLI::Option* selector = verb->add_option(
      "--selector", a->selector,
      "only where this CEL expression over deployment, environment, resource and version holds");
  for (CLI::Option* option : {lasts, until, from, incident, selector}) option->check(not_empty);
  verb->add_option("--in-flight", a->in_flight,
                   "jobs that agents already have: finish-jobs (unless given), finish-brackets or cancel")
      ->check(CLI::IsMember({"finish-jobs", "finish-brackets", "cancel"}));
  verb->add_flag("--dry-run", a->dry_run, "only say what it would cover");
  if (scope == "workspace") verb->add_flag("-y,--yes", a->yes, "do not ask");
  if (scope != "workspace") verb->add_flag("-y,--yes", a->yes, "accepted: only workspaces are asked about");
  if (scope == "environment") verb->alias("env");
}

}  // namespace

void add_freeze(CLI::App& app, const FramePtr& frame) {
  CLI::App* group = app.add_subcommand(
      "freeze", "Stop deployments of a workspace, system, environment or deployment; look at freezes");
  group->require_subcommand(1);
  group->footer(
      "Example:\n  ctrlplane freeze environment production --reason 'Elevated error rates' --for 4h\n"
      "  ctrlplane freezes");
  add_scope(*group, frame, "workspace", "Stop everything in the workspace; asks first",
            "  ctrlplane freeze workspace --reason 'Elevated error rates' --for 2h \\\n"
            "      --incident https://incidents.example.com/4521");
  add_scope(*group, frame, "system", "Stop what belongs to a system",
            "  ctrlplane freeze system shop --reason 'Schema migration' --for 4h");
  add_scope(*group, frame, "environment", "Stop what goes to an environment",
            "  ctrlplane freeze environment production --reason 'Black Friday' \\\n"
            "      --from 2026-11-27T00:00:00Z --until 2026-11-28T06:00:00Z");
  add_scope(*group, frame, "deployment", "Stop a deployment everywhere",
            "  ctrlplane freeze deployment api --reason 'Broken build' --in-flight cancel");
  add_freeze_group(*group, frame);
  add_freezes(app, frame);
}

}  // namespace ctrlplane::cli
