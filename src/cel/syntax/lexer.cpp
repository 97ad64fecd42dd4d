#include "cel/syntax/lexer.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace ctrlplane::cel {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

constexpr std::array<std::string_view, 17> kReserved = {
    "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
    "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};

// What people bring along from other languages.
std::string hint(std::string_view rest) {
  if (rest.starts_with("=")) return "'=' is not an operator; use == to compare";
  if (rest.starts_with("&")) return "'&' is not an operator; use && for and";
  if (rest.starts_with("|")) return "'|' is not an operator; use || for or";
  if (rest.starts_with(";")) return "an expression has no ';' at its end";
  if (rest.starts_with("\xe2\x80\x98") || rest.starts_with("\xe2\x80\x99") ||
      rest.starts_with("\xe2\x80\x9c") || rest.starts_with("\xe2\x80\x9d"))
    return "a typographic quotation mark; use ' or \"";
  if (rest.starts_with("#")) return "a comment begins with //";
  unsigned char c = static_cast<unsigned char>(rest[0]);
  if (c >= 0x20 && c < 0x7f) return fmt::format("unexpected character '{}'", rest[0]);
  if (c >= 0x80) return "unexpected character; letters outside ASCII belong in quotes";
  return fmt::format("unexpected character 0x{:02x}", static_cast<unsigned>(c));
}

}  // namespace

bool is_reserved_word(std::string_view word) {
  return std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end();
}

Token Lexer::make(Tok kind, size_t start) const {
  return {kind, static_cast<uint32_t>(start), source_.substr(start, at_ - start)};
}

Token Lexer::fail(size_t offset, std::string message) {
  error_ = std::move(message);
  error_offset_ = static_cast<uint32_t>(offset);
  source_ = source_.substr(0, at_);
  return {Tok::kError, error_offset_, {}};
}

void Lexer::skip_blank() {
  for (;;) {
    char c = at(at_);
    if (at_ < source_.size() && (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f')) {
      ++at_;
    } else if (c == '/' && at(at_ + 1) == '/') {
      while (at_ < source_.size() && source_[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  if (!error_.empty()) return {Tok::kError, error_offset_, {}};
  skip_blank();
  if (at_ >= source_.size()) return {Tok::kEnd, static_cast<uint32_t>(source_.size()), {}};
  char c = source_[at_];
  if (is_letter(c)) return word();
  if (is_digit(c) || (c == '.' && is_digit(at(at_ + 1)))) return number();
  if (c == '\'' || c == '"') return text(at_, at_, false, false);
  if (c == '`') return backticks();
  return symbol();
}

Token Lexer::word() {
  size_t start = at_;
  auto quoted = [&](size_t n) { return at(start + n) == '\'' || at(start + n) == '"'; };
  char c = static_cast<char>(at(start) | 0x20), d = static_cast<char>(at(start + 1) | 0x20);
  if (c == 'r' && quoted(1)) return text(start, start + 1, true, false);
  if (c == 'b' && quoted(1)) return text(start, start + 1, false, true);
  if (c == 'b' && d == 'r' && quoted(2)) return text(start, start + 2, true, true);
  while (is_letter(at(at_)) || is_digit(at(at_))) ++at_;
  Token t = make(Tok::kIdent, start);
  if (t.text == "true")
    t.kind = Tok::kTrue;
  else if (t.text == "false")
    t.kind = Tok::kFalse;
  else if (t.text == "null")
    t.kind = Tok::kNull;
  else if (t.text == "in")
    t.kind = Tok::kIn;
  return t;
}

Token Lexer::number() {
  size_t start = at_;
  bool real = false;
  if (at(at_) == '0' && (at(at_ + 1) | 0x20) == 'x' && is_hex(at(at_ + 2))) {
    at_ += 2;
    while (is_hex(at(at_))) ++at_;
  } else {
    while (is_digit(at(at_))) ++at_;
    if (at(at_) == '.' && is_digit(at(at_ + 1))) {
      real = true;
      ++at_;
      while (is_digit(at(at_))) ++at_;
    }
    if ((at(at_) | 0x20) == 'e') {
      size_t digits = at_ + 1 + (at(at_ + 1) == '+' || at(at_ + 1) == '-' ? 1 : 0);
      if (is_digit(at(digits))) {
        real = true;
        at_ = digits;
        while (is_digit(at(at_))) ++at_;
      }
    }
  }
  Tok kind = real ? Tok::kDouble : Tok::kInt;
  if (!real && (at(at_) | 0x20) == 'u') {
    ++at_;
    kind = Tok::kUint;
  }
  if (is_letter(at(at_)) || is_digit(at(at_)))
    return fail(start, "a number runs into a name; put a space or an operator between them");
  return make(kind, start);
}

Token Lexer::text(size_t start, size_t quote_at, bool raw, bool bytes) {
  char q = source_[quote_at];
  bool triple = at(quote_at + 1) == q && at(quote_at + 2) == q;
  size_t body = quote_at + (triple ? 3 : 1);
  for (at_ = body; at_ < source_.size(); ++at_) {
    char c = source_[at_];
    if (c == '\\' && !raw) {
      ++at_;
    } else if (c == q && (!triple || (at(at_ + 1) == q && at(at_ + 2) == q))) {
      Token t{bytes ? Tok::kBytes : Tok::kString, static_cast<uint32_t>(start),
              source_.substr(body, at_ - body), raw};
      at_ += triple ? 3 : 1;
      return t;
    } else if ((c == '\n' || c == '\r') && !triple) {
      break;
    }
  }
  at_ = std::min(at_, source_.size());
  return fail(start, triple ? fmt::format("this text has no closing {0}{0}{0}", q)
                            : fmt::format("this text has no closing {} on its line", q));
}

Token Lexer::backticks() {
  size_t start = at_++;
  auto allowed = [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '/' || c == ' ';
  };
  while (at_ < source_.size() && allowed(source_[at_])) ++at_;
  if (at(at_) != '`' || at_ == start + 1)
    return fail(start, "a field in backticks holds letters, digits, '_', '.', '-', '/' and spaces");
  ++at_;
  Token t = make(Tok::kQuotedIdent, start);
  t.text = t.text.substr(1, t.text.size() - 2);
  return t;
}

Token Lexer::symbol() {
  size_t start = at_;
  auto two = [&](char second, Tok both, Tok one) {
    ++at_;
    if (at(at_) != second) return make(one, start);
    ++at_;
    return make(both, start);
  };
  auto one = [&](Tok kind) {
    ++at_;
    return make(kind, start);
  };
  char c = source_[start], d = at(start + 1);
  if (source_.substr(start).starts_with("===")) return fail(start, "'===' is not an operator; use ==");
  if (c == '<' && d == '>') return fail(start, "'<>' is not an operator; use !=");
  switch (c) {
    case '=':
      if (d == '=') return two('=', Tok::kEq, Tok::kError);
      break;
    case '&':
      if (d == '&') return two('&', Tok::kAnd, Tok::kError);
      break;
    case '|':
      if (d == '|') return two('|', Tok::kOr, Tok::kError);
      break;
    case '!': return two('=', Tok::kNe, Tok::kNot);
    case '<': return two('=', Tok::kLe, Tok::kLt);
    case '>': return two('=', Tok::kGe, Tok::kGt);
    case '+': return one(Tok::kPlus);
    case '-': return one(Tok::kMinus);
    case '*': return one(Tok::kStar);
    case '/': return one(Tok::kSlash);
    case '%': return one(Tok::kPercent);
    case '?': return one(Tok::kQuestion);
    case ':': return one(Tok::kColon);
    case '.': return one(Tok::kDot);
    case ',': return one(Tok::kComma);
    case '(': return one(Tok::kLParen);
    case ')': return one(Tok::kRParen);
    case '[': return one(Tok::kLBracket);
    case ']': return one(Tok::kRBracket);
    case '{': return one(Tok::kLBrace);
    case '}': return one(Tok::kRBrace);
    default: break;
  }
  return fail(start, hint(source_.substr(start)));
}

}  // namespace ctrlplane::cel
