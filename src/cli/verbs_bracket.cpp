// brackets, one bracket group and what a person does about it, and concurrency.
#include <ostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/bracket_names.h"
#include "cli/bracket_text.h"
#include "cli/json_text.h"
#include "cli/phrases.h"
#include "cli/text.h"
#include "cli/verb.h"
#include "cli/watch.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

bool is_for_a_program(const Session& s) { return s.output == Output::kJson || s.output == Output::kYaml; }

// Shows it once, or again after each change.
Outcome<void> show_now_or_watch(Session& s, bool watch, const std::function<Outcome<std::string>()>& draw) {
  if (watch) return redraw_on_changes(s, draw);
  s.console.out << TRY(draw());
  return {};
}

// A person is told that there is nothing; with --watch that is what is shown.
std::string nothing(Session& s, bool watch, std::string_view what) {
  std::string none = fmt::format("no {} in workspace {}\n", what, printable(s.client.workspace_name()));
  if (watch) return none;
  s.console.err << none;
  return {};
}

// ---- brackets --------------------------------------------------------------------------------------------

Outcome<std::string> draw_brackets(Session& s, bool watch) {
  std::string workspace = TRY(s.client.workspace_path());
  if (s.output == Output::kName) {
    Query open{{"status", std::string(kOpenStatuses)}};
    return list_text(s.console, s.output, group_kind(),
                     TRY(s.client.list(workspace + "/bracket-groups", open)));
  }
  bj::value answer = TRY(s.client.get(workspace + "/brackets"));
  const bj::array& rules = list_at(answer, "items");
  if (is_for_a_program(s)) return value_text(s.output, rules);
  if (rules.empty()) return nothing(s, watch, "brackets");
  return brackets_text(s.console, s.output == Output::kWide, answer);
}

// ---- concurrency -----------------------------------------------------------------------------------------

Outcome<std::string> draw_concurrency(Session& s, bool watch) {
  static const Kind kLimit{.singular = "concurrency",
                           .plural = "concurrency limits",
                           .path = "concurrency",
                           .id = "ruleId",
                           .name = "ruleId",
                           .deleted = Delete::kNever,
                           .columns = {}};
  bj::value answer = TRY(s.client.get(TRY(s.client.workspace_path()) + "/concurrency"));
  const bj::array& limits = list_at(answer, "items");
  if (is_for_a_program(s) || s.output == Output::kName) return list_text(s.console, s.output, kLimit, limits);
  if (limits.empty()) return nothing(s, watch, "concurrency limits");
  return concurrency_text(s.console, answer);
}

// ---- One group -------------------------------------------------------------------------------------------

Outcome<void> show(Session& s, const std::string& reference, bool watch) {
  std::string path = TRY(group_path(s.client, reference));
  return show_now_or_watch(s, watch, [&]() -> Outcome<std::string> {
    bj::value group = TRY(s.client.get(path));
    if (is_for_a_program(s) || s.output == Output::kName)
      return item_text(s.console, s.output, group_kind(), group);
    return group_text(s.console, s.output == Output::kWide, group);
  });
}

struct ActArguments {
  std::string action;  // as the API calls it
  std::string group, member, reason;
  bool relock = false, run_post_hooks = false;
};

std::string done_text(const ActArguments& a, const bj::value& group) {
  std::string where = text_at(group, "resource.name");
  if (where.empty()) where = text_at(group, "resource.id");
  if (a.action == "close_now") return fmt::format("the window of {} closes now", where);
  if (a.action == "retry")
    return fmt::format("{} on {} is tried again{}", a.member.empty() ? "what failed" : a.member, where,
                       a.relock ? ", with the newest version" : "");
  if (a.action == "skip_member") return fmt::format("{} is left out on {}", a.member, where);
  if (a.action == "finish") return fmt::format("the group on {} runs to its end, whatever is frozen", where);
  if (a.action == "clear_quarantine") return fmt::format("{} is out of quarantine", where);
  if (a.run_post_hooks && text_at(group, "finishedAt").empty())
    return fmt::format("the group on {} ends; its closing hooks run first", where);
  const bool isolated = !text_at(group, "quarantine.since").empty();
  return fmt::format("the group on {} is ended{}", where,
                     isolated
                         ? "; nothing starts there until it is out of quarantine: ctrlplane bracket clear " +
                               text_at(group, "id")
                         : "");
}

Outcome<void> act(Session& s, const ActArguments& a) {
  const bool clears = a.action == "clear_quarantine";
  std::string path = TRY(clears ? quarantined_group_path(s.client, a.group) : group_path(s.client, a.group));
  bj::object body{{"action", a.action}};
  if (!a.member.empty()) body["deploymentId"] = TRY(member_deployment(TRY(s.client.get(path)), a.member));
  if (a.relock) body["relock"] = true;
  if (a.run_post_hooks) body["runPostHooks"] = true;
  if (!a.reason.empty()) body["reason"] = a.reason;
  bj::value group = TRY(s.client.send("POST", path + "/actions", body));
  if (is_for_a_program(s))
    s.console.out << value_text(s.output, group);
  else if (s.output == Output::kName)
    s.console.out << item_name(group_kind(), group) << '\n';
  else
    s.console.out << printable(done_text(a, group)) << '\n';
  return {};
}

CLI::App* add_action(CLI::App& group, const FramePtr& frame, const std::string& name,
                     const std::string& action, const std::string& about, const std::string& example) {
  auto a = std::make_shared<ActArguments>();
  a->action = action;
  CLI::App* verb = add_verb(group, frame, name, about, example, [a](Session& s) { return act(s, *a); });
  verb->add_option("group", a->group, "its id, the beginning of it, or the resource's name")->required();
  verb->add_option("--reason", a->reason, "why; kept in the audit log");
  if (action == "retry" || action == "skip_member") {
    CLI::Option* member =
        verb->add_option("--member", a->member, "which deployment of the group")->check(not_empty);
    if (action == "skip_member")
      member->required();
    else
      verb->add_flag("--relock", a->relock, "with the newest version that may run, not the one that failed");
  }
  if (action == "abort")
    verb->add_flag("--run-post-hooks", a->run_post_hooks,
                   "run the closing hooks first; without it the resource goes into quarantine");
  return verb;
}

void add_actions(CLI::App& group, const FramePtr& frame) {
  add_action(group, frame, "close-now", "close_now", "Close a group's collection window before its time",
             "  ctrlplane bracket close-now node-3");
  add_action(group, frame, "retry", "retry", "Try again what failed in a group",
             "  ctrlplane bracket retry node-3\n"
             "  ctrlplane bracket retry node-3 --member kubelet --relock --reason 'fixed in 1.29.1'");
  add_action(group, frame, "skip", "skip_member", "Leave a member out of a group, so that the others go on",
             "  ctrlplane bracket skip node-3 --member kubelet --reason 'done by hand'");
  add_action(group, frame, "finish", "finish", "Let a group that is at work run to its end under a freeze",
             "  ctrlplane bracket finish node-3 --reason 'a drained node helps nobody'");
  add_action(group, frame, "abort", "abort", "End a group",
             "  ctrlplane bracket abort node-3 --run-post-hooks --reason 'wrong release'");
  add_action(group, frame, "clear", "clear_quarantine", "Let groups start on a resource again",
             "  ctrlplane bracket clear node-3 --reason 'replaced the disk'");
}

}  // namespace

void add_brackets(CLI::App& app, const FramePtr& frame) {
  struct Shown {
    std::string group;
    bool watch = false;
  };
  auto add_watch_flag = [](CLI::App* verb, bool& watch) {
    verb->add_flag("--watch", watch, "show it again whenever the workspace changes");
  };

  auto b = std::make_shared<Shown>();
  add_watch_flag(add_verb(app, frame, "brackets", "Show brackets, their open groups and what these wait for",
                          "  ctrlplane brackets\n  ctrlplane brackets --watch",
                          [b](Session& s) {
                            return show_now_or_watch(s, b->watch, [&] { return draw_brackets(s, b->watch); });
                          }),
                 b->watch);

  auto c = std::make_shared<Shown>();
  add_watch_flag(add_verb(app, frame, "concurrency",
                          "Show how many resources are at work under each limit, who, and who waits",
                          "  ctrlplane concurrency --watch",
                          [c](Session& s) {
                            return show_now_or_watch(s, c->watch,
                                                     [&] { return draw_concurrency(s, c->watch); });
                          }),
                 c->watch);

  CLI::App* group =
      app.add_subcommand("bracket", "Show a bracket group, or close, retry, skip, finish, abort or clear it");
  group->require_subcommand(1);
  group->footer(
      "Example:\n  ctrlplane bracket show node-3\n  ctrlplane bracket retry node-3 --member kubelet");
  auto g = std::make_shared<Shown>();
  CLI::App* verb =
      add_verb(*group, frame, "show", "Show a group: its members as a tree, their states and times",
               "  ctrlplane bracket show node-3\n  ctrlplane bracket show 0190b3c1-52 -o wide",
               [g](Session& s) { return show(s, g->group, g->watch); });
  verb->add_option("group", g->group, "its id, the beginning of it, or the resource's name")->required();
  add_watch_flag(verb, g->watch);
  add_actions(*group, frame);
}

}  // namespace ctrlplane::cli
