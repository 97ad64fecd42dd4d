// Keys, tokens and passwords. Only hashes are stored; nothing here is ever logged.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/uuid.h"

namespace ctrlplane::api {

// Call before anything else here; again does no harm.
void init_secrets();

std::string sha256_hex(std::string_view text);
// 2 * bytes hexadecimal digits nobody can guess.
std::string random_hex(size_t bytes);
Uuid random_uuid();
bool same_secret(std::string_view a, std::string_view b);  // in constant time

// `<16 hex>.<64 hex>`; the second half is stored as the SHA-256 of its text.
struct NewKey {
  std::string prefix, secret;
  std::string text() const { return prefix + "." + secret; }
};
NewKey new_key();
// Splits a key's text; false if it does not have the form.
bool parse_key(std::string_view text, std::string_view& prefix, std::string_view& secret);

// A digest under a random key of its own: far cheaper than SHA-256, and nobody outside the process can find
// a text for one or tell what one stands for. To know again what was found right; never stored.
class Fingerprints {
 public:
  using Value = std::array<unsigned char, 16>;
  Fingerprints();
  Value of(std::string_view text) const;
  static bool same(const Value& a, const Value& b);  // in constant time

 private:
  std::array<unsigned char, 16> key_;
};

// Argon2id. Takes tens of milliseconds and 64 MiB: never on the loop or the I/O thread.
std::string hash_password(const std::string& password);
bool verify_password(const std::string& hash, const std::string& password);

}  // namespace ctrlplane::api
