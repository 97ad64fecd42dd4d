#include <array>

#include "cel/lib/args.h"
#include "cel/lib/library.h"

namespace ctrlplane::cel {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int decode_char(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

Value encode(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kBytes})) return ctx.no_overload("base64.encode", args);
  std::string_view in = args[0].as_text();
  if (!ctx.charge_bytes(in.size())) return ctx.out_of_steps();
  std::string out;
  out.reserve((in.size() + 2) / 3 * 4);
  for (size_t i = 0; i < in.size(); i += 3) {
    auto byte = [&](size_t k) {
      return k < in.size() ? static_cast<uint32_t>(static_cast<unsigned char>(in[k])) : 0u;
    };
    uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    out += kAlphabet[bits >> 18];
    out += kAlphabet[bits >> 12 & 63];
    out += i + 1 < in.size() ? kAlphabet[bits >> 6 & 63] : '=';
    out += i + 2 < in.size() ? kAlphabet[bits & 63] : '=';
  }
  return ctx.make_string(out);
}

// Padding may be left out.
Value decode(Context& ctx, std::span<const Value> args) {
  if (!kinds_are(args, {Kind::kString})) return ctx.no_overload("base64.decode", args);
  std::string_view in = args[0].as_text();
  if (!ctx.charge_bytes(in.size())) return ctx.out_of_steps();
  size_t padding = 0;
  while (in.ends_with('=') && padding < 2) in.remove_suffix(1), ++padding;
  bool bad = in.size() % 4 == 1 || (padding != 0 && (in.size() + padding) % 4 != 0);
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (char c : in) {
    int d = decode_char(c);
    if (d < 0) {
      bad = true;
      break;
    }
    bits = bits << 6 | static_cast<uint32_t>(d);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 0xff);
  }
  if (bad) return ctx.fault(Fault::kInvalidArgument, "not base64");
  return ctx.make_bytes(out);
}

constexpr FunctionRow kRows[] = {
    {"base64.encode", Style::kGlobal, encode, {"bytes -> string"}},
    {"base64.decode", Style::kGlobal, decode, {"string -> bytes"}},
};

}  // namespace

std::span<const FunctionRow> encoder_functions() { return kRows; }

}  // namespace ctrlplane::cel
