#include "state/json_view.h"

#include <charconv>
#include <new>
#include <string>

namespace ctrlplane {
namespace {

using cel::Arena;
using cel::Value;

// The position behind the value that starts at `at`. Canonical text has no blanks.
size_t skip(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
      continue;
    } else if (c == ',' && depth == 0) {
      return at;
    }
    if (depth == 0 && (c == '"' || c == '}' || c == ']')) return at + 1;
  }
  return at;
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

unsigned hex4(std::string_view text, size_t at) {
  unsigned code = 0;
  if (at + 4 <= text.size()) std::from_chars(text.data() + at, text.data() + at + 4, code, 16);
  return code;
}

// The text between the quotes of a literal; into the arena only if it has escapes.
std::string_view literal(std::string_view quoted, Arena& arena) {
  std::string_view raw = quoted.substr(1, quoted.size() - 2);
  if (raw.find('\\') == std::string_view::npos) return raw;
  std::string out;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 >= raw.size()) {
      out += raw[i];
      continue;
    }
    switch (raw[++i]) {
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'u': {
        unsigned code = hex4(raw, i + 1);
        i += 4;
        if (code >= 0xd800 && code < 0xdc00 && raw.substr(i + 1, 2) == "\\u") {
          code = 0x10000 + ((code - 0xd800) << 10) + (hex4(raw, i + 3) - 0xdc00);
          i += 6;
        }
        append_utf8(out, code);
        break;
      }
      default: out += raw[i];
    }
  }
  return arena.copy(out);
}

// Calls fn(key literal, value text) for each member until it returns false.
template <class Fn>
void each_member(std::string_view object, Fn&& fn) {
  for (size_t at = 1; at < object.size() && object[at] == '"';) {
    size_t colon = skip(object, at);
    size_t end = skip(object, colon + 1);
    if (!fn(object.substr(at, colon - at), object.substr(colon + 1, end - colon - 1))) return;
    at = end + 1;
  }
}

class JsonObject final : public cel::Object {
 public:
  explicit JsonObject(std::string_view text) : text_(text) {}
  Value field(const cel::Name& name, Arena& arena) const override {
    Value found;
    each_member(text_, [&](std::string_view key, std::string_view value) {
      if (literal(key, arena) != name.text) return true;
      found = json_view(value, arena);
      return false;
    });
    return found;
  }
  size_t size() const override {
    size_t n = 0;
    each_member(text_, [&](auto, auto) { return ++n, true; });
    return n;
  }
  void keys(std::span<std::string_view> out) const override {
    size_t n = 0;
    each_member(text_,
                [&](std::string_view key, auto) { return out[n++] = key.substr(1, key.size() - 2), true; });
  }

 private:
  std::string_view text_;
};

class JsonArray final : public cel::Sequence {
 public:
  explicit JsonArray(std::string_view text) : text_(text) {}
  size_t size() const override {
    size_t n = 0;
    for (size_t at = 1; at < text_.size() && text_[at] != ']'; ++n) at = behind(at);
    return n;
  }
  Value at(size_t i, Arena& arena) const override {
    size_t at = 1;
    while (i-- > 0) at = behind(at);
    return json_view(text_.substr(at, skip(text_, at) - at), arena);
  }

 private:
  size_t behind(size_t at) const {
    at = skip(text_, at);
    return at < text_.size() && text_[at] == ',' ? at + 1 : at;
  }
  std::string_view text_;
};

Value number(std::string_view text) {
  int64_t i = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), i);
  if (error == std::errc() && end == text.data() + text.size()) return Value::integer(i);
  double d = 0;
  std::from_chars(text.data(), text.data() + text.size(), d);
  return Value::real(d);
}

}  // namespace

Value json_view(std::string_view text, Arena& arena) {
  if (text.empty()) return Value::null();
  switch (text[0]) {
    case '{': {
      void* place = arena.allocate(sizeof(JsonObject));
      return place ? Value::map(*new (place) JsonObject(text)) : Value::null();
    }
    case '[': {
      void* place = arena.allocate(sizeof(JsonArray));
      return place ? Value::list(*new (place) JsonArray(text)) : Value::null();
    }
    case '"': return Value::string(literal(text, arena));
    case 't': return Value::boolean(true);
    case 'f': return Value::boolean(false);
    case 'n': return Value::null();
    default: return number(text);
  }
}

}  // namespace ctrlplane
