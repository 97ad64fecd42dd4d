#include "cli/json_text.h"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

std::string number_text(double d) {
  std::string text = fmt::format("{}", d);
  // A double stays one when it is read again.
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string scalar_text(const bj::value& v) {
  return v.is_double() ? number_text(v.get_double()) : bj::serialize(v);
}

class Writer {
 public:
  explicit Writer(bool on_lines) : on_lines_(on_lines) {}

  void write(const bj::value& v) {
    if (v.is_object() && !v.get_object().empty()) {
      bracket('{', '}', v.get_object(), [this](const bj::key_value_pair& m) {
        out_ += bj::serialize(bj::value(m.key()));
        out_ += on_lines_ ? ": " : ":";
        write(m.value());
      });
    } else if (v.is_array() && !v.get_array().empty()) {
      bracket('[', ']', v.get_array(), [this](const bj::value& item) { write(item); });
    } else {
      out_ += scalar_text(v);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void bracket(char open, char close, const auto& items, const auto& write_item) {
    out_ += open;
    ++depth_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += ',';
      first = false;
      new_line();
      write_item(item);
    }
    --depth_;
    new_line();
    out_ += close;
  }
  void new_line() {
    if (on_lines_) out_.append("\n").append(depth_ * 2, ' ');
  }

  bool on_lines_;
  size_t depth_ = 0;
  std::string out_;
};

void emit_text(YAML::Emitter& out, std::string_view text) {
  // Line breaks are escaped, so that the text is the same when it is read again, whatever stands around it.
  if (reads_as_other_type(text) || printable(text) != text) out << YAML::DoubleQuoted;
  out << std::string(text);
}

void emit(YAML::Emitter& out, const bj::value& v) {
  if (v.is_object()) {
    if (v.get_object().empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& m : v.get_object()) {
      out << YAML::Key;
      emit_text(out, m.key());
      out << YAML::Value;
      emit(out, m.value());
    }
    out << YAML::EndMap;
  } else if (v.is_array()) {
    if (v.get_array().empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const auto& item : v.get_array()) emit(out, item);
    out << YAML::EndSeq;
  } else if (v.is_string()) {
    emit_text(out, v.get_string());
  } else if (v.is_null()) {
    out << YAML::Null;
  } else {
    out << scalar_text(v);
  }
}

bool same_number(const bj::value& a, const bj::value& b) {
  if (a.is_double() || b.is_double()) {
    auto real = [](const bj::value& v) {
      return v.is_double()  ? v.get_double()
             : v.is_int64() ? static_cast<double>(v.get_int64())
                            : static_cast<double>(v.get_uint64());
    };
    return real(a) == real(b);
  }
  return a == b;
}

}  // namespace

std::string pretty_json(const bj::value& value) {
  Writer writer(true);
  writer.write(value);
  return writer.take() + "\n";
}

std::string compact_json(const bj::value& value) {
  Writer writer(false);
  writer.write(value);
  return writer.take();
}

std::string yaml_text(const bj::value& value) {
  YAML::Emitter out;
  emit(out, value);
  return std::string(out.c_str()) + "\n";
}

bool reads_as_other_type(std::string_view text) {
  static constexpr std::string_view kWords[] = {"",  "~", "null", "true",  "false", "yes",  "no", "on", "off",
                                                "y", "n", ".inf", "-.inf", "+.inf", ".nan", "<<", "="};
  if (std::ranges::find(kWords, lower(text)) != std::end(kWords)) return true;
  // Numbers of all bases, dates and sexagesimal times begin so and have nothing else in them.
  char first = text.front();
  bool numeric = (first >= '0' && first <= '9') || first == '-' || first == '+' || first == '.';
  return numeric && text.find_first_not_of("0123456789abcdefABCDEFxXoO_.:+-TtZz ") == std::string_view::npos;
}

const bj::value* member_at(const bj::value& value, std::string_view path) {
  const bj::value* at = &value;
  while (!path.empty()) {
    size_t dot = std::min(path.find('.'), path.size());
    if (!at->is_object()) return nullptr;
    at = at->get_object().if_contains(path.substr(0, dot));
    if (!at) return nullptr;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

std::string text_at(const bj::value& value, std::string_view path) {
  const bj::value* v = member_at(value, path);
  if (!v || v->is_null()) return {};
  return v->is_string() ? std::string(v->get_string()) : compact_json(*v);
}

int64_t number_at(const bj::value& value, std::string_view path) {
  const bj::value* n = member_at(value, path);
  return n && n->is_int64() ? n->get_int64() : 0;
}

const bj::array& list_at(const bj::value& value, std::string_view path) {
  static const bj::array kNone;
  const bj::value* list = member_at(value, path);
  return list && list->is_array() ? list->get_array() : kNone;
}

bool same_json(const bj::value& a, const bj::value& b) {
  if (a.is_number() && b.is_number()) return same_number(a, b);
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) return std::ranges::equal(a.get_array(), b.get_array(), same_json);
  if (!a.is_object()) return a == b;
  const bj::object &x = a.get_object(), &y = b.get_object();
  return x.size() == y.size() && std::ranges::all_of(x, [&](const bj::key_value_pair& m) {
           const bj::value* other = y.if_contains(m.key());
           return other && same_json(m.value(), *other);
         });
}

}  // namespace ctrlplane::cli
