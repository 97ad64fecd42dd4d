// The verbs of the `ctrlplane` binary that talk to a server over its public API.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace ctrlplane::cli {

// Adds them to `app`. The one that is called runs while `app` parses its arguments, and leaves what the
// process should answer in `exit_code`, which must outlive `app`. A mistake in the arguments themselves is
// CLI11's to throw; docs/cli.md promises 2 for it.
void add_client_verbs(CLI::App& app, int& exit_code);

}  // namespace ctrlplane::cli
