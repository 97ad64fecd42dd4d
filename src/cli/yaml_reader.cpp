#include "cli/yaml_reader.h"

#include <charconv>
#include <cmath>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr int kMaxDepth = 60;          // the server takes 64
constexpr size_t kMaxNodes = 200'000;  // aliases of aliases grow without bound

std::unexpected<Trouble> trouble(const YAML::Node& node, std::string_view path, std::string message) {
  return std::unexpected(Trouble{line_of(node), std::string(path), std::move(message)});
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// [-+] digits [. digits] [e [-+] digits], with digits on one side of the point at least.
bool is_float(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.starts_with('-') || exponent.starts_with('+')) exponent.remove_prefix(1);
    if (!is_digits(exponent)) return false;
    text = text.substr(0, e);
  }
  size_t dot = text.find('.');
  std::string_view whole = text.substr(0, dot);
  std::string_view fraction = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  return (whole.empty() || is_digits(whole)) && (fraction.empty() || is_digits(fraction)) &&
         !(whole.empty() && fraction.empty());
}

template <class T>
bool parse_whole(std::string_view text, int base, T& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size();
}

class Reader {
 public:
  Read<bj::value> value(const YAML::Node& node, const std::string& path, int depth) {
    if (depth > kMaxDepth) return trouble(node, path, "is nested too deeply");
    if (++nodes_ > kMaxNodes) return trouble(node, path, "is too large, with its aliases written out");
    if (!node.IsDefined() || node.IsNull()) return bj::value(nullptr);
    if (node.IsScalar()) return scalar(node, path);
    if (node.IsSequence()) {
      bj::array items;
      for (size_t i = 0; i < node.size(); ++i)
        items.push_back(TRY(value(node[i], fmt::format("{}[{}]", path, i), depth + 1)));
      return items;
    }
    bj::object members;
    auto each = [&](const std::string& name, const YAML::Node& item, int) -> Read<void> {
      members.emplace(name, TRY(value(item, path.empty() ? name : path + "." + name, depth + 1)));
      return {};
    };
    TRY(for_each_member(node, path, each));
    return members;
  }

 private:
  Read<bj::value> scalar(const YAML::Node& node, const std::string& path) {
    const std::string& tag = node.Tag();
    if (tag == "!" || tag == "tag:yaml.org,2002:str")
      return bj::value(bj::string(TRY(read_text(node, path))));
    if (tag != "?" && !tag.empty())
      return trouble(node, path, fmt::format("has the tag {}, which is not known", tag));
    return plain(node, path);
  }

  Read<bj::value> plain(const YAML::Node& node, const std::string& path) {
    const std::string& text = node.Scalar();
    if (text == "true" || text == "True" || text == "TRUE") return bj::value(true);
    if (text == "false" || text == "False" || text == "FALSE") return bj::value(false);
    std::string_view digits = text;
    if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
    if (is_digits(digits)) return integer(node, path, digits, 10, text.front() == '-');
    if (text.starts_with("0x") && text.size() > 2) {
      if (text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos)
        return integer(node, path, std::string_view(text).substr(2), 16, false);
    } else if (text.starts_with("0o") && text.size() > 2) {
      if (text.find_first_not_of("01234567", 2) == std::string::npos)
        return integer(node, path, std::string_view(text).substr(2), 8, false);
    } else if (is_float(text)) {
      double d = std::strtod(text.c_str(), nullptr);
      if (!std::isfinite(d)) return trouble(node, path, "is too large for a number; write it in quotes");
      return bj::value(d);
    } else if (digits == ".inf" || digits == ".Inf" || digits == ".INF" || text == ".nan" || text == ".NaN" ||
               text == ".NAN") {
      return trouble(node, path, "is a number that JSON does not have; write it in quotes");
    }
    return bj::value(bj::string(TRY(read_text(node, path))));
  }

  static Read<bj::value> integer(const YAML::Node& node, const std::string& path, std::string_view digits,
                                 int base, bool negative) {
    if (base == 10 && digits.size() > 1 && digits.front() == '0')
      return trouble(node, path,
                     fmt::format("{} may be a number or a text; write it in quotes", node.Scalar()));
    uint64_t n = 0;
    if (parse_whole(digits, base, n)) {
      if (!negative) return n <= INT64_MAX ? bj::value(static_cast<int64_t>(n)) : bj::value(n);
      if (n <= uint64_t{1} << 63) return bj::value(static_cast<int64_t>(~n + 1));
    }
    return trouble(node, path, "is too large for a number; write it in quotes");
  }

  size_t nodes_ = 0;
};

}  // namespace

int line_of(const YAML::Node& node) {
  if (!node.IsDefined()) return 0;
  YAML::Mark mark = node.Mark();
  return mark.is_null() ? 0 : mark.line + 1;
}

Read<std::vector<YAML::Node>> parse_yaml(const std::string& text) {
  try {
    return YAML::LoadAll(text);
  } catch (const YAML::Exception& e) {
    return std::unexpected(Trouble{e.mark.is_null() ? 0 : e.mark.line + 1, "", "not YAML: " + e.msg});
  }
}

Read<void> for_each_member(const YAML::Node& map, std::string_view path, const VisitMember& visit) {
  if (!map.IsMap()) return trouble(map, path, "must have members (name: value)");
  std::set<std::string> seen;
  for (const auto& member : map) {
    if (!member.first.IsScalar()) return trouble(member.first, path, "has a member whose name is not a text");
    std::string name = TRY(read_text(member.first, path));
    if (!seen.insert(name).second) return trouble(member.first, path, fmt::format("has '{}' twice", name));
    TRY(visit(name, member.second, line_of(member.first)));
  }
  return {};
}

Read<bj::value> read_value(const YAML::Node& node, std::string_view path) {
  return Reader().value(node, std::string(path), 0);
}

Read<std::string> read_text(const YAML::Node& node, std::string_view path) {
  if (!node.IsDefined() || node.IsNull())
    return trouble(node, path, "has no value; write \"\" for an empty one");
  if (!node.IsScalar()) return trouble(node, path, "must be a text");
  if (!is_storable_text(node.Scalar())) return trouble(node, path, "is not UTF-8 text without NUL");
  return node.Scalar();
}

}  // namespace ctrlplane::cli
