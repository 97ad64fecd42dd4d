// Reading JSON without rewriting it: a job's context goes to its command as the server wrote it, with every
// digit of its numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ctrlplane::agent {

// A view of one JSON value in a text that outlives it. The text has been checked by `parse`.
class JsonView {
 public:
  JsonView() = default;  // as null

  // kInvalid if `text` is not one JSON value.
  static Result<JsonView> parse(std::string_view text);

  std::string_view text() const { return text_; }
  bool is_null() const { return text_ == "null"; }
  bool is_object() const { return text_.starts_with('{'); }
  bool is_string() const { return text_.starts_with('"'); }

  struct Member;
  // Members of an object, or elements of an array (without names), in their order; none for other values.
  std::vector<Member> members() const;
  // The member of that name; null if there is none.
  JsonView operator[](std::string_view name) const;
  // A string's value, unescaped; nullopt if it is not a string.
  std::optional<std::string> string() const;
  // A number's value, cut to an integer; nullopt if it is not a number.
  std::optional<int64_t> integer() const;

 private:
  explicit JsonView(std::string_view text) : text_(text) {}
  std::string_view text_ = "null";
};

struct JsonView::Member {
  std::string name;
  JsonView value;
};

std::string json_quote(std::string_view text);

}  // namespace ctrlplane::agent
