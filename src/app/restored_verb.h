// `ctrlplane restored`: what has to be done after a backup was put back, before a server starts on it.
#pragma once

namespace CLI {
class App;
}

namespace ctrlplane::app {

// Exit code 0: every workspace is frozen and its unfinished jobs are a person's to decide. 1: something
// failed; run again, it goes on where it was. 2: wrong use; nothing was changed.
void add_restored_verb(CLI::App& app, int& exit_code);

}  // namespace ctrlplane::app
