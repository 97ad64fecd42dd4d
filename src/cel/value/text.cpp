#include "cel/value/text.h"

#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "cel/value/map.h"
#include "cel/value/time_text.h"

namespace ctrlplane::cel {
namespace {

void append_literal(std::string& out, const Value& v, size_t max_bytes, int depth);

void append_list(std::string& out, const Value& v, size_t max_bytes, int depth) {
  Arena scratch;
  out += '[';
  for (size_t i = 0, n = list_size(v); i < n && out.size() <= max_bytes; ++i) {
    if (i != 0) out += ", ";
    append_literal(out, list_at(scratch, v, i), max_bytes, depth + 1);
  }
  out += ']';
}

void append_map(std::string& out, const Value& v, size_t max_bytes, int depth) {
  Arena scratch;
  out += '{';
  MapWalk walk(scratch, v);
  for (size_t i = 0; i < walk.size() && out.size() <= max_bytes; ++i) {
    if (i != 0) out += ", ";
    append_literal(out, walk.key(i), max_bytes, depth + 1);
    out += ": ";
    append_literal(out, walk.value(i), max_bytes, depth + 1);
  }
  out += '}';
}

std::string double_literal(double d) {
  if (!std::isfinite(d)) return "double(\"" + double_text(d) + "\")";
  std::string text = double_text(d);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void append_literal(std::string& out, const Value& v, size_t max_bytes, int depth) {
  if (out.size() > max_bytes || depth > 100) {
    out += "…";
    return;
  }
  switch (v.kind()) {
    case Kind::kAbsent: out += "<absent>"; break;
    case Kind::kError: out.append("<error: ").append(v.message()).append(">"); break;
    case Kind::kNull: out += "null"; break;
    case Kind::kBool: out += v.as_bool() ? "true" : "false"; break;
    case Kind::kInt: out += fmt::format("{}", v.as_int()); break;
    case Kind::kUint: out += fmt::format("{}u", v.as_uint()); break;
    case Kind::kDouble: out += double_literal(v.as_double()); break;
    case Kind::kString:
      out +=
          v.as_text().size() > max_bytes ? quote(v.as_text().substr(0, max_bytes)) + "…" : quote(v.as_text());
      break;
    case Kind::kBytes: out += quote_bytes(v.as_text()); break;
    case Kind::kList: append_list(out, v, max_bytes, depth); break;
    case Kind::kMap: append_map(out, v, max_bytes, depth); break;
    case Kind::kTimestamp: out += "timestamp(\"" + timestamp_text(v) + "\")"; break;
    case Kind::kDuration: out += "duration(\"" + duration_text(v.duration_nanos()) + "\")"; break;
    case Kind::kType: out += v.as_text(); break;
    case Kind::kOptional:
      if (!v.has_value()) {
        out += "optional.none()";
        break;
      }
      out += "optional.of(";
      append_literal(out, v.inner(), max_bytes, depth + 1);
      out += ")";
      break;
    case Kind::kOpaque: out += v.as_opaque().text(); break;
  }
}

}  // namespace

std::string literal_text(const Value& v, size_t max_bytes) {
  std::string out;
  append_literal(out, v, max_bytes, 0);
  return out;
}

std::string quote(std::string_view text, char quote) {
  std::string out(1, quote);
  for (char c : text) {
    switch (c) {
      case '\a': out += "\\a"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\v': out += "\\v"; break;
      case '\\': out += "\\\\"; break;
      default:
        if (c == quote) {
          out += '\\';
          out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          out += c;
        }
    }
  }
  return out + quote;
}

std::string quote_bytes(std::string_view bytes) {
  std::string out = "b\"";
  for (char c : bytes) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return out + "\"";
}

std::string double_text(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d > 0 ? "Infinity" : "-Infinity";
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, d).ptr;
  return {buffer, end};
}

bool is_valid_utf8(std::string_view s) {
  size_t i = 0;
  while (i < s.size()) {
    auto byte = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
    unsigned c = byte(i);
    if (c < 0x80) {
      ++i;
      continue;
    }
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || i + n > s.size()) return false;
    for (size_t k = 1; k < n; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    unsigned second = byte(i + 1);
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) || (c == 0xf0 && second < 0x90) ||
        (c == 0xf4 && second > 0x8f))
      return false;
    i += n;
  }
  return true;
}

size_t count_code_points(std::string_view text) {
  size_t n = 0;
  for (char c : text) n += (c & 0xc0) != 0x80;
  return n;
}

void append_utf8(std::string& out, uint32_t c) {
  auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  }
}

uint32_t next_code_point(std::string_view s, size_t& at) {
  auto byte = [&](size_t k) { return static_cast<uint32_t>(static_cast<unsigned char>(s[k])); };
  uint32_t c = byte(at);
  size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 0;
  if (n == 0 || at + n > s.size()) {
    ++at;
    return 0xfffd;
  }
  uint32_t v = n == 1 ? c : c & (0xffu >> (n + 1));
  for (size_t k = 1; k < n; ++k) v = v << 6 | (byte(at + k) & 0x3f);
  at += n;
  return v;
}

size_t code_point_offset(std::string_view text, uint64_t n) {
  size_t at = 0;
  while (at < text.size()) {
    if (n == 0) return at;
    next_code_point(text, at);
    --n;
  }
  return n == 0 ? at : std::string_view::npos;
}

}  // namespace ctrlplane::cel
