#include "policy/rule_body.h"

#include <boost/json.hpp>
#include <fmt/core.h>

namespace ctrlplane::policy {
namespace {

std::optional<JobStatus> job_status(std::string_view word) {
  if (auto status = parse_enum<JobStatus>(word)) return status;
  // The API's spelling: inProgress for in_progress.
  std::string snake;
  for (char c : word) {
    if (c >= 'A' && c <= 'Z') snake += '_';
    snake += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  return parse_enum<JobStatus>(snake);
}

}  // namespace

struct RuleBody::Parsed {
  boost::json::object object;
  const boost::json::value* find(std::string_view name) const {
    const boost::json::value* v = object.if_contains(name);
    return v && !v->is_null() ? v : nullptr;
  }
};

RuleBody::RuleBody(std::string path, const Json& body)
    : path_(std::move(path)), parsed_(std::make_unique<Parsed>()) {
  boost::json::error_code error;
  boost::json::value v = boost::json::parse(body.text(), error);
  if (!error && v.is_object()) parsed_->object = std::move(v.get_object());
}

RuleBody::~RuleBody() = default;

void RuleBody::complain(std::string_view name, std::string message) {
  if (error_) return;
  std::string path = path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  error_ = invalid(std::move(path), std::move(message)).error();
}

void RuleBody::complain(const Error& error) {
  std::string member = error.details.empty() ? "" : error.details[0].path;
  complain(member, error.details.empty() ? error.message : error.details[0].message);
}

Status RuleBody::done() const {
  if (error_) return std::unexpected(*error_);
  return {};
}

std::optional<std::string> RuleBody::maybe_text(std::string_view name) {
  const boost::json::value* v = parsed_->find(name);
  if (!v) return std::nullopt;
  if (!v->is_string()) complain(name, "must be a string");
  return v->is_string() ? std::optional(std::string(std::string_view(v->get_string()))) : std::nullopt;
}

std::string RuleBody::text(std::string_view name) {
  auto value = maybe_text(name);
  if (!value) complain(name, "is required");
  if (value && value->empty()) complain(name, "must not be empty");
  return value.value_or("");
}

std::optional<int64_t> RuleBody::maybe_integer(std::string_view name, int64_t least, int64_t most) {
  const boost::json::value* v = parsed_->find(name);
  if (!v) return std::nullopt;
  if (!v->is_int64()) {
    complain(name, "must be an integer");
    return std::nullopt;
  }
  int64_t n = v->get_int64();
  if (n < least) complain(name, fmt::format("must be at least {}", least));
  if (n > most) complain(name, fmt::format("must be at most {}", most));
  return n;
}

int64_t RuleBody::integer(std::string_view name, int64_t least, int64_t most) {
  auto value = maybe_integer(name, least, most);
  if (!value) complain(name, "is required");
  return value.value_or(least);
}

std::optional<double> RuleBody::maybe_number(std::string_view name, double least, double most) {
  const boost::json::value* v = parsed_->find(name);
  if (!v) return std::nullopt;
  if (!v->is_number()) {
    complain(name, "must be a number");
    return std::nullopt;
  }
  double n = v->to_number<double>();
  if (!(n >= least) || !(n <= most)) complain(name, fmt::format("must be between {} and {}", least, most));
  return n;
}

bool RuleBody::flag(std::string_view name, bool otherwise) {
  const boost::json::value* v = parsed_->find(name);
  if (!v) return otherwise;
  if (!v->is_bool()) complain(name, "must be true or false");
  return v->is_bool() ? v->get_bool() : otherwise;
}

std::string RuleBody::word(std::string_view name, std::initializer_list<std::string_view> words) {
  auto value = maybe_text(name);
  if (!value) return std::string(*words.begin());
  std::string choices;
  for (std::string_view w : words) {
    if (w == *value) return *value;
    choices += (choices.empty() ? "" : ", ") + std::string(w);
  }
  complain(name, "must be one of " + choices);
  return std::string(*words.begin());
}

std::optional<std::vector<std::string>> RuleBody::maybe_texts(std::string_view name) {
  const boost::json::value* v = parsed_->find(name);
  if (!v) return std::nullopt;
  std::vector<std::string> all;
  if (!v->is_array()) complain(name, "must be an array of strings");
  if (v->is_array())
    for (const auto& item : v->get_array()) {
      if (!item.is_string())
        complain(name, "must be an array of strings");
      else
        all.emplace_back(std::string_view(item.get_string()));
    }
  return all;
}

std::optional<std::vector<JobStatus>> RuleBody::maybe_statuses(std::string_view name) {
  auto words = maybe_texts(name);
  if (!words) return std::nullopt;
  std::vector<JobStatus> all;
  for (const std::string& w : *words) {
    auto status = job_status(w);
    if (!status || !is_terminal(*status))
      complain(name, fmt::format("'{}' is not a status in which a job ends", w));
    else
      all.push_back(*status);
  }
  if (all.empty()) complain(name, "must name a status");
  return all;
}

std::shared_ptr<const Selector> RuleBody::maybe_selector(std::string_view name, Selector::Subject subject) {
  auto text = maybe_text(name);
  if (!text) return nullptr;
  auto compiled = Selector::compile(*text, subject);
  if (!compiled) {
    complain(name, compiled.error().message);
    return nullptr;
  }
  return std::make_shared<const Selector>(std::move(*compiled));
}

std::shared_ptr<const Selector> RuleBody::selector(std::string_view name, Selector::Subject subject) {
  auto compiled = maybe_selector(name, subject);
  if (!compiled) complain(name, "is required");
  return compiled;
}

}  // namespace ctrlplane::policy
