// JSON documents that the core carries but does not look into: kept as canonical text (members
// sorted, no blanks), so that equal documents are equal strings and have one digest.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ctrlplane {

class Json {
 public:
  Json() = default;
  // kInvalid with the position if `text` is no JSON, nested deeper than 64, or not an object.
  static Result<Json> parse_object(std::string_view text);
  // Text that is known to be canonical: a row written earlier.
  static Json trusted(std::string text) {
    Json j;
    j.text_ = std::move(text);
    return j;
  }

  const std::string& text() const { return text_; }
  bool operator==(const Json&) const = default;

 private:
  std::string text_ = "{}";
};

// A member that is a string; nothing if there is none.
std::optional<std::string> text_member(const Json& object, std::string_view name);

// Deep merge, `over` wins: maps merge, everything else (arrays too) is replaced.
Json merge(const Json& base, const Json& over);

// Appends `text` as a JSON string literal, quotes included.
void append_json_string(std::string& out, std::string_view text);

}  // namespace ctrlplane
