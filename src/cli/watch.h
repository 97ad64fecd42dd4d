// Looking again whenever the workspace has changed.
#pragma once

#include <functional>
#include <string>

#include "cli/failure.h"
#include "cli/follow.h"
#include "cli/verb.h"

namespace ctrlplane::cli {

// Shows what `draw` makes, and again after each change: on a terminal in place of what was there, otherwise
// below it and only where it differs. Ends when nobody reads the output any more, or with a failure.
Outcome<void> redraw_on_changes(Session& session, const std::function<Outcome<std::string>()>& draw);

// For --wait: looks again when something has changed, and now and then anyway, until the time is up.
class Waiting {
 public:
  Waiting(Session& session, const std::string& workspace_path, Duration timeout);

  // To be called before each look.
  void look() { look_began_ = console_.clock.boot(); }
  // After a look that did not find what was waited for. False: the time is up.
  bool again();

 private:
  Console& console_;
  Changes changes_;
  Duration end_, look_began_;
};

}  // namespace ctrlplane::cli
