// What one does with freezes that exist. Making one is in verbs_freeze.cpp.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace ctrlplane::cli {

// show, extend, check and report, below `freeze`.
void add_freeze_group(CLI::App& group, const FramePtr& frame);
// freezes and thaw.
void add_freezes(CLI::App& app, const FramePtr& frame);

// "api 1.4.2 on prod/eu-1" for each job; empty where the server does not say.
std::vector<std::string> job_titles(Client& client, const std::vector<std::string>& jobs);

}  // namespace ctrlplane::cli
