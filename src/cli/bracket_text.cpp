#include "cli/bracket_text.h"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/duration.h"
#include "cli/json_text.h"
#include "cli/phrases.h"
#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr size_t kGroupsShown = 200;  // as many as the server sends with a rule
constexpr size_t kQuarantinesShown = 20;

std::string table_text(const Console& console, const Table& table) {
  return table.render(console.out_is_terminal ? console.width : 0, console.colour);
}

// "collection_window 24h"
std::string readiness(const bj::value& terms) {
  std::string mode = text_at(terms, "readinessMode");
  if (mode.empty()) mode = "collection_window";
  const bj::value* window = member_at(terms, "readinessWindowSeconds");
  if (mode == "immediate" || !window || !window->is_int64()) return mode;
  return fmt::format("{} {}", mode, long_duration(seconds(window->get_int64())));
}

std::string or_default(const bj::value& terms, std::string_view member, std::string_view otherwise) {
  std::string word = text_at(terms, member);
  return word.empty() ? std::string(otherwise) : word;
}

std::string rules_table(const Console& console, bool wide, const bj::array& rules) {
  std::vector<std::string> titles = {"POLICY", "READINESS", "STUCK",      "EXECUTING",
                                     "READY",  "QUEUED",    "COLLECTING", "QUARANTINED"};
  if (wide) titles.insert(titles.end(), {"UNCHANGED", "OVERLAP", "ROLLBACK", "MEMBERS", "RULE"});
  Table table(titles);
  for (const bj::value& rule : rules) {
    const bj::value* found = member_at(rule, "terms");
    const bj::value terms = found ? *found : bj::value();
    auto bad = [](std::string n) {
      Tone tone = n.empty() || n == "0" ? Tone::kPlain : Tone::kBad;
      return Cell{std::move(n), tone};
    };
    std::vector<Cell> row = {{text_at(rule, "policyName")},        {readiness(terms)},
                             bad(text_at(rule, "counts.stuck")),   {text_at(rule, "counts.executing")},
                             {text_at(rule, "counts.ready")},      {text_at(rule, "counts.queued")},
                             {text_at(rule, "counts.collecting")}, bad(text_at(rule, "quarantined"))};
    if (wide)
      row.insert(row.end(), {{or_default(terms, "unchangedMemberStrategy", "skip_unchanged")},
                             {or_default(terms, "overlapStrategy", "queue")},
                             {or_default(terms, "rollbackStrategy", "all_members")},
                             {text_at(terms, "deploymentSelector")},
                             {text_at(rule, "ruleId")}});
    table.add(std::move(row));
  }
  return table_text(console, table);
}

std::string resource_name(const bj::value& thing) {
  for (const char* path : {"resource.name", "resource.identifier", "resource.id"})
    if (std::string name = text_at(thing, path); !name.empty()) return name;
  return {};
}

std::string since_text(const std::string& instant, Time now) {
  auto at = parse_rfc3339(instant);
  return at ? long_duration(now - *at) : instant;
}

// How many open groups the counts speak of.
size_t open_count(const bj::value& rule) {
  size_t n = 0;
  if (const bj::value* counts = member_at(rule, "counts"); counts && counts->is_object())
    for (const auto& count : counts->get_object())
      if (count.value().is_int64()) n += static_cast<size_t>(count.value().get_int64());
  return n;
}

std::string groups_table(const Console& console, bool wide, const bj::array& rules) {
  std::vector<std::string> titles = {"GROUP", "RESOURCE", "ENVIRONMENT", "STATUS", "SINCE", "WAITS FOR"};
  if (wide) titles.emplace_back("POLICY");
  Table table(titles);
  Time now = console.clock.wall();
  size_t shown = 0, all = 0;
  for (const bj::value& rule : rules) {
    const bj::array& groups = list_at(rule, "groups");
    all += std::max(open_count(rule), groups.size());
    for (const bj::value& g : groups) {
      if (shown == kGroupsShown) break;
      ++shown;
      std::string status = text_at(g, "status");
      std::vector<Cell> row = {{text_at(g, "id")},
                               {resource_name(g)},
                               {text_at(g, "environment.name")},
                               {status, tone_of_group(status)},
                               {since_text(group_since(g), now)},
                               {group_waits(g, now)}};
      if (wide) row.push_back({text_at(rule, "policyName")});
      table.add(std::move(row));
    }
  }
  if (all == 0) return "\nno group is open\n";
  std::string text = "\n" + table_text(console, table);
  if (all > shown)
    text +=
        fmt::format("and {} more: ctrlplane brackets -o name has all\n", count_text(all - shown, "group"));
  return text;
}

std::string quarantines_text(const Console& console, const bj::array& rules) {
  Table table({"IN QUARANTINE", "SINCE", "GROUP", "POLICY"});
  Time now = console.clock.wall();
  size_t shown = 0, all = 0;
  for (const bj::value& rule : rules) {
    const bj::array& list = list_at(rule, "quarantines");
    const bj::value* n = member_at(rule, "quarantined");
    all += n && n->is_int64() ? static_cast<size_t>(n->get_int64()) : list.size();
    for (const bj::value& q : list) {
      if (shown == kQuarantinesShown) break;
      ++shown;
      table.add({{resource_name(q), Tone::kBad},
                 {since_text(text_at(q, "since"), now)},
                 {text_at(q, "groupId")},
                 {text_at(rule, "policyName")}});
    }
  }
  if (all == 0) return {};
  std::string text = "\n" + table_text(console, table);
  if (all > shown) text += fmt::format("and {} more\n", all - shown);
  return text + "nothing starts on them until somebody has looked: ctrlplane bracket clear RESOURCE\n";
}

std::string running_members(const bj::value& group) {
  std::string names;
  for (const bj::value& m : list_at(group, "members"))
    if (std::string outcome = text_at(m, "outcome"); outcome == "running" || outcome == "rolling_back")
      names += (names.empty() ? "" : ", ") + text_at(m, "deploymentName");
  return names;
}

}  // namespace

Tone tone_of_group(std::string_view status) {
  auto in = [&](const auto& words) { return std::ranges::find(words, status) != words.end(); };
  if (in(std::array<std::string_view, 2>{"completed", "succeeded"})) return Tone::kGood;
  if (in(std::array<std::string_view, 3>{"stuck", "failed", "aborted"})) return Tone::kBad;
  if (in(std::array<std::string_view, 4>{"executing", "running", "rolling_back", "rolled_back"}))
    return Tone::kBusy;
  return in(std::array<std::string_view, 3>{"cancelled", "skipped", "unchanged"}) ? Tone::kDim : Tone::kPlain;
}

std::string group_since(const bj::value& group) {
  std::string status = text_at(group, "status");
  std::string_view member = status == "collecting"                    ? "collectionStartedAt"
                            : status == "ready" || status == "queued" ? "readyAt"
                            : status == "executing"                   ? "startedAt"
                            : status == "stuck"                       ? "stuckSince"
                                                                      : "finishedAt";
  std::string at = text_at(group, member);
  return at.empty() ? text_at(group, "createdAt") : at;
}

std::string group_waits(const bj::value& group, Time now) {
  std::string status = text_at(group, "status");
  if (status == "stuck") return text_at(group, "note");
  if (status == "queued") return "the group before it on this resource";
  if (status == "collecting") {
    auto at = parse_rfc3339(text_at(group, "collectionEndsAt"));
    if (!at) return {};
    return *at > now ? fmt::format("its window closes in {}", long_duration(rounded(*at - now)))
                     : "its window closes";
  }
  if (status != "ready" && status != "executing") return text_at(group, "note");
  if (std::string names = running_members(group); !names.empty()) return names;
  return text_at(group, "waitingFor");
}

std::string brackets_text(const Console& console, bool wide, const bj::value& answer) {
  const bj::array& rules = list_at(answer, "items");
  return rules_table(console, wide, rules) + groups_table(console, wide, rules) +
         quarantines_text(console, rules);
}

}  // namespace ctrlplane::cli
