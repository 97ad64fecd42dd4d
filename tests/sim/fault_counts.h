#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ctrlplane::sim {

using FaultCounts = std::map<std::string, uint64_t>;

}  // namespace ctrlplane::sim
