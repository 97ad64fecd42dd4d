#include "model/json.h"

#include <algorithm>
#include <vector>

#include <boost/json.hpp>
#include <fmt/core.h>

namespace ctrlplane {
namespace {

namespace bj = boost::json;
constexpr std::size_t kMaxDepth = 64;

void write(std::string& out, const bj::value& v) {
  if (v.is_object()) {
    std::vector<const bj::key_value_pair*> members;
    for (const auto& m : v.get_object()) members.push_back(&m);
    std::sort(members.begin(), members.end(),
              [](auto* a, auto* b) { return std::string_view(a->key()) < std::string_view(b->key()); });
    out += '{';
    for (size_t i = 0; i < members.size(); ++i) {
      if (i) out += ',';
      append_json_string(out, members[i]->key());
      out += ':';
      write(out, members[i]->value());
    }
    out += '}';
  } else if (v.is_array()) {
    out += '[';
    for (size_t i = 0; i < v.get_array().size(); ++i) {
      if (i) out += ',';
      write(out, v.get_array()[i]);
    }
    out += ']';
  } else {
    out += bj::serialize(v);
  }
}

bj::value parse_trusted(const Json& j) {
  bj::parse_options options;
  options.max_depth = kMaxDepth;
  bj::error_code ec;
  return bj::parse(j.text(), ec, {}, options);
}

void merge_into(bj::object& base, const bj::object& over) {
  for (const auto& m : over) {
    auto* mine = base.if_contains(m.key());
    if (mine && mine->is_object() && m.value().is_object())
      merge_into(mine->get_object(), m.value().get_object());
    else
      base.insert_or_assign(m.key(), m.value());
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  size_t plain = 0;  // from here on nothing had to be escaped
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        out += "\\u00";
        out += kHex[c >> 4];
        out += kHex[c & 15];
    }
  }
  out.append(text, plain);
  out += '"';
}

Result<Json> Json::parse_object(std::string_view text) {
  bj::parse_options options;
  options.max_depth = kMaxDepth;
  bj::stream_parser parser({}, options);
  bj::error_code ec;
  size_t read = parser.write_some(text.data(), text.size(), ec);
  if (!ec && read == text.size()) parser.finish(ec);
  if (ec || read != text.size())
    return fail(ErrorCode::kInvalid,
                fmt::format("not JSON at byte {}: {}", read, ec ? ec.message() : "text after the document"));
  bj::value v = parser.release();
  if (!v.is_object()) return fail(ErrorCode::kInvalid, "must be a JSON object");
  std::string out;
  write(out, v);
  return trusted(std::move(out));
}

std::optional<std::string> text_member(const Json& object, std::string_view name) {
  boost::json::error_code error;
  const boost::json::value v = boost::json::parse(object.text(), error);
  const boost::json::value* member = error || !v.is_object() ? nullptr : v.get_object().if_contains(name);
  if (!member || !member->is_string()) return std::nullopt;
  return std::string(std::string_view(member->get_string()));
}

Json merge(const Json& base, const Json& over) {
  if (over.text() == "{}") return base;
  if (base.text() == "{}") return over;
  bj::value merged = parse_trusted(base);
  bj::value top = parse_trusted(over);
  if (!merged.is_object() || !top.is_object()) return over;
  merge_into(merged.get_object(), top.get_object());
  std::string out;
  write(out, merged);
  return Json::trusted(std::move(out));
}

}  // namespace ctrlplane
