// JSON values as text for people, and reading what may or may not be in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

namespace ctrlplane::cli {

// Two spaces of indentation, members in the order they came, integers without fraction or exponent.
std::string pretty_json(const boost::json::value& value);
// On one line, the same otherwise.
std::string compact_json(const boost::json::value& value);
// Block style; a text that would read as another type is quoted.
std::string yaml_text(const boost::json::value& value);
// Whether a plain YAML scalar of this text would be taken for a number, a truth value, a date or nothing, by
// any YAML reader in use.
bool reads_as_other_type(std::string_view text);

// The member at "a.b.c"; null where there is none on the way.
const boost::json::value* member_at(const boost::json::value& value, std::string_view path);
// Its text: strings as they are, other scalars as JSON, nothing for what is absent or null.
std::string text_at(const boost::json::value& value, std::string_view path);
// The whole number there; 0 for what is absent or none.
int64_t number_at(const boost::json::value& value, std::string_view path);
// The list there; an empty one for what is absent or no list.
const boost::json::array& list_at(const boost::json::value& value, std::string_view path);

// Equal as JSON values: the order of members does not count, and 1 is 1.0.
bool same_json(const boost::json::value& a, const boost::json::value& b);

}  // namespace ctrlplane::cli
