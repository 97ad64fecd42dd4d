// Text to tree. The first mistake ends it, with a message that says what to write instead where that
// can be guessed.
#pragma once

#include <expected>
#include <string_view>

#include "cel/syntax/ast.h"
#include "cel/syntax/diagnostic.h"

namespace ctrlplane::cel {

struct ParseLimits {
  uint32_t max_source_bytes = 64 * 1024;
  // Brackets within brackets: bounds the parser's own recursion.
  uint32_t max_nesting = 200;
  // Height of the tree: bounds the recursion of everything after the parser.
  uint32_t max_depth = 1000;
};

struct ParseOptions {
  bool macros = true;
  ParseLimits limits = {};
};

// `source` must outlive the tree.
std::expected<Ast, Diagnostic> parse(std::string_view source, const ParseOptions& options = {});

}  // namespace ctrlplane::cel
