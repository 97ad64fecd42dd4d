// Members of a rule's object, read from its text: JSON without blanks, and in simulated worlds without
// nested names that could be mistaken.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "model/entities.h"

namespace ctrlplane::sim {

inline std::optional<std::string_view> member(std::string_view body, std::string_view name) {
  const std::string key = '"' + std::string(name) + "\":";
  const size_t at = body.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return body.substr(at + key.size());
}

inline std::string_view text(std::string_view body, std::string_view name) {
  auto found = member(body, name);
  if (!found) return {};
  return found->substr(1, found->find('"', 1) - 1);
}

inline int64_t number(std::string_view body, std::string_view name, int64_t otherwise) {
  auto found = member(body, name);
  if (found) std::from_chars(found->data(), found->data() + found->size(), otherwise);
  return otherwise;
}

inline bool flag(std::string_view body, std::string_view name, bool otherwise) {
  auto found = member(body, name);
  return found ? found->starts_with("true") : otherwise;
}

inline auto member(const PolicyRule& rule, std::string_view name) { return member(rule.body.text(), name); }
inline auto text(const PolicyRule& rule, std::string_view name) { return text(rule.body.text(), name); }
inline auto number(const PolicyRule& rule, std::string_view name, int64_t otherwise) {
  return number(rule.body.text(), name, otherwise);
}
inline auto flag(const PolicyRule& rule, std::string_view name, bool otherwise) {
  return flag(rule.body.text(), name, otherwise);
}

}  // namespace ctrlplane::sim
