#include "cli/version_scope.h"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/json_text.h"
#include "cli/phrases.h"
#include "cli/table.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

std::string counted(const bj::value& scope, const std::string& total) {
  std::string text = fmt::format("{} of {}", number_at(scope, "matched"), total);
  if (int64_t n = number_at(scope, "undetermined")) text += fmt::format(", {} undetermined", n);
  if (text_at(scope, "counting") == "true") text += ", still counting";
  return text;
}

}  // namespace

std::string scope_of(const bj::value& version) {
  if (text_at(version, "targetSelector").empty()) return "all";
  const bj::value* scope = member_at(version, "scope");
  return scope ? counted(*scope, text_at(*scope, "total")) : "some";
}

std::string scope_text(const bj::value& scope) {
  return counted(scope, count_text(text_at(scope, "total"), "target"));
}

std::vector<std::string> doubts_about(const bj::value& scope, bool included) {
  std::vector<std::string> doubts;
  int64_t matched = number_at(scope, "matched");
  if (matched == 0)
    doubts.emplace_back("no target matches the selector");
  else if (matched == number_at(scope, "total"))
    doubts.emplace_back("every target matches: the selector leaves none out");
  if (int64_t n = number_at(scope, "undetermined"))
    doubts.push_back(fmt::format("on {} the selector cannot be evaluated: {}",
                                 count_text(static_cast<size_t>(n), "target"),
                                 included ? "included" : "left out"));
  return doubts;
}

std::string preview_table(const Console& console, bool wide, const bj::value& answer) {
  const bj::array& targets = list_at(answer, "targets");
  if (targets.empty()) return {};
  std::vector<std::string> titles = {"ENVIRONMENT", "RESOURCE", "MATCHES"};
  if (wide) titles.emplace_back("KEY");
  Table table(titles);
  for (const bj::value& t : targets) {
    bool undetermined = text_at(t, "undetermined") == "true";
    std::vector<Cell> row = {
        {text_at(t, "environment.name")},
        {text_at(t, "resource.name")},
        {undetermined ? "undetermined" : "yes", undetermined ? Tone::kBusy : Tone::kGood}};
    if (wide) row.push_back({text_at(t, "releaseTargetKey")});
    table.add(std::move(row));
  }
  std::string text = table.render(console.out_is_terminal ? console.width : 0, console.colour);
  if (text_at(answer, "more") == "true")
    text += fmt::format("only the first {} are listed\n", targets.size());
  return text;
}

}  // namespace ctrlplane::cli
