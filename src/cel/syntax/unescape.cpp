#include "cel/syntax/lexer.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// n digits of the given base at `at`, or -1.
int64_t digits(std::string_view s, size_t at, size_t n, int base) {
  if (at + n > s.size()) return -1;
  int64_t v = 0;
  for (size_t i = at; i < at + n; ++i) {
    int d = hex_digit(s[i]);
    if (d < 0 || d >= base) return -1;
    v = v * base + d;
  }
  return v;
}

// The character a one-letter escape stands for, or 0.
char simple_escape(char c) {
  switch (c) {
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    case '\\':
    case '?':
    case '"':
    case '\'':
    case '`': return c;
    default: return 0;
  }
}

// The numeric escape whose letter is at `at`; moves past it. Returns an error text or nothing.
std::string numeric_escape(std::string_view s, size_t& at, bool bytes, std::string& out) {
  char c = s[at];
  int64_t v;
  size_t n;
  bool octet = false;
  if (c >= '0' && c <= '3') {
    n = 3, v = digits(s, at, 3, 8), octet = true;
  } else {
    n = c == 'u' ? 5 : c == 'U' ? 9 : 3;
    octet = n == 3;
    v = digits(s, at + 1, n - 1, 16);
  }
  if (v < 0) {
    if (c >= '0' && c <= '3') return "an octal escape has three digits: \\000 to \\377";
    return c == 'u'   ? "\\u takes four hex digits"
           : c == 'U' ? "\\U takes eight hex digits"
                      : "\\x takes two hex digits";
  }
  if (bytes && !octet) return "\\u and \\U are for strings; write bytes as \\x";
  at += n;
  if (bytes) {
    out += static_cast<char>(v);
    return {};
  }
  if (v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff)) return "not a Unicode code point";
  append_utf8(out, static_cast<uint32_t>(v));
  return {};
}

}  // namespace

bool unescape(std::string_view s, bool bytes, std::string& out, EscapeError& error) {
  out.reserve(s.size());
  for (size_t i = 0; i < s.size();) {
    if (s[i] != '\\') {
      out += s[i++];
      continue;
    }
    size_t start = i++;
    char c = i < s.size() ? s[i] : '\0';
    if (char simple = simple_escape(c); simple != 0) {
      out += simple;
      ++i;
      continue;
    }
    if (c == 'x' || c == 'X' || c == 'u' || c == 'U' || (c >= '0' && c <= '3')) {
      error.message = numeric_escape(s, i, bytes, out);
      if (error.message.empty()) continue;
    } else {
      error.message = "unknown escape; for a plain backslash write \\\\ or r'…'";
    }
    error.offset = start;
    return false;
  }
  return true;
}

}  // namespace ctrlplane::cel
