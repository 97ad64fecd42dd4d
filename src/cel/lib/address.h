// Internet addresses and networks as text and bits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ctrlplane::cel {

struct Address {
  // Version 4 sits in the last four bytes behind ::ffff:, so that both spellings are equal.
  std::array<uint8_t, 16> bytes{};
  bool v4 = false;

  bool operator==(const Address& o) const { return bytes == o.bytes; }
  bool is_unspecified() const;
  bool is_loopback() const;
  bool is_multicast() const;
  bool is_link_local_multicast() const;
  bool is_link_local_unicast() const;
  bool is_global_unicast() const;
  std::string text() const;  // canonical: RFC 5952
};

struct Network {
  Address address;
  int prefix = 0;

  bool operator==(const Network&) const = default;
  int bits() const { return address.v4 ? 32 : 128; }
  Network masked() const;
  bool contains(const Address& a) const;
  bool contains(const Network& n) const;
  std::string text() const;
};

// No zones, and no dotted quads inside version 6 addresses.
std::optional<Address> parse_address(std::string_view text);
std::optional<Network> parse_network(std::string_view text);

}  // namespace ctrlplane::cel
