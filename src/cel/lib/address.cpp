#include "cel/lib/address.h"

#include <algorithm>

#include <fmt/core.h>

namespace ctrlplane::cel {
namespace {

// A decimal number without leading zeros, at most `max`; -1 otherwise.
int take_decimal(std::string_view& s, int max) {
  int v = 0;
  size_t n = 0;
  while (n < s.size() && s[n] >= '0' && s[n] <= '9' && n < 4) v = v * 10 + (s[n++] - '0');
  if (n == 0 || (n > 1 && s[0] == '0') || v > max) return -1;
  s.remove_prefix(n);
  return v;
}

// One to four hex digits; -1 otherwise.
int take_group(std::string_view& s) {
  int v = 0;
  size_t n = 0;
  for (; n < s.size() && n < 4; ++n) {
    char c = s[n];
    int d = c >= '0' && c <= '9'                     ? c - '0'
            : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                     : -1;
    if (d < 0) break;
    v = v * 16 + d;
  }
  if (n == 0) return -1;
  s.remove_prefix(n);
  return v;
}

std::optional<Address> parse_v4(std::string_view s) {
  Address a;
  a.v4 = true;
  a.bytes[10] = a.bytes[11] = 0xff;
  for (size_t i = 0; i < 4; ++i) {
    int octet = take_decimal(s, 255);
    if (octet < 0) return std::nullopt;
    a.bytes[12 + i] = static_cast<uint8_t>(octet);
    if (i == 3) break;
    if (!s.starts_with('.')) return std::nullopt;
    s.remove_prefix(1);
  }
  if (!s.empty()) return std::nullopt;
  return a;
}

std::optional<Address> parse_v6(std::string_view s) {
  std::array<int, 8> groups{};
  size_t n = 0;
  std::optional<size_t> gap;
  if (s.starts_with("::")) {
    gap = 0;
    s.remove_prefix(2);
  }
  while (!s.empty()) {
    int group = n < 8 ? take_group(s) : -1;
    if (group < 0) return std::nullopt;
    groups[n++] = group;
    if (s.empty()) break;
    if (!s.starts_with(':')) return std::nullopt;
    s.remove_prefix(1);
    if (s.starts_with(':')) {
      if (gap) return std::nullopt;
      gap = n;
      s.remove_prefix(1);
    } else if (s.empty()) {
      return std::nullopt;
    }
  }
  if (gap ? n > 7 : n != 8) return std::nullopt;
  if (gap) {
    std::copy_backward(groups.begin() + static_cast<long>(*gap), groups.begin() + static_cast<long>(n),
                       groups.end());
    std::fill_n(groups.begin() + static_cast<long>(*gap), 8 - n, 0);
  }
  Address a;
  for (size_t i = 0; i < 8; ++i) {
    a.bytes[2 * i] = static_cast<uint8_t>(groups[i] >> 8);
    a.bytes[2 * i + 1] = static_cast<uint8_t>(groups[i] & 0xff);
  }
  return a;
}

bool all_zero(const Address& a, size_t from, size_t to) {
  return std::all_of(a.bytes.begin() + static_cast<long>(from), a.bytes.begin() + static_cast<long>(to),
                     [](uint8_t b) { return b == 0; });
}

}  // namespace

std::optional<Address> parse_address(std::string_view s) {
  return s.find(':') == std::string_view::npos ? parse_v4(s) : parse_v6(s);
}

std::optional<Network> parse_network(std::string_view s) {
  size_t slash = s.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto address = parse_address(s.substr(0, slash));
  if (!address) return std::nullopt;
  std::string_view rest = s.substr(slash + 1);
  int prefix = take_decimal(rest, address->v4 ? 32 : 128);
  if (prefix < 0 || !rest.empty()) return std::nullopt;
  return Network{*address, prefix};
}

bool Address::is_unspecified() const { return v4 ? all_zero(*this, 12, 16) : all_zero(*this, 0, 16); }
bool Address::is_loopback() const { return v4 ? bytes[12] == 127 : all_zero(*this, 0, 15) && bytes[15] == 1; }
bool Address::is_multicast() const { return v4 ? (bytes[12] & 0xf0) == 0xe0 : bytes[0] == 0xff; }
bool Address::is_link_local_multicast() const {
  if (v4) return bytes[12] == 224 && bytes[13] == 0 && bytes[14] == 0;
  return bytes[0] == 0xff && (bytes[1] & 0x0f) == 2;
}
bool Address::is_link_local_unicast() const {
  if (v4) return bytes[12] == 169 && bytes[13] == 254;
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}
bool Address::is_global_unicast() const {
  bool broadcast = v4 && std::all_of(bytes.begin() + 12, bytes.end(), [](uint8_t b) { return b == 255; });
  return !broadcast && !is_unspecified() && !is_loopback() && !is_multicast() && !is_link_local_unicast();
}

std::string Address::text() const {
  if (v4) return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  std::array<int, 8> groups{};
  for (size_t i = 0; i < 8; ++i) groups[i] = bytes[2 * i] << 8 | bytes[2 * i + 1];
  // The first of the longest runs of zeros, two at least, becomes "::".
  size_t best = 8, best_length = 1;
  for (size_t i = 0; i < 8; ++i) {
    size_t n = 0;
    while (i + n < 8 && groups[i + n] == 0) ++n;
    if (n > best_length) best = i, best_length = n;
  }
  std::string out;
  for (size_t i = 0; i < 8; ++i) {
    if (i == best) {
      out += "::";
      i += best_length - 1;
      continue;
    }
    if (!out.empty() && !out.ends_with(':')) out += ':';
    out += fmt::format("{:x}", groups[i]);
  }
  return out;
}

Network Network::masked() const {
  Network n = *this;
  int keep = address.v4 ? 96 + prefix : prefix;
  for (int i = 0; i < 16; ++i) {
    int bits_left = std::clamp(keep - 8 * i, 0, 8);
    n.address.bytes[static_cast<size_t>(i)] &= static_cast<uint8_t>(0xff00 >> bits_left);
  }
  return n;
}

bool Network::contains(const Address& a) const {
  if (a.v4 != address.v4) return false;
  return Network{a, prefix}.masked().address == masked().address;
}

bool Network::contains(const Network& n) const { return n.prefix >= prefix && contains(n.address); }

std::string Network::text() const { return fmt::format("{}/{}", address.text(), prefix); }

}  // namespace ctrlplane::cel
