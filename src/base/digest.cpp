#include "base/digest.h"

#include <openssl/sha.h>

namespace ctrlplane {

Digest digest_of(std::string_view body) {
  unsigned char full[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(body.data()), body.size(), full);
  Digest out;
  std::memcpy(out.bytes.data(), full, out.bytes.size());
  return out;
}

}  // namespace ctrlplane
