// A complaint about an expression, with its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ctrlplane::cel {

struct Diagnostic {
  uint32_t offset = 0;  // bytes
  std::string message;
};

// Line and column from 1; the column counts code points.
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
};

Position position_at(std::string_view source, uint32_t offset);

// kInvalid; the message is "line:column: first complaint", and each complaint is a detail whose path
// is its "line:column".
Error to_error(std::string_view source, const std::vector<Diagnostic>& diagnostics);

// The candidate most like `name`, if it is near enough to be a slip: empty otherwise.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);
// "; did you mean 'x'?" or nothing.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace ctrlplane::cel
