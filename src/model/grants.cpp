#include "model/entities.h"

namespace ctrlplane {

bool has_grant(std::string_view grants, std::string_view permission) {
  while (!grants.empty()) {
    const size_t end = grants.find(' ');
    if (grants.substr(0, end) == permission) return true;
    if (end == std::string_view::npos) break;
    grants.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace ctrlplane
