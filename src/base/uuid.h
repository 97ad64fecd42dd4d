// 128-bit ids. Every entity's id is a UUID; each kind of entity has its own C++ type for it, so that
// an environment's id cannot be passed where a deployment's is meant.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace ctrlplane {

struct Uuid {
  std::array<uint8_t, 16> bytes{};

  // Accepts only the canonical 36-character form, either case.
  static std::optional<Uuid> parse(std::string_view text);
  static Uuid from_halves(uint64_t high, uint64_t low);
  std::string str() const;
  bool is_nil() const { return *this == Uuid{}; }
  uint64_t high() const { return half(0); }
  uint64_t low() const { return half(8); }

  auto operator<=>(const Uuid&) const = default;

 private:
  uint64_t half(size_t at) const {
    uint64_t v;
    std::memcpy(&v, bytes.data() + at, 8);
    return __builtin_bswap64(v);
  }
};

template <class Tag>
struct Id {
  Uuid uuid;

  static std::optional<Id> parse(std::string_view text) {
    if (auto u = Uuid::parse(text)) return Id{*u};
    return std::nullopt;
  }
  std::string str() const { return uuid.str(); }
  bool is_nil() const { return uuid.is_nil(); }
  auto operator<=>(const Id&) const = default;
};

// New ids for one command: UUIDv7 (time ordered, which keeps B-tree inserts at the right-hand edge),
// their random part drawn from a nonce the caller passes in. Same (now, nonce) = same ids: decisions
// stay a pure function of their inputs.
class IdSource {
 public:
  IdSource(Time now, uint64_t nonce) : now_(now), state_(nonce) {}
  Uuid next();
  template <class T>
  T make() {
    return T{next()};
  }

 private:
  Time now_;
  uint64_t state_;
};

// The v5 layout over our own digest: an id that follows from its inputs.
Uuid derived_uuid(std::string_view inputs);

// splitmix64 finaliser: spreads what is sequential.
constexpr uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace ctrlplane

template <>
struct std::hash<ctrlplane::Uuid> {
  size_t operator()(const ctrlplane::Uuid& u) const noexcept {
    return ctrlplane::mix64(u.high() ^ (u.low() * 0x9e3779b97f4a7c15ull));
  }
};
template <class Tag>
struct std::hash<ctrlplane::Id<Tag>> {
  size_t operator()(const ctrlplane::Id<Tag>& id) const noexcept {
    return std::hash<ctrlplane::Uuid>{}(id.uuid);
  }
};
