#include <algorithm>

#include <fmt/core.h>

#include "cel/lib/args.h"
#include "cel/lib/library.h"
#include "cel/lib/sort.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {
namespace {

constexpr size_t kNpos = std::string_view::npos;

Value index_error(Context& ctx, int64_t index) {
  return ctx.fault(Fault::kIndex, fmt::format("index out of range: {}", index));
}

// Byte offset of a code point's index; npos when it lies outside [0, size].
size_t offset_of(std::string_view s, int64_t index) {
  return index < 0 ? kNpos : code_point_offset(s, static_cast<uint64_t>(index));
}

// A piece of a value's text: borrows what the value borrows.
Value piece(std::string_view s) { return Value::string(s); }

enum class Test { kContains, kStartsWith, kEndsWith };
template <Test kTest>
Value test(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString, Kind::kString})) return ctx.no_overload("string test", args);
  std::string_view s = args[0].as_text(), t = args[1].as_text();
  if constexpr (kTest == Test::kStartsWith) return Value::boolean(s.starts_with(t));
  if constexpr (kTest == Test::kEndsWith) return Value::boolean(s.ends_with(t));
  // The search may compare the needle again at every place.
  if (!ctx.charge(1 + s.size() / 32 * (1 + t.size() / 32))) return ctx.out_of_steps();
  return Value::boolean(s.find(t) != kNpos);
}

Value char_at(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString, Kind::kInt})) return ctx.no_overload("charAt", args);
  std::string_view s = args[0].as_text();
  if (!ctx.charge_bytes(s.size())) return ctx.out_of_steps();
  size_t at = offset_of(s, args[1].as_int());
  if (at == kNpos) return index_error(ctx, args[1].as_int());
  if (at == s.size()) return piece("");
  size_t end = at;
  next_code_point(s, end);
  return piece(s.substr(at, end - at));
}

bool search_args(std::span<const Value> args) {
  return kinds_are(args, {Kind::kString, Kind::kString}) ||
         kinds_are(args, {Kind::kString, Kind::kString, Kind::kInt});
}

bool charge_search(Context& ctx, std::string_view s, std::string_view t) {
  return ctx.charge(1 + s.size() / 32 * (1 + t.size() / 32));
}

Value index_of(Context& ctx, std::span<const Value> args) {
  if (!search_args(args)) return ctx.no_overload("indexOf", args);
  std::string_view s = args[0].as_text(), t = args[1].as_text();
  if (!charge_search(ctx, s, t)) return ctx.out_of_steps();
  size_t from = args.size() == 3 ? offset_of(s, args[2].as_int()) : 0;
  if (from == kNpos) return index_error(ctx, args[2].as_int());
  size_t at = s.find(t, from);
  if (at == kNpos) return Value::integer(-1);
  return Value::integer(static_cast<int64_t>(count_code_points(s.substr(0, at))));
}

Value last_index_of(Context& ctx, std::span<const Value> args) {
  if (!search_args(args)) return ctx.no_overload("lastIndexOf", args);
  std::string_view s = args[0].as_text(), t = args[1].as_text();
  if (!charge_search(ctx, s, t)) return ctx.out_of_steps();
  size_t from = args.size() == 3 ? offset_of(s, args[2].as_int()) : s.size();
  if (from == kNpos) return index_error(ctx, args[2].as_int());
  size_t at = s.rfind(t, from);
  if (at == kNpos) return Value::integer(-1);
  return Value::integer(static_cast<int64_t>(count_code_points(s.substr(0, at))));
}

template <bool kLower>
Value change_case(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload(kLower ? "lowerAscii" : "upperAscii", args);
  std::string_view s = args[0].as_text();
  if (!ctx.charge_bytes(s.size())) return ctx.out_of_steps();
  char* p = ctx.arena.allocate_array<char>(s.size());
  if (p == nullptr) return ctx.out_of_memory();
  for (size_t i = 0; i < s.size(); ++i) {
    char c = s[i];
    bool change = kLower ? c >= 'A' && c <= 'Z' : c >= 'a' && c <= 'z';
    p[i] = change ? static_cast<char>(c ^ 0x20) : c;
  }
  return Value::string({p, s.size()});
}

// An empty `old` stands before every code point and at the end.
Value replace(Context& ctx, std::span<const Value> args) {
  constexpr Kind s_ = Kind::kString;
  if (!kinds_are(args, {s_, s_, s_}) && !kinds_are(args, {s_, s_, s_, Kind::kInt}))
    return ctx.no_overload("replace", args);
  std::string_view s = args[0].as_text(), from = args[1].as_text(), to = args[2].as_text();
  int64_t limit = args.size() == 4 ? args[3].as_int() : -1;
  if (limit == 0) return args[0];
  if (!charge_search(ctx, s, from)) return ctx.out_of_steps();
  std::string out;
  size_t at = 0;
  for (int64_t done = 0; limit < 0 || done < limit; ++done) {
    size_t found = s.find(from, at);
    if (from.empty() && done > 0) {
      if (at >= s.size()) break;
      size_t next = at;
      next_code_point(s, next);
      out.append(s.substr(at, next - at));
      at = found = next;
    }
    if (found == kNpos) break;
    if (!ctx.charge_bytes(to.size() + (found - at))) return ctx.out_of_steps();
    out.append(s.substr(at, found - at)).append(to);
    at = found + from.size();
    if (out.size() > Arena::kDefaultMaxBytes) return ctx.out_of_memory();
  }
  out.append(s.substr(std::min(at, s.size())));
  return ctx.make_string(out);
}

Value split(Context& ctx, std::span<const Value> args) {
  constexpr Kind s_ = Kind::kString;
  if (!kinds_are(args, {s_, s_}) && !kinds_are(args, {s_, s_, Kind::kInt}))
    return ctx.no_overload("split", args);
  std::string_view s = args[0].as_text(), separator = args[1].as_text();
  int64_t limit = args.size() == 3 ? args[2].as_int() : -1;
  if (!charge_search(ctx, s, separator)) return ctx.out_of_steps();
  std::vector<Value> parts;
  if (limit == 0 || (separator.empty() && s.empty())) return Value::list(std::span<const Value>());
  size_t at = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) + 1 < limit) {
    size_t end = kNpos;
    if (!separator.empty()) {
      end = s.find(separator, at);
    } else if (at < s.size()) {
      end = at;
      next_code_point(s, end);
      if (end == s.size()) end = kNpos;
    }
    if (end == kNpos) break;
    if (!ctx.charge(1)) return ctx.out_of_steps();
    parts.push_back(piece(s.substr(at, end - at)));
    at = end + separator.size();
  }
  parts.push_back(piece(s.substr(at)));
  Value* out = ctx.arena.allocate_array<Value>(parts.size());
  if (out == nullptr) return ctx.out_of_memory();
  std::copy(parts.begin(), parts.end(), out);
  return Value::list({out, parts.size()});
}

Value substring(Context& ctx, std::span<const Value> args) {
  bool to_end = kinds_are(args, {Kind::kString, Kind::kInt});
  if (!to_end && !kinds_are(args, {Kind::kString, Kind::kInt, Kind::kInt}))
    return ctx.no_overload("substring", args);
  std::string_view s = args[0].as_text();
  if (!ctx.charge_bytes(s.size())) return ctx.out_of_steps();
  int64_t start = args[1].as_int();
  size_t from = offset_of(s, start);
  if (from == kNpos) return index_error(ctx, start);
  if (to_end) return piece(s.substr(from));
  int64_t end = args[2].as_int();
  size_t to = offset_of(s, end);
  if (to == kNpos) return index_error(ctx, end);
  if (start > end) {
    return ctx.fault(Fault::kInvalidArgument,
                     fmt::format("invalid substring range. start: {}, end: {}", start, end));
  }
  return piece(s.substr(from, to - from));
}

bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

Value trim(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload("trim", args);
  std::string_view s = args[0].as_text();
  if (!ctx.charge_bytes(s.size())) return ctx.out_of_steps();
  size_t begin = 0, end = 0;
  bool started = false;
  for (size_t at = 0; at < s.size();) {
    size_t here = at;
    if (is_space(next_code_point(s, at))) continue;
    if (!started) begin = here;
    started = true;
    end = at;
  }
  return piece(s.substr(begin, end - begin));
}

Value join(Context& ctx, std::span<const Value> args) {
  bool separated = kinds_are(args, {Kind::kList, Kind::kString});
  if (!separated && !kinds_are(args, {Kind::kList})) return ctx.no_overload("join", args);
  std::string_view separator = separated ? args[1].as_text() : std::string_view();
  std::string out;
  for (size_t i = 0, n = list_size(args[0]); i < n; ++i) {
    Value v = list_at(ctx.arena, args[0], i);
    if (!v.is(Kind::kString)) return ctx.no_overload("join", {&v, 1});
    if (!ctx.charge_bytes(v.as_text().size() + separator.size())) return ctx.out_of_steps();
    if (i != 0) out += separator;
    out += v.as_text();
    if (out.size() > Arena::kDefaultMaxBytes) return ctx.out_of_memory();
  }
  return ctx.make_string(out);
}

Value quote_text(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload("strings.quote", args);
  std::string_view s = args[0].as_text();
  if (!ctx.charge_bytes(s.size())) return ctx.out_of_steps();
  std::string out = "\"";
  for (size_t at = 0; at < s.size();) {
    uint32_t c = next_code_point(s, at);
    constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
    constexpr std::string_view kLetter = "abfnrtv\\\"";
    size_t special = c < 0x80 ? kSpecial.find(static_cast<char>(c)) : kNpos;
    if (special == kNpos) {
      append_utf8(out, c);
    } else {
      out += '\\';
      out += kLetter[special];
    }
  }
  return ctx.make_string(out + "\"");
}

Value reverse(Context& ctx, std::span<const Value> args) {
  if (kinds_are(args, {Kind::kList})) return reverse_list(ctx, args[0]);
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload("reverse", args);
  std::string_view s = args[0].as_text();
  if (!ctx.charge_bytes(s.size())) return ctx.out_of_steps();
  std::string out;
  out.reserve(s.size());
  for (size_t end = s.size(); end > 0;) {
    size_t start = end - 1;
    while (start > 0 && (s[start] & 0xc0) == 0x80) --start;
    out.append(s.substr(start, end - start));
    end = start;
  }
  return ctx.make_string(out);
}

constexpr std::array<std::string_view, 8> kTextTest = {"string, string -> bool"};
constexpr std::array<std::string_view, 8> kSearch = {"string, string -> int", "string, string, int -> int"};
constexpr std::array<std::string_view, 8> kTextToText = {"string -> string"};

constexpr FunctionRow kRows[] = {
    {"contains", Style::kMember, test<Test::kContains>, kTextTest},
    {"startsWith", Style::kMember, test<Test::kStartsWith>, kTextTest},
    {"endsWith", Style::kMember, test<Test::kEndsWith>, kTextTest},
    {"charAt", Style::kMember, char_at, {"string, int -> string"}},
    {"indexOf", Style::kMember, index_of, kSearch},
    {"lastIndexOf", Style::kMember, last_index_of, kSearch},
    {"lowerAscii", Style::kMember, change_case<true>, kTextToText},
    {"upperAscii", Style::kMember, change_case<false>, kTextToText},
    {"replace",
     Style::kMember,
     replace,
     {"string, string, string -> string", "string, string, string, int -> string"}},
    {"split",
     Style::kMember,
     split,
     {"string, string -> list(string)", "string, string, int -> list(string)"}},
    {"substring", Style::kMember, substring, {"string, int -> string", "string, int, int -> string"}},
    {"trim", Style::kMember, trim, kTextToText},
    {"join", Style::kMember, join, {"list(string) -> string", "list(string), string -> string"}},
    {"strings.quote", Style::kGlobal, quote_text, kTextToText},
    {"reverse", Style::kMember, reverse, {"string -> string", "list(A) -> list(A)"}},
};

}  // namespace

std::span<const FunctionRow> string_functions() { return kRows; }

}  // namespace ctrlplane::cel
