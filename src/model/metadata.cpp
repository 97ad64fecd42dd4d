#include "model/metadata.h"

#include "base/check.h"
#include "model/json.h"

namespace ctrlplane {
namespace {

// Reads the string literal that starts at `at` (on its quote) and leaves `at` behind its end.
std::string read_literal(std::string_view text, size_t& at) {
  std::string out;
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] != '\\') {
      out += text[at];
      continue;
    }
    CHECK(++at < text.size(), "metadata row cut short");
    switch (text[at]) {
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u':
        CHECK(at + 4 < text.size(), "metadata row cut short");
        out += static_cast<char>(std::stoi(std::string(text.substr(at + 3, 2)), nullptr, 16));
        at += 4;
        break;
      default: out += text[at];
    }
  }
  ++at;
  return out;
}

}  // namespace

std::string Metadata::json() const {
  std::string out;
  append_json(out);
  return out;
}

void Metadata::append_json(std::string& out) const {
  out += '{';
  for (const Entry& e : entries_) {
    if (&e != &entries_.front()) out += ',';
    append_json_string(out, e.first);
    out += ':';
    append_json_string(out, e.second);
  }
  out += '}';
}

Metadata Metadata::parse_trusted(std::string_view json) {
  Metadata out;
  for (size_t at = 1; at < json.size() && json[at] == '"';) {
    std::string key = read_literal(json, at);
    ++at;  // ':'
    out.entries_.emplace_back(std::move(key), read_literal(json, at));
    ++at;  // ',' or '}'
  }
  return out;
}

}  // namespace ctrlplane
