#include "agent/json_view.h"

#include <boost/json.hpp>

namespace ctrlplane::agent {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr size_t kMaxDepth = 500;

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

// The value at the front of a checked text: up to the comma, colon or bracket that follows it.
std::string_view first_value(std::string_view text) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return text.substr(0, i);
      --depth;
    } else if (depth == 0 && (c == ',' || c == ':')) {
      return text.substr(0, i);
    }
  }
  return text;
}

boost::json::value value_of(std::string_view text) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  return error ? boost::json::value() : value;
}

}  // namespace

Result<JsonView> JsonView::parse(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::json::error_code error;
  boost::json::parse(text, error, {}, options);
  if (error) return fail(ErrorCode::kInvalid, "not JSON: " + error.message());
  return JsonView(trimmed(text));
}

std::vector<JsonView::Member> JsonView::members() const {
  std::vector<Member> members;
  if (!text_.starts_with('{') && !text_.starts_with('[')) return members;
  std::string_view rest = text_.substr(1, text_.size() - 2);
  while (!trimmed(rest).empty()) {
    Member member;
    std::string_view first = first_value(rest);
    rest.remove_prefix(first.size());
    if (is_object()) {
      member.name = JsonView(trimmed(first)).string().value_or("");
      rest.remove_prefix(1);  // the colon
      first = first_value(rest);
      rest.remove_prefix(first.size());
    }
    member.value = JsonView(trimmed(first));
    members.push_back(std::move(member));
    if (!rest.empty()) rest.remove_prefix(1);  // the comma
  }
  return members;
}

JsonView JsonView::operator[](std::string_view name) const {
  if (is_object())
    for (const Member& member : members())
      if (member.name == name) return member.value;
  return {};
}

std::optional<std::string> JsonView::string() const {
  if (!is_string()) return std::nullopt;
  boost::json::value value = value_of(text_);
  return value.is_string() ? std::optional(std::string(value.get_string())) : std::nullopt;
}

std::optional<int64_t> JsonView::integer() const {
  boost::json::value value =
      value_of(text_.starts_with('-') || text_.find_first_of("0123456789") == 0 ? text_ : "null");
  if (value.is_int64()) return value.get_int64();
  bool in_range = value.is_double() && value.get_double() > -9e15 && value.get_double() < 9e15;
  return in_range ? std::optional(static_cast<int64_t>(value.get_double())) : std::nullopt;
}

std::string json_quote(std::string_view text) { return boost::json::serialize(boost::json::string(text)); }

}  // namespace ctrlplane::agent
