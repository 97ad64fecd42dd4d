#include "api/secret.h"

#include <openssl/evp.h>
#include <sodium.h>

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace ctrlplane::api {
namespace {

std::string hex(const unsigned char* bytes, size_t n) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * n);
  for (size_t i = 0; i < n; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

void init_secrets() { CHECK(sodium_init() >= 0, "libsodium cannot find a source of randomness"); }

std::string sha256_hex(std::string_view text) {
  unsigned char digest[32];
  unsigned length = sizeof digest;
  int ok = EVP_Digest(text.data(), text.size(), digest, &length, EVP_sha256(), nullptr);
  CHECK(ok == 1, "SHA-256 failed");
  return hex(digest, sizeof digest);
}

std::string random_hex(size_t bytes) {
  std::vector<unsigned char> raw(bytes);
  randombytes_buf(raw.data(), raw.size());
  return hex(raw.data(), raw.size());
}

Uuid random_uuid() {
  std::array<uint64_t, 2> halves;
  randombytes_buf(halves.data(), sizeof halves);
  return Uuid::from_halves((halves[0] & ~0xf000ull) | 0x4000, (halves[1] & ~(3ull << 62)) | 2ull << 62);
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

NewKey new_key() { return {random_hex(8), random_hex(32)}; }

bool parse_key(std::string_view text, std::string_view& prefix, std::string_view& secret) {
  if (text.size() != 81 || text[16] != '.') return false;
  prefix = text.substr(0, 16);
  secret = text.substr(17);
  return is_hex(prefix) && is_hex(secret);
}

Fingerprints::Fingerprints() {
  init_secrets();
  static_assert(sizeof key_ == crypto_shorthash_siphashx24_KEYBYTES);
  randombytes_buf(key_.data(), key_.size());
}

Fingerprints::Value Fingerprints::of(std::string_view text) const {
  Value value;
  static_assert(sizeof value == crypto_shorthash_siphashx24_BYTES);
  crypto_shorthash_siphashx24(value.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                              key_.data());
  return value;
}

bool Fingerprints::same(const Value& a, const Value& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string hash_password(const std::string& password) {
  char out[crypto_pwhash_STRBYTES];
  int failed = crypto_pwhash_str(out, password.data(), password.size(), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                                 crypto_pwhash_MEMLIMIT_INTERACTIVE);
  CHECK(failed == 0, "no memory to hash a password");
  return out;
}

bool verify_password(const std::string& hash, const std::string& password) {
  return crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

}  // namespace ctrlplane::api
