// What is true at the end of every scenario, whatever it was about: the state in memory is the fold of
// the stored rows, a restart decides nothing anew, and no target was left asleep.
#pragma once

#include <string>

#include "world.h"

namespace ctrlplane::scenario {

// Empty if all hold, else what does not. Restarts the world.
std::string final_checks(World& world);

}  // namespace ctrlplane::scenario
