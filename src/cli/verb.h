// What all client verbs share: their common flags, and the way from parsed arguments to an exit code.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/client.h"
#include "cli/console.h"
#include "cli/failure.h"
#include "cli/render.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace ctrlplane::cli {

struct Session {
  Console& console;
  Client& client;
  Output output = Output::kTable;
  int exit_code = kDone;  // of a verb that does not fail
};

// The arguments of a verb and this live as long as CLI11's callbacks, which are copied: hence shared_ptr.
struct Frame {
  Console console;
  int& exit_code;
};
using FramePtr = std::shared_ptr<Frame>;

using Run = std::function<Outcome<void>(Session&)>;

// A verb with the common flags. `run` is called while the arguments are parsed; what it returns becomes the
// exit code, and its failure is printed.
CLI::App* add_verb(CLI::App& parent, const FramePtr& frame, const std::string& name, const std::string& about,
                   const std::string& example, Run run);

// A check for flags: one that is given and empty is a variable that was not set, and means something else
// than none.
std::string not_empty(const std::string& text);

// One for each group of verbs; called by add_client_verbs.
void add_apply(CLI::App& app, const FramePtr& frame);
void add_get(CLI::App& app, const FramePtr& frame);
void add_delete(CLI::App& app, const FramePtr& frame);
void add_version(CLI::App& app, const FramePtr& frame);
void add_targets(CLI::App& app, const FramePtr& frame);
void add_why(CLI::App& app, const FramePtr& frame);
void add_jobs(CLI::App& app, const FramePtr& frame);
void add_replicas(CLI::App& app, const FramePtr& frame);
void add_freeze(CLI::App& app, const FramePtr& frame);
void add_brackets(CLI::App& app, const FramePtr& frame);
void add_watch(CLI::App& app, const FramePtr& frame);
void add_completion(CLI::App& app, const FramePtr& frame);

// All of them, for a console of one's own.
void add_verbs(CLI::App& app, const FramePtr& frame);

}  // namespace ctrlplane::cli
