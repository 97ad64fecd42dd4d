// How many resources are disrupted at a time, and who comes next.
#include <algorithm>

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

constexpr int64_t kGaugeWidth = 10;
constexpr size_t kNamesShown = 20;

std::string name_of(const bj::value& thing) {
  for (const char* path : {"name", "identifier", "resourceId"})
    if (std::string name = text_at(thing, path); !name.empty()) return name;
  return {};
}

// The first of a list by name, and how many more there are.
std::string names_text(const std::vector<std::string>& names, size_t total) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) text += (i ? ", " : "") + names[i];
  size_t shown = std::min(names.size(), kNamesShown);
  return total > shown ? fmt::format("{} and {} more", text, total - shown) : text;
}

std::string limit_words(const bj::value& limit) {
  std::string value = text_at(limit, "limitValue");
  return text_at(limit, "limitType") == "percentage" ? value + " %" : "at most " + value;
}

Tone tone_of_limit(const bj::value& limit) {
  int64_t active = number_at(limit, "active"), most = number_at(limit, "max");
  if (most == 0 || number_at(limit, "quarantined") >= most) return Tone::kBad;
  return active >= most ? Tone::kBusy : active > 0 ? Tone::kGood : Tone::kPlain;
}

std::string holders_text(const Console& console, const bj::value& limit) {
  const bj::array& holders = list_at(limit, "holders");
  if (holders.empty()) return {};
  Table table({"  HOLDS A SLOT", "SINCE", "WHY", "GROUP"});
  for (const bj::value& h : holders)
    table.add({{"  " + name_of(h)},
               {when_text(text_at(h, "since"), console.clock.wall())},
               {text_at(h, "why")},
               {text_at(h, "groupId")}});
  return table.render(console.out_is_terminal ? console.width : 0, console.colour);
}

std::string limit_text(const Console& console, const bj::value& limit) {
  std::string text = fmt::format(
      "{}  {}  ({}{})\n", printable(text_at(limit, "policyName")),
      coloured(gauge(number_at(limit, "active"), number_at(limit, "max"), number_at(limit, "total")),
               tone_of_limit(limit), console.colour),
      printable(limit_words(limit)),
      text_at(limit, "counting") == "true" ? "; its resources are still being counted" : "");
  text += holders_text(console, limit);
  std::vector<std::string> waiting, unlimited;
  for (const bj::value& w : list_at(limit, "waiting")) waiting.push_back(name_of(w));
  for (const bj::value& u : list_at(limit, "unlimited.identifiers"))
    if (u.is_string()) unlimited.emplace_back(u.get_string());
  size_t total = std::max(static_cast<size_t>(number_at(limit, "waitingTotal")), waiting.size());
  text += titled_line("waiting", names_text(waiting, total));
  int64_t quarantined = number_at(limit, "quarantined");
  if (quarantined > 0)
    text += titled_line(
        "isolated",
        fmt::format("{} in quarantine{}", count_text(quarantined, "resource"),
                    quarantined >= number_at(limit, "max") ? ": nothing new starts under this limit" : ""));
  int64_t free = number_at(limit, "unlimited.count");
  if (free > 0)
    text += titled_line("unlimited", fmt::format("{} of the policy that the rule does not count: {}",
                                                 count_text(free, "resource"),
                                                 names_text(unlimited, static_cast<size_t>(free))));
  return text;
}

}  // namespace

std::string gauge(int64_t active, int64_t most, int64_t total) {
  int64_t width = std::clamp<int64_t>(total, 1, kGaugeWidth);
  // Who is there is seen, however many others there are; resources that left the group still hold slots.
  int64_t full = total > 0 ? std::min((active * width + total - 1) / total, width) : active > 0 ? width : 0;
  return fmt::format("[{:#<{}}{:-<{}}] {}/{} of {}", "", full, "", width - full, active, most, total);
}

std::string concurrency_text(const Console& console, const bj::value& answer) {
  std::string text;
  for (const bj::value& limit : list_at(answer, "items"))
    text += (text.empty() ? "" : "\n") + limit_text(console, limit);
  return text;
}

}  // namespace ctrlplane::cli
