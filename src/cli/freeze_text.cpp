#include "cli/freeze_text.h"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/duration.h"
#include "cli/json_text.h"
#include "cli/phrases.h"
#include "cli/table.h"
#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr size_t kFreezesShown = 20;  // of those that `freeze check` names
constexpr size_t kBracketsShown = 10;

bool is_true(const bj::value& v, std::string_view path) { return text_at(v, path) == "true"; }

std::string heading(const Console& console, std::string_view status) {
  if (status == "active") return coloured("FROZEN", Tone::kBad, console.colour);
  if (status == "scheduled") return coloured("SCHEDULED", Tone::kBusy, console.colour);
  if (status == "ended") return coloured("ENDED", Tone::kDim, console.colour);
  return fmt::format("freeze ({})", printable(status));
}

std::string until_text(const bj::value& freeze, Time now) {
  std::string expires = text_at(freeze, "expiresAt");
  return expires.empty() ? "it is thawed; it does not expire" : when_text(expires, now);
}

std::string ended_text(const bj::value& freeze, Time now) {
  std::string by = person(text_at(freeze, "thawedBy")), why = text_at(freeze, "thawReason");
  return fmt::format("{}{}{}", when_text(text_at(freeze, "thawedAt"), now),
                     by.empty() ? ", it expired" : " by " + by, why.empty() ? "" : ": " + why);
}

// Of an active one how long, of a scheduled one how soon.
std::string since_text(const bj::value& freeze, Time now) {
  auto from = parse_rfc3339(text_at(freeze, "effectiveAt"));
  if (!from) return {};
  return *from > now ? fmt::format("in {}", long_duration(rounded(*from - now))) : long_duration(now - *from);
}

std::string expires_text(const bj::value& freeze, Time now) {
  if (text_at(freeze, "status") == "ended") {
    auto at = parse_rfc3339(text_at(freeze, "thawedAt"));
    return at ? fmt::format("ended {} ago", short_duration(now - *at)) : "ended";
  }
  auto at = parse_rfc3339(text_at(freeze, "expiresAt"));
  return at ? long_duration(rounded(*at - now)) : "never";
}

// Resources that stand between two members of a bracket.
std::string open_brackets_text(const bj::array& open) {
  if (open.empty()) return {};
  std::string text = count_text(open.size(), "bracket") + ": ";
  for (size_t i = 0; i < std::min(open.size(), kBracketsShown); ++i) {
    std::string name = text_at(open[i], "resourceName");
    text +=
        fmt::format("{}{} ({}, {} left)", i ? ", " : "", name.empty() ? text_at(open[i], "resourceId") : name,
                    text_at(open[i], "status"), text_at(open[i], "membersLeft"));
  }
  return open.size() > kBracketsShown ? fmt::format("{} and {} more", text, open.size() - kBracketsShown)
                                      : text;
}

Tone tone_of_freeze(std::string_view status) {
  return status == "active" ? Tone::kBad : status == "scheduled" ? Tone::kBusy : Tone::kDim;
}

}  // namespace

std::string impact_text(const bj::value& impact) {
  std::string targets = text_at(impact, "targets"), undetermined = text_at(impact, "undetermined");
  if (targets.empty()) return {};
  std::string covers = count_text(targets, "target");
  if (!undetermined.empty() && undetermined != "0")
    covers += fmt::format(", {} of them undetermined (only a version can tell, or the selector fails)",
                          undetermined);
  std::string text = titled_line("covers", covers);
  text += titled_line("held", count_text(text_at(impact, "heldJobs"), "job"));
  return text + titled_line("open", open_brackets_text(list_at(impact, "openBrackets")));
}

std::string freeze_text(const Console& console, const bj::value& freeze, const std::string& where) {
  Time now = console.clock.wall();
  std::string status = text_at(freeze, "status");
  std::string text = fmt::format("{}  {}\n", heading(console, status), printable(where));
  text += titled_line("reason", text_at(freeze, "reason"));
  text += titled_line("incident", text_at(freeze, "incidentUrl"));
  text += titled_line("selector", text_at(freeze, "selector"));
  text += titled_line("by", person(text_at(freeze, "createdBy")));
  text += titled_line("from", when_text(text_at(freeze, "effectiveAt"), now));
  if (status == "ended")
    text += titled_line("ended", ended_text(freeze, now));
  else
    text += titled_line("until", until_text(freeze, now));
  text += titled_line("id", text_at(freeze, "id"));
  if (const bj::value* impact = member_at(freeze, "impact")) text += impact_text(*impact);
  return text;
}

std::vector<std::string> shown_jobs(const bj::value& impact) {
  std::vector<std::string> ids;
  for (const bj::value& job : list_at(impact, "inFlightJobs")) {
    if (ids.size() == kJobsShown) break;
    ids.push_back(text_at(job, "id"));
  }
  return ids;
}

std::string in_flight_text(const Console& console, const bj::value& impact, std::string_view in_flight,
                           const std::vector<std::string>& titles) {
  const bj::array& jobs = list_at(impact, "inFlightJobs");
  if (jobs.empty()) return titled_line("running", "nothing: no agent has a job that this covers");
  std::string text =
      titled_line("running", fmt::format("{} that agents have: {}", count_text(jobs.size(), "job"),
                                         in_flight == "cancel" ? "asked to stop" : "left to finish"));
  for (size_t i = 0; i < std::min(jobs.size(), kJobsShown); ++i) {
    std::string status = printable(text_at(jobs[i], "status"));
    bool sending = is_true(jobs[i], "sending");
    bool titled = i < titles.size() && !titles[i].empty();
    text += fmt::format("    {}  {}{}  {}\n", printable(text_at(jobs[i], "id")),
                        coloured(status, tone_of(status), console.colour), sending ? " (being sent)" : "",
                        printable(titled ? titles[i] : text_at(jobs[i], "releaseTargetKey")));
  }
  if (jobs.size() > kJobsShown) text += fmt::format("    and {} more\n", jobs.size() - kJobsShown);
  return text;
}

std::string next_commands(const bj::value& freeze) {
  std::string id = text_at(freeze, "id");
  if (id.empty() || text_at(freeze, "status") == "ended") return {};
  return titled_line("extend", fmt::format("ctrlplane freeze extend {} --for 4h", id)) +
         titled_line("thaw", fmt::format("ctrlplane thaw {} --reason \"…\"", id));
}

std::string events_text(const Console& console, const bj::value& freeze) {
  const bj::array& events = list_at(freeze, "events");
  if (events.empty()) return {};
  Table table({"WHEN", "WHAT", "BY", "NOTE"});
  for (const bj::value& e : events) {
    std::string by = text_at(e, "actor");
    table.add({{to_the_second(text_at(e, "createdAt"))},
               {text_at(e, "action")},
               {by.empty() ? "the system" : person(by)},
               {text_at(e, "note")}});
  }
  return "\n" + table.render(console.out_is_terminal ? console.width : 0, console.colour);
}

std::string freezes_table(const Console& console, bool wide, const bj::array& freezes,
                          const ScopeNames& names) {
  std::vector<std::string> titles = {"ID", "STATUS", "SCOPE", "REASON", "BY", "SINCE", "EXPIRES IN"};
  if (wide) titles.insert(titles.end(), {"IN FLIGHT", "SELECTOR", "INCIDENT"});
  Table table(titles);
  Time now = console.clock.wall();
  for (const bj::value& f : freezes) {
    std::string status = text_at(f, "status");
    std::vector<Cell> row = {{text_at(f, "id")},     {status, tone_of_freeze(status)},  {names.title(f)},
                             {text_at(f, "reason")}, {person(text_at(f, "createdBy"))}, {since_text(f, now)},
                             {expires_text(f, now)}};
    if (wide)
      row.insert(row.end(),
                 {{text_at(f, "inFlight")}, {text_at(f, "selector")}, {text_at(f, "incidentUrl")}});
    table.add(std::move(row));
  }
  return table.render(console.out_is_terminal ? console.width : 0, console.colour);
}

std::string check_text(const Console& console, const bj::value& answer, const std::string& where) {
  Time now = console.clock.wall();
  bool frozen = is_true(answer, "frozen"), partial = is_true(answer, "partial");
  if (!frozen && !partial)
    return fmt::format("{}  {}\n", coloured("OPEN", Tone::kGood, console.colour), printable(where));
  std::string text = fmt::format("{}  {}\n",
                                 frozen ? coloured("FROZEN", Tone::kBad, console.colour)
                                        : coloured("PARTLY FROZEN", Tone::kBusy, console.colour),
                                 printable(where));
  const bj::array& freezes = list_at(answer, "freezes");
  for (size_t i = 0; i < std::min(freezes.size(), kFreezesShown); ++i) {
    std::string until = text_at(freezes[i], "expiresAt");
    text += printable(fmt::format(
                "  {}  {}, until {}: {}", text_at(freezes[i], "id"), text_at(freezes[i], "scope"),
                until.empty() ? "thawed" : when_text(until, now), text_at(freezes[i], "reason"))) +
            "\n";
  }
  if (freezes.size() > kFreezesShown) text += fmt::format("  and {} more\n", freezes.size() - kFreezesShown);
  std::string opens = text_at(answer, "opensAt");
  return text + titled_line("opens", opens.empty() ? "when it is thawed" : when_text(opens, now));
}

}  // namespace ctrlplane::cli
