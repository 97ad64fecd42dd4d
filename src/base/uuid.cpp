#include "base/uuid.h"

#include "base/digest.h"

namespace ctrlplane {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_dash_position(size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

}  // namespace

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Uuid out;
  size_t byte = 0;
  for (size_t i = 0; i < 36;) {
    if (is_dash_position(i)) {
      if (text[i++] != '-') return std::nullopt;
      continue;
    }
    int high = hex_value(text[i]), low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out.bytes[byte++] = static_cast<uint8_t>(high << 4 | low);
    i += 2;
  }
  return out;
}

Uuid Uuid::from_halves(uint64_t high, uint64_t low) {
  Uuid out;
  uint64_t h = __builtin_bswap64(high), l = __builtin_bswap64(low);
  std::memcpy(out.bytes.data(), &h, 8);
  std::memcpy(out.bytes.data() + 8, &l, 8);
  return out;
}

std::string Uuid::str() const {
  static constexpr char kHex[] = "0123456789abcdef";
  char out[36];
  char* at = out;
  for (size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
    *at++ = kHex[bytes[i] >> 4];
    *at++ = kHex[bytes[i] & 15];
  }
  return {out, sizeof out};
}

Uuid IdSource::next() {
  state_ += 0x9e3779b97f4a7c15ull;
  uint64_t a = mix64(state_), b = mix64(state_ ^ 0xd1b54a32d192ed03ull);
  auto ms = static_cast<uint64_t>(now_.us / 1000);
  uint64_t high = (ms << 16) | 0x7000 | (a & 0x0fff);
  uint64_t low = (b & 0x3fffffffffffffffull) | 0x8000000000000000ull;
  return Uuid::from_halves(high, low);
}

Uuid derived_uuid(std::string_view inputs) {
  Digest d = digest_of(inputs);
  Uuid out;
  std::memcpy(out.bytes.data(), d.bytes.data(), 16);
  out.bytes[6] = static_cast<uint8_t>((out.bytes[6] & 0x0f) | 0x50);
  out.bytes[8] = static_cast<uint8_t>((out.bytes[8] & 0x3f) | 0x80);
  return out;
}

}  // namespace ctrlplane
