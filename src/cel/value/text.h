// Values as text: CEL literals for messages and printing, and the small UTF-8 helpers every family
// of string functions needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cel/value/value.h"

namespace ctrlplane::cel {

// The value as a CEL expression that evaluates to it (timestamps as timestamp('…') and so on). Cut
// with "…" once longer than max_bytes.
std::string literal_text(const Value& v, size_t max_bytes = 10000);

// "text" with CEL escapes, quotes included.
std::string quote(std::string_view text, char quote = '"');
std::string quote_bytes(std::string_view bytes);

// Shortest text that reads back to the same double: "1.5", "1e+30", "NaN", "-Infinity".
std::string double_text(double d);

bool is_valid_utf8(std::string_view text);
size_t count_code_points(std::string_view text);
void append_utf8(std::string& out, uint32_t code_point);
// Reads the code point at `at` and moves past it. The text must be valid UTF-8; a stray byte counts
// as one code point U+FFFD.
uint32_t next_code_point(std::string_view text, size_t& at);
// Byte offset of the n-th code point; npos when there are fewer. n == count is the end.
size_t code_point_offset(std::string_view text, uint64_t n);

}  // namespace ctrlplane::cel
