// `ctrlplane serve`: builds the objects of a server and runs it until it is told to stop.
#pragma once

#include "app/settings.h"

namespace ctrlplane::app {

// The process's exit code: 0 after a clean stop, 1 if it could not start or what was accepted could not be
// finished in time.
int serve(const ServeSettings& settings);

}  // namespace ctrlplane::app
