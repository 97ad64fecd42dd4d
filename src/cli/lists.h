// Lists of things, as several verbs show them.
#pragma once

#include <string>

#include "cli/kinds.h"
#include "cli/verb.h"

namespace ctrlplane::cli {

struct ListOptions {
  size_t limit = 0;  // 0: all
  bool watch = false;
};

void add_list_options(CLI::App& verb, ListOptions& options);
// Nothing to show is said in a table's place, and is no failure.
Outcome<void> show_list(Session& session, const Kind& kind, const std::string& path, const Query& query,
                        const ListOptions& options);

}  // namespace ctrlplane::cli
