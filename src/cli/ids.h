#pragma once

#include <string>

namespace ctrlplane::cli {

// Version 4, for what the client names: new job agents, and requests that may have to be repeated.
std::string random_uuid();

}  // namespace ctrlplane::cli
