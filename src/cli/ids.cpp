#include "cli/ids.h"

#include <random>

#include "base/uuid.h"

namespace ctrlplane::cli {

std::string random_uuid() {
  std::random_device source;
  auto half = [&] { return uint64_t{source()} << 32 | source(); };
  Uuid id = Uuid::from_halves(half(), half());
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x40);
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id.str();
}

}  // namespace ctrlplane::cli
