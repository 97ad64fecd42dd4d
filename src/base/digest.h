// Content addresses: the first 128 bits of SHA-256. Long enough that nobody finds two bodies with
// one address, short enough to stand in every job row.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>

namespace ctrlplane {

struct Digest {
  std::array<uint8_t, 16> bytes{};
  auto operator<=>(const Digest&) const = default;
  bool is_nil() const { return *this == Digest{}; }
};

Digest digest_of(std::string_view body);

}  // namespace ctrlplane

template <>
struct std::hash<ctrlplane::Digest> {
  size_t operator()(const ctrlplane::Digest& d) const noexcept {
    size_t v;
    std::memcpy(&v, d.bytes.data(), sizeof v);
    return v;
  }
};
