#include "cli/pairs.h"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/text.h"
#include "cli/yaml_reader.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

Outcome<std::pair<std::string, std::string>> split(const std::string& pair) {
  size_t equals = pair.find('=');
  if (equals == std::string::npos || equals == 0)
    return wrong_use(fmt::format("'{}' is not of the form k=v", pair));
  if (!is_storable_text(pair)) return wrong_use(fmt::format("'{}' is not UTF-8 text", pair));
  return std::pair{pair.substr(0, equals), pair.substr(equals + 1)};
}

Outcome<bj::value> read_config_value(const std::string& name, const std::string& text) {
  if (text.empty()) return bj::value("");
  auto documents = parse_yaml(text);
  // Much that is no YAML is a fine text: "*.example.com", "@daily", "a: b: c".
  if (!documents || documents->size() != 1) return bj::value(text);
  auto value = read_value(documents->front(), name);
  if (!value) return wrong_use(fmt::format("{}: {}", name, value.error().message));
  // A mapping is meant only with braces: "note: x" is a text.
  bool flow = text.front() == '{' || text.front() == '[';
  if ((value->is_object() || value->is_array()) && !flow) return bj::value(text);
  return *std::move(value);
}

}  // namespace

Outcome<bj::object> text_pairs(const std::vector<std::string>& pairs) {
  bj::object out;
  for (const std::string& pair : pairs) {
    auto [name, value] = TRY(split(pair));
    if (!out.emplace(name, value).second) return wrong_use(fmt::format("'{}' is given twice", name));
  }
  return out;
}

Outcome<bj::object> config_pairs(const std::vector<std::string>& pairs) {
  bj::object out;
  for (const std::string& pair : pairs) {
    auto [name, text] = TRY(split(pair));
    bj::object* at = &out;
    std::string_view rest = name;
    for (size_t dot; (dot = rest.find('.')) != std::string_view::npos; rest.remove_prefix(dot + 1)) {
      bj::value& inner = at->emplace(rest.substr(0, dot), bj::object()).first->value();
      if (dot == 0 || !inner.is_object())
        return wrong_use(fmt::format("'{}' does not fit what is given before it", name));
      at = &inner.get_object();
    }
    if (rest.empty() || !at->emplace(rest, TRY(read_config_value(name, text))).second)
      return wrong_use(fmt::format("'{}' does not fit what is given before it", name));
  }
  return out;
}

}  // namespace ctrlplane::cli
