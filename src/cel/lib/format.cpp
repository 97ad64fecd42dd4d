// 'text %s'.format([…]). The order of a map's entries in the output is that of their keys' texts.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "cel/lib/args.h"
#include "cel/lib/library.h"
#include "cel/value/map.h"
#include "cel/value/text.h"
#include "cel/value/time_text.h"

namespace ctrlplane::cel {
namespace {

constexpr int kDefaultPrecision = 6;
constexpr int kMaxPrecision = 1000;
constexpr int kMaxDepth = 200;

class Formatter {
 public:
  Formatter(Context& ctx, std::string_view format, const Value& list)
      : ctx_(ctx), format_(format), list_(list) {}

  Value run() {
    for (size_t at = 0; at < format_.size();) {
      if (format_[at] != '%') {
        size_t next = std::min(format_.find('%', at), format_.size());
        out_.append(format_.substr(at, next - at));
        at = next;
      } else if (++at < format_.size() && format_[at] == '%') {
        out_ += '%';
        ++at;
      } else if (!clause(at)) {
        return error_;
      }
      if (!room()) return error_;
    }
    return ctx_.make_string(out_);
  }

 private:
  bool fail(std::string message) {
    error_ = ctx_.fault(Fault::kInvalidArgument, message);
    return false;
  }
  bool room() {
    if (out_.size() <= Arena::kDefaultMaxBytes) return true;
    error_ = ctx_.out_of_memory();
    return false;
  }

  bool clause(size_t& at) {
    int precision = kDefaultPrecision;
    if (at < format_.size() && format_[at] == '.' && !take_precision(++at, precision)) return false;
    if (at >= format_.size()) return fail("the format ends inside a clause");
    char verb = format_[at++];
    if (std::string_view("sdfebxXo").find(verb) == std::string_view::npos) {
      return fail(
          fmt::format("could not parse formatting clause: unrecognized formatting clause "
                      "\"{}\"",
                      verb));
    }
    if (next_arg_ >= list_size(list_)) return fail(fmt::format("index {} out of range", next_arg_));
    Value v = list_at(ctx_.arena, list_, next_arg_++);
    switch (verb) {
      case 's': return text(v, 0);
      case 'd': return decimal(v);
      case 'f':
      case 'e': return real(v, verb, precision);
      case 'b': return in_base(v, 2, false);
      case 'o': return in_base(v, 8, false);
      default: return hex(v, verb == 'X');
    }
  }

  bool take_precision(size_t& at, int& precision) {
    precision = 0;
    size_t start = at;
    for (; at < format_.size() && format_[at] >= '0' && format_[at] <= '9'; ++at) {
      precision = precision * 10 + (format_[at] - '0');
      if (precision > kMaxPrecision) return fail("the precision of a clause is too large");
    }
    return at > start || fail("a '.' in a clause is followed by a precision");
  }

  bool special_double(const Value& v) {
    if (v.is(Kind::kDouble) && !std::isfinite(v.as_double())) {
      out_ += double_text(v.as_double());
      return true;
    }
    if (v.is(Kind::kString) &&
        (v.as_text() == "NaN" || v.as_text() == "Infinity" || v.as_text() == "-Infinity")) {
      out_ += v.as_text();
      return true;
    }
    return false;
  }

  bool decimal(const Value& v) {
    if (v.is(Kind::kInt))
      out_ += fmt::format("{}", v.as_int());
    else if (v.is(Kind::kUint))
      out_ += fmt::format("{}", v.as_uint());
    else if (!special_double(v))
      return fail(
          fmt::format("error during formatting: decimal clause can only be used on "
                      "integers, was given {}",
                      type_name(v)));
    return true;
  }

  bool real(const Value& v, char verb, int precision) {
    if (special_double(v)) return true;
    double d = 0;
    if (v.is(Kind::kDouble))
      d = v.as_double();
    else if (v.is(Kind::kInt))
      d = static_cast<double>(v.as_int());
    else if (v.is(Kind::kUint))
      d = static_cast<double>(v.as_uint());
    else
      return fail(
          fmt::format("error during formatting: {} clause can only be used on doubles, was "
                      "given {}",
                      verb == 'f' ? "fixed-point" : "scientific", type_name(v)));
    out_ += verb == 'f' ? fmt::format("{:.{}f}", d, precision) : fmt::format("{:.{}e}", d, precision);
    return true;
  }

  void append_in_base(uint64_t u, unsigned base, bool upper) {
    std::string_view alphabet = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char digits[64];
    size_t n = 0;
    do {
      digits[n++] = alphabet[u % base];
      u /= base;
    } while (u != 0);
    while (n > 0) out_ += digits[--n];
  }

  bool in_base(const Value& v, unsigned base, bool upper) {
    if (v.is(Kind::kInt)) {
      uint64_t u = v.as_uint();
      if (v.as_int() < 0) out_ += '-', u = 0 - u;
      append_in_base(u, base, upper);
    } else if (v.is(Kind::kUint)) {
      append_in_base(v.as_uint(), base, upper);
    } else if (v.is(Kind::kBool) && base == 2) {
      out_ += v.as_bool() ? '1' : '0';
    } else if (base == 2) {
      return fail(
          fmt::format("error during formatting: only integers and bools can be formatted "
                      "as binary, was given {}",
                      type_name(v)));
    } else if (base == 8) {
      return fail(
          fmt::format("error during formatting: octal clause can only be used on integers, "
                      "was given {}",
                      type_name(v)));
    } else {
      return fail(
          fmt::format("error during formatting: only integers, byte buffers, and strings "
                      "can be formatted as hex, was given {}",
                      type_name(v)));
    }
    return true;
  }

  bool hex(const Value& v, bool upper) {
    if (!v.is(Kind::kString) && !v.is(Kind::kBytes)) return in_base(v, 16, upper);
    if (!ctx_.charge_bytes(v.as_text().size())) return out_of_steps();
    for (char c : v.as_text()) {
      unsigned byte = static_cast<unsigned char>(c);
      out_ += fmt::format(fmt::runtime(upper ? "{:02X}" : "{:02x}"), byte);
    }
    return true;
  }

  bool out_of_steps() {
    error_ = ctx_.out_of_steps();
    return false;
  }

  bool text(const Value& v, int depth) {
    if (depth > kMaxDepth) return fail("the value is nested too deep");
    if (!room()) return false;
    switch (v.kind()) {
      case Kind::kString:
      case Kind::kBytes:
      case Kind::kType:
        if (!ctx_.charge_bytes(v.as_text().size())) return out_of_steps();
        out_ += v.as_text();
        return true;
      case Kind::kNull: out_ += "null"; return true;
      case Kind::kBool: out_ += v.as_bool() ? "true" : "false"; return true;
      case Kind::kInt: out_ += fmt::format("{}", v.as_int()); return true;
      case Kind::kUint: out_ += fmt::format("{}", v.as_uint()); return true;
      case Kind::kDouble: out_ += double_text(v.as_double()); return true;
      case Kind::kTimestamp: out_ += timestamp_text(v); return true;
      case Kind::kDuration: out_ += duration_text(v.duration_nanos()); return true;
      case Kind::kList: return list_text(v, depth);
      case Kind::kMap: return map_text(v, depth);
      case Kind::kOpaque: out_ += v.as_opaque().text(); return true;
      default:
        return fail(fmt::format("error during formatting: string clause cannot be used on {}", type_name(v)));
    }
  }

  bool list_text(const Value& v, int depth) {
    out_ += '[';
    for (size_t i = 0, n = list_size(v); i < n; ++i) {
      if (!ctx_.charge(1)) return out_of_steps();
      if (i != 0) out_ += ", ";
      if (!text(list_at(ctx_.arena, v, i), depth + 1)) return false;
    }
    out_ += ']';
    return true;
  }

  // Keys are rendered into the same buffer and cut off again, to sort by what they look like.
  bool map_text(const Value& v, int depth) {
    std::vector<std::pair<std::string, size_t>> keys;
    MapWalk walk(ctx_.arena, v);
    for (size_t i = 0; i < walk.size(); ++i) {
      if (!ctx_.charge(2)) return out_of_steps();
      size_t start = out_.size();
      if (!text(walk.key(i), depth + 1)) return false;
      keys.emplace_back(out_.substr(start), i);
      out_.resize(start);
    }
    std::sort(keys.begin(), keys.end());
    out_ += '{';
    for (size_t i = 0; i < keys.size(); ++i) {
      if (i != 0) out_ += ", ";
      out_ += keys[i].first + ": ";
      if (!text(walk.value(keys[i].second), depth + 1)) return false;
    }
    out_ += '}';
    return true;
  }

  Context& ctx_;
  std::string_view format_;
  const Value& list_;
  size_t next_arg_ = 0;
  std::string out_;
  Value error_;
};

Value format(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString, Kind::kList})) return ctx.no_overload("format", args);
  if (!ctx.charge_bytes(args[0].as_text().size())) return ctx.out_of_steps();
  return Formatter(ctx, args[0].as_text(), args[1]).run();
}

constexpr FunctionRow kRows[] = {
    {"format", Style::kMember, format, {"string, list(A) -> string"}},
};

}  // namespace

std::span<const FunctionRow> format_functions() { return kRows; }

}  // namespace ctrlplane::cel
