#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace ctrlplane {

void check_failed(const char* condition, const char* file, int line, std::string_view message) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s %.*s\n", file, line, condition,
               static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace ctrlplane
