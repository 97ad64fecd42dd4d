#include "cli/verbs_freezes.h"

#include <algorithm>
#include <ostream>
#include <set>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/duration.h"
#include "cli/freeze_names.h"
#include "cli/freeze_text.h"
#include "cli/json_text.h"
#include "cli/lists.h"
#include "cli/names.h"
#include "cli/phrases.h"
#include "cli/text.h"
#include "cli/watch.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr const char* kWhich = "its id or the beginning of it";

bool is_for_a_program(const Session& s) { return s.output == Output::kJson || s.output == Output::kYaml; }

std::string title_of(Session& s, const bj::value& freeze) {
  ScopeNames names(s.client);
  names.learn({freeze});
  return names.title(freeze);
}

// ---- freezes -------------------------------------------------------------------------------------------

struct ListArguments {
  bool all = false, ended = false, scheduled = false;
  ListOptions list;
};

Outcome<bj::array> freezes_that(Session& s, const ListArguments& a) {
  std::string path = TRY(s.client.workspace_path()) + "/freezes";
  auto in_status = [&](const char* status) {
    return s.client.list(path, {{"status", status}}, a.list.limit);
  };
  if (a.all) return in_status("all");
  if (a.ended) return in_status("ended");
  bj::array scheduled = TRY(in_status("scheduled"));
  if (a.scheduled) return scheduled;
  // Asked last: one that begins between the two questions is in both answers, and in none the other way.
  bj::array items = TRY(in_status("active"));
  std::set<std::string> active;
  for (const bj::value& f : items) active.insert(text_at(f, "id"));
  for (bj::value& f : scheduled)
    if (!active.contains(text_at(f, "id"))) items.push_back(std::move(f));
  if (a.list.limit && items.size() > a.list.limit) items.resize(a.list.limit);
  return items;
}

Outcome<void> freezes(Session& s, const ListArguments& a) {
  auto draw = [&]() -> Outcome<std::string> {
    bj::array items = TRY(freezes_that(s, a));
    if (s.output != Output::kTable && s.output != Output::kWide)
      return list_text(s.console, s.output, freeze_kind(), items);
    if (items.empty()) {
      const char* which = a.ended ? "ended " : a.scheduled ? "scheduled " : "";
      std::string none = fmt::format("no {}freezes in workspace {}\n", which, s.client.workspace_name());
      if (a.list.watch) return none;
      s.console.err << none;
      return std::string();
    }
    ScopeNames names(s.client);
    names.learn(items);
    return freezes_table(s.console, s.output == Output::kWide, items, names);
  };
  if (a.list.watch) return redraw_on_changes(s, draw);
  s.console.out << TRY(draw());
  return {};
}

// ---- show, extend, thaw --------------------------------------------------------------------------------

Outcome<void> show(Session& s, const std::string& reference) {
  std::string path = TRY(freeze_path(s.client, reference));
  bj::value freeze = TRY(s.client.get(path));
  if (is_for_a_program(s) || s.output == Output::kName) {
    s.console.out << item_text(s.console, s.output, freeze_kind(), freeze);
    return {};
  }
  s.console.out << freeze_text(s.console, freeze, title_of(s, freeze));
  if (const bj::value* impact = member_at(freeze, "impact"))
    s.console.out << in_flight_text(s.console, *impact, text_at(freeze, "inFlight"),
                                    job_titles(s.client, shown_jobs(*impact)));
  s.console.out << next_commands(freeze) << events_text(s.console, freeze);
  return {};
}

struct ExtendArguments {
  std::string freeze, lasts, until, reason;
};

Outcome<void> extend(Session& s, const ExtendArguments& a) {
  bj::object body;
  if (!a.lasts.empty())
    body["expiresIn"] = format_iso8601(TRY(duration_given("--for", a.lasts)));
  else if (a.until == "never")
    body["expiresAt"] = nullptr;
  else if (!a.until.empty())
    body["expiresAt"] = format_rfc3339(TRY(instant_given("--until", a.until)));
  else
    return wrong_use("say for how long: --for 4h, --until 2026-04-01T18:00:00Z or --until never");
  if (!a.reason.empty()) body["reason"] = a.reason;
  std::string path = TRY(freeze_path(s.client, a.freeze));
  bj::value freeze = TRY(s.client.send("PATCH", path, body));
  if (is_for_a_program(s)) {
    s.console.out << value_text(s.output, freeze);
    return {};
  }
  std::string until = text_at(freeze, "expiresAt");
  s.console.out << printable(
                       fmt::format("{} lasts until {}", item_name(freeze_kind(), freeze),
                                   until.empty() ? "it is thawed" : when_text(until, s.console.clock.wall())))
                << '\n';
  return {};
}

struct ThawArguments {
  std::string freeze, reason;
  bool cascade = false;
  int64_t per_minute = 0;
};

// A thaw lifts one freeze: who expects work to go on should know if it does not.
void say_what_is_left(Session& s, const std::string& workspace) {
  auto answer = s.client.get(workspace + "/freezes/active");
  const bj::value* items = answer ? member_at(*answer, "items") : nullptr;
  if (!items || !items->is_array() || items->get_array().empty()) return;
  size_t n = items->get_array().size();
  s.console.err << fmt::format("{} still active: see `ctrlplane freezes`\n",
                               n == 1 ? "another freeze is" : fmt::format("{} other freezes are", n));
}

Outcome<void> thaw(Session& s, const ThawArguments& a) {
  bj::object body;
  if (!a.reason.empty()) body["reason"] = a.reason;
  if (a.cascade) body["cascade"] = true;
  if (a.per_minute) body["resume"] = bj::object{{"perMinute", a.per_minute}};
  std::string path = TRY(freeze_path(s.client, a.freeze)) + "/thaw";
  bj::value freeze = TRY(s.client.send("POST", path, body));
  if (is_for_a_program(s)) {
    s.console.out << value_text(s.output, freeze);
    return {};
  }
  if (s.output == Output::kName) {
    s.console.out << item_name(freeze_kind(), freeze) << '\n';
    return {};
  }
  auto from = parse_rfc3339(text_at(freeze, "effectiveAt")), to = parse_rfc3339(text_at(freeze, "thawedAt"));
  std::string how = !from || !to   ? ""
                    : *to <= *from ? ", before it began"
                                   : fmt::format(", after {}", long_duration(*to - *from));
  s.console.out << printable(fmt::format("THAWED  {}{}", title_of(s, freeze), how)) << '\n';
  s.console.out.flush();
  say_what_is_left(s, TRY(s.client.workspace_path()));
  return {};
}

// ---- check ---------------------------------------------------------------------------------------------

struct CheckArguments {
  std::string scope = "workspace", name, at;
};

Outcome<void> check(Session& s, const CheckArguments& a) {
  std::string scope = TRY(scope_called(a.scope));
  Query query{{"scope", scope}};
  if (!a.at.empty()) query.emplace_back("at", format_rfc3339(TRY(instant_given("--at", a.at))));
  std::string entity = TRY(scope_entity(s.client, scope, a.name));
  if (!entity.empty()) query.emplace_back("entityId", entity);
  std::string path = TRY(s.client.workspace_path()) + "/freezes/check";
  bj::value answer = TRY(s.client.get(path + query_text(query)));
  // Who asks this is about to deploy: what cannot be read is not "open".
  const bj::value *frozen = member_at(answer, "frozen"), *partial = member_at(answer, "partial");
  if (!frozen || !frozen->is_bool() || !partial || !partial->is_bool())
    return failed(fmt::format("the answer to GET {} does not say whether it is frozen", path));
  s.exit_code = frozen->get_bool() ? kFrozen : partial->get_bool() ? kPartlyFrozen : kDone;
  if (is_for_a_program(s)) {
    s.console.out << value_text(s.output, answer);
  } else if (s.output == Output::kName) {
    const bj::value* by = member_at(answer, "freezes");
    if (by && by->is_array()) s.console.out << list_text(s.console, s.output, freeze_kind(), by->get_array());
  } else {
    s.console.out << check_text(
        s.console, answer,
        fmt::format("{} {}", scope, scope == "workspace" ? s.client.workspace_name() : a.name));
  }
  return {};
}

// ---- report --------------------------------------------------------------------------------------------

struct ReportArguments {
  std::string freeze, format = "markdown";
};

constexpr int kAttempts = 4;

// The client speaks JSON only; this is the one answer that is none.
Outcome<std::string> markdown(Session& s, const std::string& path) {
  const Settings& settings = s.client.settings();
  net::HttpClient http(client_options(settings));
  net::ClientRequest request{.url = settings.url + path};
  request.headers = {{"Accept", "text/markdown"}};
  if (!settings.api_key.empty()) request.headers.add("x-api-key", settings.api_key);
  for (int attempt = 1;; ++attempt) {
    auto response = http.send(request);
    if (!response) return std::unexpected(unreachable(response.error()));
    if (response->status >= 200 && response->status < 300) return std::move(response->body);
    bool busy = response->status == 429 || response->status == 503;
    if (!busy || attempt == kAttempts) return std::unexpected(refusal(settings, *response));
    s.console.pause(seconds(1));
  }
}

// Line by line without what would move a terminal's cursor.
std::string for_terminal(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    out += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Outcome<void> report(Session& s, const ReportArguments& a) {
  std::string path = TRY(freeze_path(s.client, a.freeze)) + "/report?format=";
  if (a.format == "json" || is_for_a_program(s)) {
    bj::value answer = TRY(s.client.get(path + "json"));
    s.console.out << value_text(s.output == Output::kYaml ? Output::kYaml : Output::kJson, answer);
    return {};
  }
  std::string text = TRY(markdown(s, path + "markdown"));
  if (s.console.out_is_terminal) text = for_terminal(text);
  if (!text.ends_with('\n')) text += '\n';
  s.console.out << text;
  return {};
}

}  // namespace

std::vector<std::string> job_titles(Client& client, const std::vector<std::string>& jobs) {
  std::vector<std::string> titles;
  auto workspace = client.workspace_path();
  for (const std::string& id : jobs) {
    if (!workspace) break;
    auto job = client.get(fmt::format("{}/jobs/{}/with-release", *workspace, segment(id)));
    if (!job && job.error().status != 404) break;
    titles.emplace_back();
    if (job && !text_at(*job, "deployment.name").empty())
      titles.back() = fmt::format("{} {} on {}/{}", text_at(*job, "deployment.name"),
                                  text_at(*job, "release.version.tag"), text_at(*job, "environment.name"),
                                  text_at(*job, "resource.name"));
  }
  return titles;
}

void add_freeze_group(CLI::App& group, const FramePtr& frame) {
  auto shown = std::make_shared<std::string>();
  add_verb(group, frame, "show", "Show a freeze, what it covers and what happened to it",
           "  ctrlplane freeze show 0190b3c1-52", [shown](Session& s) { return show(s, *shown); })
      ->add_option("freeze", *shown, kWhich)
      ->required();

  auto e = std::make_shared<ExtendArguments>();
  CLI::App* longer = add_verb(group, frame, "extend", "Let a freeze last longer, or end sooner",
                              "  ctrlplane freeze extend 0190b3c1-52 --for 4h --reason 'still looking'\n"
                              "  ctrlplane freeze extend 0190b3c1-52 --until never",
                              [e](Session& s) { return extend(s, *e); });
  longer->add_option("freeze", e->freeze, kWhich)->required();
  CLI::Option* lasts =
      longer->add_option("--for", e->lasts, "how long from now: 4h, 1h30m")->check(not_empty);
  longer->add_option("--until", e->until, "its end, RFC 3339; or never: until it is thawed")
      ->excludes(lasts)
      ->check(not_empty);
  longer->add_option("--reason", e->reason, "why; kept in its history");

  auto c = std::make_shared<CheckArguments>();
  CLI::App* asked =
      add_verb(group, frame, "check", "Ask whether deployments are frozen; for scripts",
               "  ctrlplane freeze check deployment api && ./release.sh\n"
               "Exit codes: 0 open; 6 frozen; 7 partly frozen, so that only some targets are; the others\n"
               "            as everywhere: 1 refused or failed, 2 wrong use, 3 server not reachable.",
               [c](Session& s) { return check(s, *c); });
  asked->add_option("scope", c->scope, "workspace (unless given), system, environment or deployment");
  asked->add_option("name", c->name, "which: its name, its id or the beginning of its id");
  asked->add_option("--at", c->at, "at that moment, RFC 3339; now unless given")->check(not_empty);

  auto r = std::make_shared<ReportArguments>();
  CLI::App* told = add_verb(group, frame, "report", "Print what a freeze held, who passed it, what resumed",
                            "  ctrlplane freeze report 0190b3c1-52 > post-mortem.md",
                            [r](Session& s) { return report(s, *r); });
  told->add_option("freeze", r->freeze, kWhich)->required();
  told->add_option("--format", r->format, "markdown (unless given) or json")
      ->check(CLI::IsMember({"markdown", "json"}));
}

void add_freezes(CLI::App& app, const FramePtr& frame) {
  auto a = std::make_shared<ListArguments>();
  CLI::App* list = add_verb(app, frame, "freezes", "Show freezes that are active or planned",
                            "  ctrlplane freezes\n  ctrlplane freezes --ended --limit 10 -o wide",
                            [a](Session& s) { return freezes(s, *a); });
  CLI::Option* all = list->add_flag("--all", a->all, "also those that have ended");
  CLI::Option* ended = list->add_flag("--ended", a->ended, "only those that have ended")->excludes(all);
  list->add_flag("--scheduled", a->scheduled, "only those that have yet to begin")
      ->excludes(all)
      ->excludes(ended);
  add_list_options(*list, a->list);

  auto t = std::make_shared<ThawArguments>();
  CLI::App* verb = add_verb(app, frame, "thaw", "End a freeze, or cancel one that has yet to begin",
                            "  ctrlplane thaw 0190b3c1-52 --reason 'Root cause fixed' --resume-per-minute 30",
                            [t](Session& s) { return thaw(s, *t); });
  verb->add_option("freeze", t->freeze, kWhich)->required();
  verb->add_option("--reason", t->reason, "why; kept in its history");
  verb->add_flag("--cascade", t->cascade, "also narrower freezes inside its scope");
  verb->add_option("--resume-per-minute", t->per_minute, "let held work go no faster than this")
      ->check(CLI::Range(1, 1'000'000));
}

}  // namespace ctrlplane::cli
