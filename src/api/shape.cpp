#include "api/shape.h"

#include <cctype>
#include <charconv>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/check.h"
#include "base/time.h"
#include "base/uuid.h"

namespace ctrlplane::api {
namespace {

using Kind = Shape::Kind;

// ---- Reading the notation ------------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }

  std::string word() {
    skip_blanks();
    size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    CHECK(at_ > from, "shape: a name is missing");
    return std::string(text_.substr(from, at_ - from));
  }

  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) { CHECK(take(c), "shape: a bracket or sign is missing"); }

  // alternatives of intersections
  ShapePtr type() {
    ShapePtr first = intersection();
    if (!take('|')) return first;
    auto either = std::make_shared<Shape>(Shape{.kind = Kind::kEither, .parts = {first}});
    do either->parts.push_back(intersection());
    while (take('|'));
    return either;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        break;
      }
    }
  }

  ShapePtr intersection() {
    ShapePtr first = primary();
    if (!take('&')) return first;
    auto all = std::make_shared<Shape>(Shape{.kind = Kind::kAll, .parts = {first}});
    do all->parts.push_back(primary());
    while (take('&'));
    return all;
  }

  ShapePtr primary() {
    if (take('{')) return record();
    if (take('[')) {
      auto array = std::make_shared<Shape>(Shape{.kind = Kind::kArray, .parts = {type()}});
      need(']');
      return array;
    }
    if (take('"')) {
      size_t end = text_.find('"', at_);
      CHECK(end != std::string_view::npos, "shape: a word does not end");
      auto literal = std::make_shared<Shape>(
          Shape{.kind = Kind::kWord, .text = std::string(text_.substr(at_, end - at_))});
      at_ = end + 1;
      return literal;
    }
    return named();
  }

  ShapePtr record() {
    auto shape = std::make_shared<Shape>(Shape{.kind = Kind::kRecord});
    while (!take('}')) {
      RecordMember m{.name = word(), .shape = nullptr, .required = !take('?')};
      need(':');
      m.shape = type();
      shape->members.push_back(std::move(m));
      if (!take(',')) {
        need('}');
        break;
      }
    }
    return shape;
  }

  ShapePtr named() {
    static const std::map<std::string, Kind, std::less<>> kinds = {
        {"string", Kind::kString},   {"uuid", Kind::kUuid},     {"datetime", Kind::kDatetime},
        {"integer", Kind::kInteger}, {"number", Kind::kNumber}, {"boolean", Kind::kBoolean},
        {"object", Kind::kObject},   {"any", Kind::kAny},       {"null", Kind::kNull},
        {"map", Kind::kMap},
    };
    std::string name = word();
    auto known = kinds.find(name);
    auto shape = std::make_shared<Shape>();
    if (known == kinds.end()) {
      shape->kind = Kind::kName;
      shape->text = name;
      return shape;
    }
    shape->kind = known->second;
    if (shape->kind == Kind::kMap) {
      need('<');
      shape->parts.push_back(type());
      need('>');
    } else if (take('(')) {
      limits(*shape);
    }
    return shape;
  }

  void limits(Shape& shape) {
    if (take('~')) {  // a pattern, up to the bracket that ends the line's type
      size_t end = text_.find(')', at_);
      CHECK(end != std::string_view::npos, "shape: a pattern does not end");
      shape.text = text_.substr(at_, end - at_);
      at_ = end + 1;
      return;
    }
    shape.least = number();
    need('.');
    need('.');
    shape.most = number();
    need(')');
  }

  std::optional<double> number() {
    skip_blanks();
    double n = 0;
    auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), n, std::chars_format::fixed);
    if (error != std::errc()) return std::nullopt;
    // "1..5" must not be read as "1." and ".5"
    size_t length = static_cast<size_t>(end - (text_.data() + at_));
    if (length > 0 && text_[at_ + length - 1] == '.') --length;
    at_ += length;
    return n;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// ---- Checking ------------------------------------------------------------------------------------------

constexpr size_t kMaxComplaints = 10;

std::string_view article(const boost::json::value& v) {
  switch (v.kind()) {
    case boost::json::kind::null: return "null";
    case boost::json::kind::bool_: return "a boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64: return "an integer";
    case boost::json::kind::double_: return "a number";
    case boost::json::kind::string: return "a string";
    case boost::json::kind::array: return "an array";
    case boost::json::kind::object: return "an object";
  }
  return "something else";
}

size_t characters(std::string_view utf8) {
  size_t n = 0;
  for (char c : utf8) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

// [set]+ only: all that the shapes use.
bool fits_pattern(std::string_view set, std::string_view text) {
  for (char c : text) {
    bool in = false;
    for (size_t i = 0; i < set.size(); ++i) {
      if (i + 2 < set.size() && set[i + 1] == '-') {
        in |= c >= set[i] && c <= set[i + 2];
        i += 2;
      } else {
        in |= c == set[i];
      }
    }
    if (!in) return false;
  }
  return !text.empty();
}

class Checker {
 public:
  Checker(const std::map<std::string, ShapePtr, std::less<>>& named, std::vector<ErrorDetail>& out)
      : named_(named), out_(out) {}

  void check(const Shape& s, const boost::json::value& v, const std::string& path) {
    if (out_.size() >= kMaxComplaints) return;
    switch (s.kind) {
      case Kind::kAny: return;
      case Kind::kNull: return expect(v.is_null(), path, "null", v);
      case Kind::kBoolean: return expect(v.is_bool(), path, "a boolean", v);
      case Kind::kObject: return expect(v.is_object(), path, "an object", v);
      case Kind::kInteger: return integer(s, v, path);
      case Kind::kNumber:
        expect(v.is_number(), path, "a number", v);
        if (v.is_number()) range(s, v.to_number<double>(), path);
        return;
      case Kind::kString: return string(s, v, path);
      case Kind::kUuid: return expect(v.is_string() && Uuid::parse(v.get_string()), path, "a UUID", v);
      case Kind::kDatetime:
        return expect(v.is_string() && parse_rfc3339(v.get_string()), path, "an RFC 3339 instant", v);
      case Kind::kWord: return expect(v.is_string() && v.get_string() == s.text, path, quoted(s), v);
      case Kind::kArray: return array(s, v, path);
      case Kind::kMap: return map(s, v, path);
      case Kind::kRecord: return record(s, v, path);
      case Kind::kName: return check(*named_.at(s.text), v, path);
      case Kind::kAll:
        for (const ShapePtr& part : s.parts) check(*part, v, path);
        return;
      case Kind::kEither: return either(s, v, path);
    }
  }

 private:
  static std::string quoted(const Shape& s) { return '"' + s.text + '"'; }

  void complain(const std::string& path, std::string message) {
    out_.push_back({path.empty() ? "body" : path, std::move(message)});
  }
  void expect(bool fits, const std::string& path, std::string_view what, const boost::json::value& v) {
    if (fits) return;
    if (v.is_string())
      complain(path,
               fmt::format("must be {}, not \"{}\"", what, std::string_view(v.get_string()).substr(0, 60)));
    else
      complain(path, fmt::format("must be {}, not {}", what, article(v)));
  }

  void range(const Shape& s, double n, const std::string& path) {
    if (s.least && n < *s.least) complain(path, fmt::format("must be at least {}", *s.least));
    if (s.most && n > *s.most) complain(path, fmt::format("must be at most {}", *s.most));
  }
  void integer(const Shape& s, const boost::json::value& v, const std::string& path) {
    if (!v.is_int64()) return expect(false, path, "an integer", v);
    range(s, static_cast<double>(v.get_int64()), path);
  }
  void string(const Shape& s, const boost::json::value& v, const std::string& path) {
    if (!v.is_string()) return expect(false, path, "a string", v);
    std::string_view text = v.get_string();
    size_t n = characters(text);
    if (s.least && static_cast<double>(n) < *s.least)
      complain(path, *s.least == 1 ? "must not be empty"
                                   : fmt::format("must have at least {} characters", *s.least));
    if (s.most && static_cast<double>(n) > *s.most)
      complain(path, fmt::format("must have at most {} characters", *s.most));
    if (!s.text.empty() && !fits_pattern(s.text, text))
      complain(path, fmt::format("may consist of {} only", s.text));
  }
  void array(const Shape& s, const boost::json::value& v, const std::string& path) {
    if (!v.is_array()) return expect(false, path, "an array", v);
    size_t i = 0;
    for (const auto& item : v.get_array()) check(*s.parts[0], item, fmt::format("{}[{}]", path, i++));
  }
  void map(const Shape& s, const boost::json::value& v, const std::string& path) {
    if (!v.is_object()) return expect(false, path, "an object", v);
    for (const auto& [key, value] : v.get_object()) check(*s.parts[0], value, join(path, key));
  }
  void record(const Shape& s, const boost::json::value& v, const std::string& path) {
    if (!v.is_object()) return expect(false, path, "an object", v);
    for (const RecordMember& m : s.members) {
      const boost::json::value* member = v.get_object().if_contains(m.name);
      if (m.required && !member) complain(join(path, m.name), "is required");
      if (!member || (!m.required && member->is_null())) continue;
      check(*m.shape, *member, join(path, m.name));
    }
  }
  void either(const Shape& s, const boost::json::value& v, const std::string& path) {
    std::string choices;
    for (const ShapePtr& part : s.parts) {
      std::vector<ErrorDetail> complaints;
      Checker(named_, complaints).check(*part, v, path);
      if (complaints.empty()) return;
      if (part->kind == Kind::kWord) choices += (choices.empty() ? "" : ", ") + part->text;
    }
    if (choices.empty()) {  // the first one is what people mean
      check(*s.parts[0], v, path);
    } else {
      expect(false, path, "one of " + choices, v);
    }
  }
  static std::string join(const std::string& path, std::string_view member) {
    return path.empty() ? std::string(member) : fmt::format("{}.{}", path, member);
  }

  const std::map<std::string, ShapePtr, std::less<>>& named_;
  std::vector<ErrorDetail>& out_;
};

// ---- JSON Schema ---------------------------------------------------------------------------------------

boost::json::value bound(double n) {
  if (n == static_cast<double>(static_cast<int64_t>(n))) return static_cast<int64_t>(n);
  return n;
}

boost::json::object schema_of(const Shape& s);

boost::json::object limited(std::string_view type, const Shape& s, std::string_view low,
                            std::string_view high) {
  boost::json::object o{{"type", type}};
  if (s.least) o[low] = bound(*s.least);
  if (s.most) o[high] = bound(*s.most);
  return o;
}

boost::json::object record_schema(const Shape& s) {
  boost::json::object properties;
  boost::json::array required;
  for (const RecordMember& m : s.members) {
    boost::json::object member = schema_of(*m.shape);
    if (!m.required) member = {{"anyOf", boost::json::array{member, {{"type", "null"}}}}};
    properties[m.name] = member;
    if (m.required) required.push_back(boost::json::string(m.name));
  }
  boost::json::object o{{"type", "object"}, {"properties", properties}};
  if (!required.empty()) o["required"] = required;
  return o;
}

boost::json::object either_schema(const Shape& s) {
  boost::json::array words, others;
  for (const ShapePtr& part : s.parts) {
    if (part->kind == Kind::kWord)
      words.push_back(boost::json::string(part->text));
    else
      others.push_back(schema_of(*part));
  }
  if (others.empty()) return {{"type", "string"}, {"enum", words}};
  if (!words.empty()) others.push_back({{"type", "string"}, {"enum", words}});
  return {{"anyOf", others}};
}

boost::json::object schema_of(const Shape& s) {
  switch (s.kind) {
    case Kind::kAny: return {};
    case Kind::kNull: return {{"type", "null"}};
    case Kind::kBoolean: return {{"type", "boolean"}};
    case Kind::kObject: return {{"type", "object"}, {"additionalProperties", true}};
    case Kind::kInteger: return limited("integer", s, "minimum", "maximum");
    case Kind::kNumber: return limited("number", s, "minimum", "maximum");
    case Kind::kString: {
      boost::json::object o = limited("string", s, "minLength", "maxLength");
      if (!s.text.empty()) o["pattern"] = "^[" + s.text + "]+$";
      return o;
    }
    case Kind::kUuid: return {{"type", "string"}, {"format", "uuid"}};
    case Kind::kDatetime: return {{"type", "string"}, {"format", "date-time"}};
    case Kind::kWord: return {{"type", "string"}, {"enum", {boost::json::string(s.text)}}};
    case Kind::kArray: return {{"type", "array"}, {"items", schema_of(*s.parts[0])}};
    case Kind::kMap: return {{"type", "object"}, {"additionalProperties", schema_of(*s.parts[0])}};
    case Kind::kRecord: return record_schema(s);
    case Kind::kName: return {{"$ref", "#/components/schemas/" + s.text}};
    case Kind::kAll: {
      boost::json::array parts;
      for (const ShapePtr& part : s.parts) parts.push_back(schema_of(*part));
      return {{"allOf", parts}};
    }
    case Kind::kEither: return either_schema(s);
  }
  return {};
}

void check_names(const Shape& s, const std::map<std::string, ShapePtr, std::less<>>& named) {
  if (s.kind == Kind::kName) CHECK(named.contains(s.text), "shape: a name is not defined");
  for (const RecordMember& m : s.members) check_names(*m.shape, named);
  for (const ShapePtr& part : s.parts) check_names(*part, named);
}

}  // namespace

Shapes::Shapes(std::string_view text) {
  Reader reader(text);
  while (!reader.at_end()) {
    std::string name = reader.word();
    reader.need('=');
    bool added = named_.emplace(name, reader.type()).second;
    CHECK(added, "shape: a name is defined twice");
  }
  for (const auto& [name, shape] : named_) check_names(*shape, named_);
}

const Shape* Shapes::find(std::string_view name) const {
  auto it = named_.find(name);
  return it == named_.end() ? nullptr : it->second.get();
}

ShapePtr Shapes::type(std::string_view text) const {
  Reader reader(text);
  ShapePtr shape = reader.type();
  CHECK(reader.at_end(), "shape: something follows a type");
  check_names(*shape, named_);
  return shape;
}

std::vector<ErrorDetail> Shapes::check(const Shape& shape, const boost::json::value& value) const {
  std::vector<ErrorDetail> complaints;
  Checker(named_, complaints).check(shape, value, "");
  return complaints;
}

boost::json::object Shapes::schema(const Shape& shape) const { return schema_of(shape); }

boost::json::object Shapes::schemas() const {
  boost::json::object all;
  for (const auto& [name, shape] : named_) all[name] = schema_of(*shape);
  return all;
}

}  // namespace ctrlplane::api
