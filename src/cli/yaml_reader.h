// YAML as JSON values, by YAML 1.2's rules, with the place of what does not fit.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "cli/failure.h"

namespace YAML {  // NOLINT(readability-identifier-naming): the library's
class Node;
}

namespace ctrlplane::cli {

struct Trouble {
  int line = 0;  // 1 is the first; 0: unknown
  std::string path;
  std::string message;
};
template <class T>
using Read = std::expected<T, Trouble>;

// The documents of a text. Empty ones are null nodes.
Read<std::vector<YAML::Node>> parse_yaml(const std::string& text);
int line_of(const YAML::Node& node);

// `line` is where the name is: a value that is not there has no place of its own.
using VisitMember = std::function<Read<void>(const std::string& name, const YAML::Node& value, int line)>;
// Each member once, in order; stops at the first trouble, a repeated member included.
Read<void> for_each_member(const YAML::Node& map, std::string_view path, const VisitMember& visit);

// Any JSON value. What aliases expand to is bounded.
Read<boost::json::value> read_value(const YAML::Node& node, std::string_view path);
// A scalar as it is written: 1.20 is "1.20".
Read<std::string> read_text(const YAML::Node& node, std::string_view path);

}  // namespace ctrlplane::cli
