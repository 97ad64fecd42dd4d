#include "cli/render.h"

#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/duration.h"
#include "cli/json_text.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/version_scope.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr std::array<std::string_view, 5> kWords = {"table", "wide", "json", "yaml", "name"};

std::string names_of(const bj::value& item, std::string_view path) {
  const bj::value* list = member_at(item, path);
  if (!list || !list->is_array()) return {};
  std::string text;
  for (const bj::value& one : list->get_array()) text += (text.empty() ? "" : ",") + text_at(one, "name");
  return text;
}

std::string first_text_at(const bj::value& item, std::string_view paths) {
  std::string text;
  while (text.empty() && !paths.empty()) {
    size_t bar = std::min(paths.find('|'), paths.size());
    text = text_at(item, paths.substr(0, bar));
    paths.remove_prefix(std::min(bar + 1, paths.size()));
  }
  return text;
}

Cell cell_of(const Column& column, const bj::value& item, Time now) {
  std::string text = first_text_at(item, column.path);
  switch (column.format) {
    case Format::kText: return {text};
    case Format::kStatus: return {text, tone_of(text)};
    case Format::kNames: return {names_of(item, column.path)};
    case Format::kScope: return {scope_of(item)};
    case Format::kAge: {
      auto at = parse_rfc3339(text);
      return {at ? short_duration(now - *at) : text};
    }
  }
  return {};
}

std::string table_text(const Console& console, bool wide, const Kind& kind, const bj::array& items) {
  std::vector<const Column*> columns;
  std::vector<std::string> titles;
  for (const Column& c : kind.columns) {
    if (c.wide && !wide) continue;
    columns.push_back(&c);
    titles.emplace_back(c.title);
  }
  Table table(titles);
  Time now = console.clock.wall();
  for (const bj::value& item : items) {
    std::vector<Cell> row;
    row.reserve(columns.size());
    for (const Column* c : columns) row.push_back(cell_of(*c, item, now));
    table.add(std::move(row));
  }
  return table.render(console.out_is_terminal ? console.width : 0, console.colour);
}

}  // namespace

Outcome<Output> parse_output(std::string_view word) {
  if (word.empty() || word == "table") return Output::kTable;
  if (word == "wide") return Output::kWide;
  if (word == "json") return Output::kJson;
  if (word == "yaml") return Output::kYaml;
  if (word == "name") return Output::kName;
  return wrong_use(
      fmt::format("-o takes table, wide, json, yaml or name, not '{}'{}", word, did_you_mean(word, kWords)));
}

std::string value_text(Output output, const bj::value& value) {
  return output == Output::kYaml ? yaml_text(value) : pretty_json(value);
}

std::string item_name(const Kind& kind, const bj::value& item) {
  return printable(fmt::format("{}/{}", kind.singular, text_at(item, kind.name)));
}

std::string list_text(const Console& console, Output output, const Kind& kind, const bj::array& items) {
  switch (output) {
    case Output::kJson:
    case Output::kYaml: return value_text(output, items);
    case Output::kName: {
      std::string text;
      for (const bj::value& item : items) text += item_name(kind, item) + "\n";
      return text;
    }
    case Output::kTable:
    case Output::kWide: break;
  }
  return table_text(console, output == Output::kWide, kind, items);
}

std::string item_text(const Console& console, Output output, const Kind& kind, const bj::value& item) {
  if (output == Output::kJson || output == Output::kYaml) return value_text(output, item);
  return list_text(console, output, kind, bj::array{item});
}

}  // namespace ctrlplane::cli
