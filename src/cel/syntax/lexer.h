// Text to tokens, one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ctrlplane::cel {

enum class Tok : uint8_t {
  kEnd,
  kError,
  kIdent,
  kQuotedIdent,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTrue,
  kFalse,
  kNull,
  kIn,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kPercent,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
  kNot,
  kQuestion,
  kColon,
  kDot,
  kComma,
  kLParen,
  kRParen,
  kLBracket,
  kRBracket,
  kLBrace,
  kRBrace,
};

struct Token {
  Tok kind = Tok::kEnd;
  uint32_t offset = 0;
  // As written. Of a string or bytes: what is between the quotes, escapes not yet resolved.
  std::string_view text;
  bool raw = false;  // r'…': backslashes stand for themselves
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  // After kEnd or kError it stays there.
  Token next();
  // What is wrong at the kError token.
  const std::string& error() const { return error_; }
  // Where it is, if not at the token's beginning.
  uint32_t error_offset() const { return error_offset_; }

 private:
  void skip_blank();
  Token word();
  Token number();
  Token text(size_t start, size_t quote_at, bool raw, bool bytes);
  Token backticks();
  Token symbol();
  Token make(Tok kind, size_t start) const;
  Token fail(size_t offset, std::string message);
  char at(size_t i) const { return i < source_.size() ? source_[i] : '\0'; }

  std::string_view source_;
  size_t at_ = 0;
  std::string error_;
  uint32_t error_offset_ = 0;
};

// Resolves the escapes of a literal's text. On failure returns false with the byte offset within
// `text` and a message.
struct EscapeError {
  size_t offset = 0;
  std::string message;
};
bool unescape(std::string_view text, bool bytes, std::string& out, EscapeError& error);

bool is_reserved_word(std::string_view word);

}  // namespace ctrlplane::cel
