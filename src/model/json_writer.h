// JSON text written front to back. Commas come by themselves; the caller keeps brackets in pairs.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "base/uuid.h"
#include "model/json.h"
#include "model/metadata.h"

namespace ctrlplane {

class JsonWriter {
 public:
  JsonWriter() { out_.reserve(kUsual); }

  JsonWriter& open() { return begin('{'); }
  JsonWriter& close() { return end('}'); }
  JsonWriter& open_array() { return begin('['); }
  JsonWriter& close_array() { return end(']'); }

  // The name of a member; its value must follow.
  JsonWriter& key(std::string_view name) {
    comma();
    append_json_string(out_, name);
    out_ += ':';
    return *this;
  }

  JsonWriter& value(std::string_view text) {
    comma();
    append_json_string(out_, text);
    return *this;
  }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool b) { return raw(b ? "true" : "false"); }
  template <std::integral N>
  JsonWriter& value(N n) {
    char digits[24];
    auto [last, error] = std::to_chars(digits, digits + sizeof digits, n);
    return raw({digits, static_cast<size_t>(last - digits)});
  }
  JsonWriter& value(Time t) { return quoted(format_rfc3339(t)); }
  JsonWriter& value(const Uuid& id) { return quoted(id.str()); }
  template <class Tag>
  JsonWriter& value(const Id<Tag>& id) {
    return value(id.uuid);
  }
  JsonWriter& value(const Json& document) { return raw(document.text()); }
  JsonWriter& value(const Metadata& metadata) {
    comma();
    metadata.append_json(out_);
    return *this;
  }

  // Text that is JSON already.
  JsonWriter& raw(std::string_view json) {
    comma();
    out_ += json;
    return *this;
  }

  template <class T>
  JsonWriter& member(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  // Left out when there is nothing to say.
  template <class T>
  JsonWriter& member(std::string_view name, const std::optional<T>& v) {
    return v ? member(name, *v) : *this;
  }
  JsonWriter& member_unless_empty(std::string_view name, std::string_view text) {
    return text.empty() ? *this : member(name, text);
  }

  const std::string& text() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  JsonWriter& begin(char bracket) {
    comma();
    out_ += bracket;
    return *this;
  }
  JsonWriter& end(char bracket) {
    out_ += bracket;
    return *this;
  }
  // Known to need no escapes.
  JsonWriter& quoted(std::string_view text) {
    comma();
    out_ += '"';
    out_ += text;
    out_ += '"';
    return *this;
  }
  void comma() {
    if (!out_.empty() && out_.back() != '{' && out_.back() != '[' && out_.back() != ':') out_ += ',';
  }

  static constexpr size_t kUsual = 500;  // bytes: what most answers need
  std::string out_;
};

}  // namespace ctrlplane
