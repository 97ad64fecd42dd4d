// One bracket group in full.
#include <algorithm>
#include <map>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/bracket_text.h"
#include "cli/duration.h"
#include "cli/json_text.h"
#include "cli/phrases.h"
#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

struct Member {
  const bj::value* value;
  std::string name;
  size_t depth = 0;  // how many come before it, one after another
};

// 0 before, 1 the work, 2 behind.
int stage(const bj::value& m) {
  std::string role = text_at(m, "role");
  return role == "pre_hook" ? 0 : role == "post_hook" ? 2 : 1;
}

bool comes_after(const Member& a, const Member& b) {
  if (stage(*a.value) != stage(*b.value)) return stage(*a.value) > stage(*b.value);
  return std::ranges::any_of(list_at(*a.value, "dependsOn"), [&](const bj::value& on) {
    return on.is_string() && on.get_string() == b.name;
  });
}

// In the order in which they run: those that can run at the same time have the same depth.
std::vector<Member> in_order(const bj::value& group) {
  std::vector<Member> members;
  for (const bj::value& m : list_at(group, "members")) {
    std::string name = text_at(m, "deploymentName");
    members.push_back({&m, name.empty() ? text_at(m, "deploymentId") : name});
  }
  // As often as a chain can be long; members that wait for each other end it there too.
  for (size_t round = 1; round < members.size(); ++round)
    for (Member& a : members)
      for (const Member& b : members)
        if (&a != &b && comes_after(a, b) && b.depth < members.size())
          a.depth = std::max(a.depth, std::min(b.depth + 1, members.size() - 1));
  std::ranges::sort(members, [](const Member& a, const Member& b) {
    return std::tie(a.depth, a.name) < std::tie(b.depth, b.name);
  });
  return members;
}

std::string branch(const std::vector<Member>& members, size_t i) {
  size_t depth = members[i].depth;
  if (depth == 0) return {};
  bool last = i + 1 == members.size() || members[i + 1].depth != depth;
  return fmt::format("{:{}}{}", "", (depth - 1) * 2, last ? "└ " : "├ ");
}

std::string versions_of(const bj::value& m) {
  std::string before = text_at(m, "previousTag"), tag = text_at(m, "tag");
  if (tag.empty()) tag = text_at(m, "candidate.tag");
  std::string text = before.empty() || before == tag ? tag
                     : tag.empty()                   ? before
                                                     : fmt::format("{} → {}", before, tag);
  if (std::string next = text_at(m, "nextTag"); !next.empty()) text += fmt::format(", then {}", next);
  return text;
}

// Of a group that has not locked anything yet nobody has a state.
Cell state_of(const bj::value& group, const bj::value& m) {
  std::string state = text_at(m, "outcome");
  if (text_at(group, "readyAt").empty()) {
    bool hook = stage(m) != 1;
    return {hook ? "hook" : text_at(m, "candidate.tag").empty() ? "no new version" : "has a new version"};
  }
  if (text_at(m, "participation") == "skipped") state = "unchanged";
  Tone tone = tone_of_group(state);
  std::string attempts = text_at(m, "attempts");
  if (!attempts.empty() && attempts != "0" && attempts != "1")
    state += fmt::format(", {} attempts", attempts);
  return {state, tone};
}

std::string took(const bj::value& m, Time now) {
  auto from = parse_rfc3339(text_at(m, "startedAt"));
  if (!from) return {};
  auto to = parse_rfc3339(text_at(m, "finishedAt"));
  return long_duration((to ? *to : now) - *from);
}

std::string members_tree(const Console& console, const bj::value& group) {
  Table table({"MEMBER", "VERSION", "STATE", "STARTED", "TOOK", "WAITS FOR"});
  Time now = console.clock.wall();
  std::vector<Member> members = in_order(group);
  for (size_t i = 0; i < members.size(); ++i) {
    const bj::value& m = *members[i].value;
    const char* role = stage(m) == 0 ? " (pre-hook)" : stage(m) == 2 ? " (post-hook)" : "";
    table.add(
        {{branch(members, i) + members[i].name + role},
         {versions_of(m)},
         state_of(group, m),
         {to_the_second(text_at(m, "startedAt"))},
         {took(m, now)},
         {text_at(m, "outcome") == "failed" ? "" : text_at(m, "waitingFor")}});  // for a person: see below
  }
  return "\n" + table.render(console.out_is_terminal ? console.width : 0, console.colour);
}

std::string heading(const Console& console, const bj::value& group) {
  std::string status = text_at(group, "status"), word = printable(status);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string resource = text_at(group, "resource.name");
  if (resource.empty()) resource = text_at(group, "resource.id");
  std::string where = text_at(group, "environment.name");
  return fmt::format("{}  {}{}\n", coloured(word, tone_of_group(status), console.colour), printable(resource),
                     where.empty() ? "" : printable(fmt::format(" in {}", where)));
}

std::string course_text(std::string_view course) {
  if (course == "roll_back") return "back to the versions before, then the closing hooks, then failed";
  return course == "wind_down" ? "only its closing hooks are left, then failed" : "";
}

std::string window_text(const bj::value& group, Time now) {
  std::string ready = text_at(group, "readyAt"), by = person(text_at(group, "closedBy"));
  if (ready.empty()) return fmt::format("closes {}", when_text(text_at(group, "collectionEndsAt"), now));
  return fmt::format("closed {}{}", when_text(ready, now), by.empty() ? "" : " by " + by);
}

std::string head_text(const Console& console, const bj::value& group) {
  Time now = console.clock.wall();
  std::string text = heading(console, group);
  text += titled_line("group", text_at(group, "id"));
  text += titled_line("bracket", text_at(group, "policyName"));
  text += titled_line("since", when_text(group_since(group), now));
  text += titled_line("window", window_text(group, now));
  if (text_at(group, "status") != "executing")
    if (std::string started = text_at(group, "startedAt"); !started.empty())
      text += titled_line("started", when_text(started, now));
  if (text_at(group, "status") != "collecting")
    text += titled_line("waits for", text_at(group, "waitingFor"));
  text += titled_line("course", course_text(text_at(group, "course")));
  text += titled_line("note", text_at(group, "note"));
  text += titled_line("merged", text_at(group, "mergedInto"));
  if (std::string by = person(text_at(group, "finishBy")); !by.empty())
    text += titled_line("freezes", fmt::format("do not hold it: {} lets it finish", by));
  if (std::string since = text_at(group, "quarantine.since"); !since.empty()) {
    std::string by = person(text_at(group, "quarantine.clearedBy"));
    text += titled_line("resource", fmt::format("in quarantine since {}{}", when_text(since, now),
                                                by.empty() ? "" : ", cleared by " + by));
  }
  return text;
}

// The commands that make sense now, as the server sees it.
std::string next_commands(const bj::value& group) {
  static const std::map<std::string, const char*, std::less<>> kCommands = {
      {"close_now", "bracket close-now {}"},
      {"retry", "bracket retry {}"},
      {"skip_member", "bracket skip {} --member NAME"},
      {"finish", "bracket finish {}"},
      {"abort", "bracket abort {} --run-post-hooks"},
      {"clear_quarantine", "bracket clear {}"}};
  std::string text;
  for (const bj::value& action : list_at(group, "actions")) {
    auto known = action.is_string() ? kCommands.find(action.get_string()) : kCommands.end();
    if (known == kCommands.end()) continue;
    const bool only_cancels = known->first == "abort" && text_at(group, "startedAt").empty();
    const char* command = only_cancels ? "bracket abort {}" : known->second;
    text +=
        fmt::format("  ctrlplane {}\n", fmt::format(fmt::runtime(command), printable(text_at(group, "id"))));
  }
  return text.empty() ? text : "\nwhat can be done:\n" + text;
}

std::string timeline_text(const Console& console, const bj::value& group) {
  Table table({"WHEN", "WHAT", "MEMBER", "BECAME", "BY", "NOTE"});
  for (const bj::value& m : list_at(group, "timeline")) {
    std::string became = text_at(m, "outcome").empty() ? text_at(m, "status") : text_at(m, "outcome");
    table.add({{to_the_second(text_at(m, "at"))},
               {text_at(m, "event")},
               {text_at(m, "deploymentName")},
               {became, tone_of_group(became)},
               {person(text_at(m, "by"))},
               {text_at(m, "note")}});
  }
  return "\n" + table.render(console.out_is_terminal ? console.width : 0, console.colour);
}

std::string jobs_text(const Console& console, const bj::value& group) {
  const bj::array& jobs = list_at(group, "jobs");
  if (jobs.empty()) return {};
  Table table({"JOB", "STATUS", "DEPLOYMENT", "VERSION", "CAUSE", "CREATED", "MESSAGE"});
  for (const bj::value& j : jobs) {
    std::string status = text_at(j, "status");
    table.add({{text_at(j, "id")},
               {status, tone_of(status)},
               {text_at(j, "deploymentName")},
               {text_at(j, "tag")},
               {text_at(j, "cause")},
               {to_the_second(text_at(j, "createdAt"))},
               {text_at(j, "message")}});
  }
  return "\n" + table.render(console.out_is_terminal ? console.width : 0, console.colour);
}

}  // namespace

std::string group_text(const Console& console, bool wide, const bj::value& group) {
  std::string text = head_text(console, group) + members_tree(console, group);
  if (wide) text += timeline_text(console, group) + jobs_text(console, group);
  return text + next_commands(group);
}

}  // namespace ctrlplane::cli
