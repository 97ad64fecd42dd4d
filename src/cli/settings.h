// Where the server is and who asks: from flags, the environment and the configuration file, in this order.
#pragma once

#include <string>

#include "cli/console.h"
#include "cli/failure.h"

namespace ctrlplane::cli {

// As given on the command line; empty: not given.
struct Flags {
  std::string url, api_key, workspace, ca_file;
  bool insecure = false;
  std::string output;
};

struct Settings {
  std::string url = "http://127.0.0.1:8080";  // without a slash or /api at its end
  std::string api_key;                        // never printed
  std::string workspace;                      // id or slug; empty: the only one there is
  std::string ca_file;
  bool verify_tls = true;
};

Outcome<Settings> read_settings(const Flags& flags, const Console& console);

}  // namespace ctrlplane::cli
