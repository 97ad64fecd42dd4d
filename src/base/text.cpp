#include "base/text.h"

#include <cstdint>

namespace ctrlplane {

bool is_storable_text(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto c = static_cast<uint8_t>(text[i]);
    if (c == 0) return false;
    if (c < 0x80) {
      ++i;
      continue;
    }
    size_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    if (c < 0xc2 || c > 0xf4 || i + more >= text.size()) return false;
    auto second = static_cast<uint8_t>(text[i + 1]);
    // Overlong forms, surrogates and what lies past U+10FFFF show in the second byte.
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) || (c == 0xf0 && second < 0x90) ||
        (c == 0xf4 && second > 0x8f))
      return false;
    for (size_t k = 1; k <= more; ++k)
      if ((static_cast<uint8_t>(text[i + k]) & 0xc0) != 0x80) return false;
    i += more + 1;
  }
  return true;
}

}  // namespace ctrlplane
